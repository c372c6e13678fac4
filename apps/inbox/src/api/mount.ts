// Where the app is mounted: a server may put it under any path.

/** Ends in a slash. The built files lie in one folder below it, so they know. */
export const mount = import.meta.env.DEV
  ? new URL('/', window.location.href)
  : new URL(/* @vite-ignore */ '../', import.meta.url);
