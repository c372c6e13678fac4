// `settlesWithin`: a call that was not found is run again only where it was looked for after that time, and not before.
import { countersign, memoryStore, ProviderError, type Store, type ToolConfig } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

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
