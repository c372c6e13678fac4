// When a failed delivery is tried again, and when it is given up.

const FIRST_MS = 30_000;
const LONGEST_MS = 3_600_000;
/** With these pauses, the last attempt comes about half a day after the first. */
export const MOST_ATTEMPTS = 18;

/** The pause after so many failures: doubling, up to an hour, with a fifth more or less by chance. */
export function pauseAfter(failures: number, random: number, retryAfterMs = 0): number {
  const pause = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 20));
  return Math.ceil(Math.max(pause * (0.8 + 0.4 * random), retryAfterMs));
}
