// The types of free-port.mjs.
/** A free port that no other call in this process has returned. */
export function freePort(): Promise<number>;
