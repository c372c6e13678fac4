// `settlesWithin`: a call that was not found is run again only where it was looked for after that time, and not before.
import { countersign, memoryStore, ProviderError, type Store, type ToolConfig } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { afterStarts, changedStore } from '../changed-store.ts';

const LEASE_MS = 1_000;
const SETTLES_MS = 10_000;

/** Two processes on one store, and the time, which passes only when told to. */
function processes(verify: NonNullable<ToolConfig['verify']>, change = (store: Store): Store => store) {
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
      // The first one stalls.
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
  ['before it has passed', SETTLES_MS - 1, ['one']],
  ['after it has passed', SETTLES_MS + 1, ['one', 'two']],
])('a look-up that began %s, and ends after it', async (_when, beganMs, began) => {
  // What it does not find may happen while it looks.
  const world = processes(async () => world.pass(SETTLES_MS) as undefined);
  await world.one.clerk.start('Pay.', { runId: 'run' });
  await expect.poll(() => world.began).toEqual(['one']);
  world.pass(beganMs);
  await world.two.runs.drive('run');
  await world.two.runs.settled();
  expect(world.began).toEqual(began);
  const kinds = (await world.two.runs.interrupts()).items.map(({ kind }) => kind);
  expect(kinds).toEqual(began.length > 1 ? [] : ['unknown-outcome']);
});

test('it counts from when the body runs, also where the store was away while the start was to be written', async () => {
  let isAway = true;
  const world = processes(
    () => undefined,
    (store) =>
      changedStore(store, {
        append: async (append) => {
          if (isAway && append.events.some(({ type }) => type === 'call-started')) {
            isAway = false;
            world.pass(SETTLES_MS);
            throw new ProviderError('store-failed', {}, 'away', { retryable: true });
          }
          return store.append(append);
        },
      }),
  );
  await world.one.clerk.start('Pay.', { runId: 'run' });
  await expect.poll(() => world.began).toEqual(['one']);
  world.pass(LEASE_MS + 1);
  await world.two.runs.drive('run');
  await world.two.runs.settled();
  expect(world.began).toEqual(['one']);
  expect((await world.two.runs.interrupts()).items).toMatchObject([{ kind: 'unknown-outcome' }]);
});

test.each([
  ['is told anew', { settlesWithin: SETTLES_MS, verify: () => undefined }, 1_001, 3],
  ['is told once, where it was soon on record', { settlesWithin: SETTLES_MS, verify: () => undefined }, 1_000, 1],
  ['is told once, where nothing counts from it', {}, 1_001, 1],
])('a start that takes long each time %s, and the body runs', async (_how, config, takesMs, starts) => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  let told = 0;
  const store = afterStarts(memoryStore({ now: clock }), () => {
    if (++told > 5) throw new Error('It is told for ever.');
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
  expect(await ai.runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done' });
  const recorded = await ai.runs.recorded('run');
  expect(recorded.filter(({ type }) => type === 'call-started')).toHaveLength(starts);
  expect(paid).toBe(1);
});

test('a start that is to be told anew is not, once somebody has cancelled the run', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const kept = memoryStore({ now: clock });
  const other = countersign({ store: kept, clock });
  other.defineAgent({ name: 'clerk', model: scriptedModel([]) });
  let starts = 0;
  const store = afterStarts(kept, async () => {
    starts += 1;
    now += 2_000;
    // Seen with the next write.
    await other.runs.cancel('run');
  });
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, 'Done.']);
  const ai = countersign({ model, store, clock, leaseMs: 60_000, retry: false });
  const paid: string[] = [];
  const config = { settlesWithin: SETTLES_MS, verify: () => undefined };
  const pay = ai.defineTool({ name: 'pay', description: '', ...config }, () => paid.push('paid'));
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  await ai.runs.settled();
  expect({ starts, paid }).toEqual({ starts: 1, paid: [] });
  expect(await ai.runs.get('run')).toMatchObject({ status: 'cancelled' });
});
