// `settlesWithin`: a call that verify does not find runs again only if verify began after that time.
import { countersign, memoryStore, ProviderError, type ToolConfig } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { afterStarts, changedStore } from '../changed-store.ts';
import { holdSteadyClock } from '../steady-clock.ts';

const LEASE_MS = 1_000;
const SETTLES_MS = 10_000;

/** Two processes on one store, with a clock that the test moves. */
function processes(verify: NonNullable<ToolConfig['verify']>, change = (store: Store): Store => store) {
  holdSteadyClock();
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = change(memoryStore({ now: clock }));
  const began: string[] = [];
  const open = (who: string) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
    );
    const ai = countersign({ model, store, clock, leaseMs: LEASE_MS, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', verify, settlesWithin: SETTLES_MS }, () => {
      began.push(who);
      // The first process stalls.
      return who === 'one' ? new Promise<string>(() => undefined) : 'paid';
    });
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { one: open('one'), two: open('two'), began, pass };
}

test.each([
  ['before settlesWithin has passed asks a person', SETTLES_MS - 1, ['one']],
  ['after settlesWithin has passed allows a retry', SETTLES_MS + 1, ['one', 'two']],
])('a verify that begins %s', async (_when, beganMs, began) => {
  // The call may still take effect while verify looks.
  const world = processes(async () => world.pass(SETTLES_MS) as undefined);
  await world.one.clerk.start('Pay.', { runId: 'run' });
  await expect.poll(() => world.began).toEqual(['one']);
  world.pass(beganMs);
  await world.two.runs.drive('run');
  await world.two.runs.settled();
  expect(world.began).toEqual(began);
  const kinds = (await world.two.runs.requests()).items.map(({ kind }) => kind);
  expect(kinds).toEqual(began.length > 1 ? [] : ['doubt']);
});

test.each([
  ['settlesWithin counts from the start of the body, even if the store failed to write the start', 1, ['one']],
  ['settlesWithin counts from the start of the body, even if the store fails repeatedly', 9, ['one']],
  ['a call whose recorded start stays too old does not run, and a person is asked', 99, []],
])(
  '%s',
  async (_what, times, began) => {
    let away = 0;
    const world = processes(
      () => undefined,
      (store) =>
        changedStore(store, {
          append: async (append) => {
            const isStart = append.events.some(({ type }) => type === 'call-started');
            // Each is written at the retry.
            if (isStart && away < 2 * times && away++ % 2 === 0) {
              world.pass(SETTLES_MS);
              throw new ProviderError('store-failed', {}, 'away', { retryable: true });
            }
            return store.append(append);
          },
        }),
    );
    await world.one.clerk.start('Pay.', { runId: 'run' });
    if (began.length > 0) await expect.poll(() => world.began, { timeout: 15_000 }).toEqual(began);
    else await world.one.runs.settled();
    world.pass(LEASE_MS + 1);
    await world.two.runs.drive('run');
    await world.two.runs.settled();
    expect(world.began).toEqual(began);
    expect((await world.two.runs.requests()).items).toMatchObject([{ kind: 'doubt' }]);
  },
  30_000,
);

const SETTLES = { settlesWithin: SETTLES_MS, verify: () => undefined };

test.each([
  ['is recorded again, and a person is asked in the end', SETTLES, 1_001, 10, 0],
  ['is recorded once, if it was recorded in time', SETTLES, 1_000, 1, 1],
  ['is recorded once, if the tool has no settlesWithin', {}, 1_001, 1, 1],
  ['is recorded once, if the tool is idempotent', { ...SETTLES, idempotent: true }, 1_001, 1, 1],
])('a start that is slow to record each time %s', async (_how, config, takesMs, starts, runs) => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  let recordedStarts = 0;
  const store = afterStarts(memoryStore({ now: clock }), () => {
    if (++recordedStarts > 15) throw new Error('It is recorded forever.');
    now += takesMs;
  });
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, 'Done.']);
  const ai = countersign({ model, store, clock, leaseMs: 60_000, retry: false });
  let paid = 0;
  const pay = ai.defineTool({ name: 'pay', description: '', ...config }, () => {
    paid += 1;
    return 'paid';
  });
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  const { status, pending } = await ai.runs.wait('run');
  expect({ status, asked: pending.length, paid }).toEqual({
    status: runs ? 'done' : 'waiting',
    asked: runs ? 0 : 1,
    paid: runs,
  });
  const recorded = await ai.runs.recorded('run');
  expect(recorded.filter(({ type }) => type === 'call-started')).toHaveLength(starts);
});

test('a slow start is not recorded again once the run is cancelled', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const kept = memoryStore({ now: clock });
  const other = countersign({ store: kept, clock });
  other.defineAgent({ name: 'clerk', model: scriptedModel([]) });
  let starts = 0;
  const store = afterStarts(kept, async () => {
    starts += 1;
    now += 2_000;
    // The next write sees it.
    await other.runs.cancel('run');
  });
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, 'Done.']);
  const ai = countersign({ model, store, clock, leaseMs: 60_000, retry: false });
  const paid: string[] = [];
  const pay = ai.defineTool({ name: 'pay', description: '', ...SETTLES }, () => paid.push('paid'));
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  await ai.runs.settled();
  expect({ starts, paid }).toEqual({ starts: 1, paid: [] });
  expect(await ai.runs.get('run')).toMatchObject({ status: 'cancelled' });
});
