// Shares statistics between callers. Computing them takes time in proportion to all requests of the period, and open
// dashboards ask after every change.
import { setTimeout as delay } from 'node:timers/promises';
import type { Runs } from 'countersign';
import type { Stats } from 'countersign/store';

type Asked = NonNullable<Parameters<Runs['stats']>[0]>;

/** The pause before the same numbers are computed again, as a multiple of the time that it took. */
const SHARE = 4;
/** The longest such pause. */
const LONGEST_MS = 10_000;

export function sharedStats(runs: Runs, closed: AbortSignal): (asked: Asked) => Promise<Stats> {
  /** Computations that have not begun, so their results include everything that current callers have seen. */
  const upcoming = new Map<string, Promise<Stats>>();
  /** Resolves when the next computation may begin. */
  const pauses = new Map<string, Promise<void>>();

  async function compute(key: string, asked: Asked): Promise<Stats> {
    await pauses.get(key);
    upcoming.delete(key);
    const startedAt = performance.now();
    const computing = runs.stats(asked);
    const pause = pauseAfter(computing, startedAt).then(() => {
      if (pauses.get(key) === pause) pauses.delete(key);
    });
    pauses.set(key, pause);
    return computing;
  }

  async function pauseAfter(computing: Promise<Stats>, startedAt: number): Promise<void> {
    await computing.catch(() => undefined);
    const ms = Math.min(SHARE * (performance.now() - startedAt), LONGEST_MS);
    // A stop ends the pause.
    await delay(ms, undefined, { ref: false, signal: closed }).catch(() => undefined);
  }

  return (asked) => {
    const key = JSON.stringify([asked.days, asked.startedBy ?? null]);
    const known = upcoming.get(key) ?? compute(key, asked);
    upcoming.set(key, known);
    return known;
  };
}
