// Which files of the user Node loads, so that only those are watched.
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Begins to take note; what it gives is everything that was loaded since, packages aside. */
export function noteLoadedFiles(): () => readonly string[] {
  const files = new Set<string>();
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      if (resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/'))
        files.add(fileURLToPath(resolved.url));
      return resolved;
    },
  });
  return () => [...files];
}
