// Statistics are computed less often the longer they take, and shared by callers of the same.
import type { Runs } from 'countersign';
import type { Stats } from 'countersign/store';
import { beforeEach, expect, test, vi } from 'vitest';
import { sharedStats } from './shared-stats.ts';

type Pause = { readonly ms: number; readonly signal: AbortSignal; readonly ref: boolean; end(): void };
const pauses = vi.hoisted((): Pause[] => []);

vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number, _value: unknown, options: Pick<Pause, 'ref' | 'signal'>) =>
    new Promise<void>((resolve, reject) => {
      pauses.push({ ms, ...options, end: resolve });
      options.signal.addEventListener('abort', () => reject(options.signal.reason));
    }),
}));

beforeEach(() => void pauses.splice(0));

/** Computations that each take `ms`. */
function looking(ms: number, fails = false) {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const asked: unknown[] = [];
  const stats = async (query: unknown): Promise<Stats> => {
    const number = asked.push(query);
    await undefined;
    now += ms;
    if (fails) throw new Error(`Look ${number} fails.`);
    return { waiting: number } as Stats;
  };
  const closing = new AbortController();
  return { statsOf: sharedStats({ stats } as unknown as Runs, closing.signal), asked, closing };
}

const turn = () => new Promise(setImmediate);

test.each([
  [100, 400],
  [60_000, 10_000],
])('after a computation of %d ms the same is not computed again for %d ms', async (tookMs, pauseMs) => {
  const { statsOf, asked } = looking(tookMs);
  expect(await statsOf({ days: 7 })).toEqual({ waiting: 1 });
  const [one, two] = [statsOf({ days: 7 }), statsOf({ days: 7 })];
  await turn();
  expect(asked).toHaveLength(1);
  expect(pauses).toMatchObject([{ ms: pauseMs, ref: false }]);
  pauses[0]?.end();
  expect(await Promise.all([one, two])).toEqual([{ waiting: 2 }, { waiting: 2 }]);
  await turn();
  pauses[1]?.end();
  await turn();
  expect(await statsOf({ days: 7 })).toEqual({ waiting: 3 });
});

test('other days and other runs are separate and do not wait', async () => {
  const { statsOf, asked } = looking(100);
  const queries = [{ days: 7 }, { days: 30 }, { days: 7, startedBy: 'ann' }, { days: 7, startedBy: 'bob' }];
  await Promise.all(queries.map((query) => statsOf(query)));
  expect(asked).toEqual(queries);
});

test('a failure is reported to all who shared it, and the pause is the same', async () => {
  const { statsOf, asked } = looking(100, true);
  await expect(statsOf({ days: 7 })).rejects.toThrow('Look 1 fails.');
  const next = statsOf({ days: 7 });
  await turn();
  expect(asked).toHaveLength(1);
  pauses[0]?.end();
  await expect(next).rejects.toThrow('Look 2 fails.');
});

test('a stop ends the pause', async () => {
  const { statsOf, closing } = looking(100);
  await statsOf({ days: 7 });
  const next = statsOf({ days: 7 });
  await turn();
  closing.abort(new Error('closed'));
  expect(await next).toEqual({ waiting: 2 });
});
