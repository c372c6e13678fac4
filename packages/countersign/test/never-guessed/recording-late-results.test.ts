// How a process records the results of bodies under way when it lost the run, and warns if it cannot.
import { countersign, memoryStore } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { beforeEach, expect, type MockInstance, test, vi } from 'vitest';
import { event, type RunEvent } from '../../src/core/run/event.ts';
import { fold, type State } from '../../src/core/run/state.ts';
import { StoredRun } from '../../src/loop/stored-run.ts';
import { underWay } from '../../src/runs/driving/late-results.ts';
import type { AgentPort, Driving } from '../../src/runs/driving/open-run.ts';
import { LateRecorder } from '../../src/runs/driving/record-late-result.ts';
import { trustedState } from '../../src/runs/requests/view.ts';
import { changedStore } from '../changed-store.ts';
import { away } from '../conversations/flaky-store.ts';
import { approved, loaded } from '../runs/approved.ts';

let warnings: MockInstance<typeof process.emitWarning>;
beforeEach(() => {
  warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});
const warned = () => warnings.mock.calls.map(([text]) => String(text));

const clerk = { name: 'clerk' } as AgentPort;

/** What the recorder uses of the process that drives runs. */
function drivesOf(drives: Pick<Driving, 'store' | 'clock' | 'isStopping'> & { readonly open: unknown }) {
  return { ...drives, driveOrLeave: async () => undefined } as unknown as Driving;
}

/** A run whose payment was started by a process that has lost it since. */
async function lost(changes: Partial<Store>, isStopping = false, sleeps?: () => Promise<void>) {
  const { kept, clock, sleep, open, types, started, settled, callId } = await approved();
  const before = await trustedState(await loaded(kept));
  const { run, journal } = await open('hold');
  run.record(started);
  await journal.finish();
  const late = await open('none');
  const drives = drivesOf({ store: changedStore(kept, changes), clock, isStopping, open: () => late });
  const recorder = new LateRecorder(drives, sleeps ?? sleep);
  const allRecorded = () => Promise.all(recorder.underWay);
  return { kept, recorder, allRecorded, types, before, own: journal.own, settled, callId };
}

/** Fails so many times, then answers. */
function awayFor(times: number, read: Store['read']): Store['read'] {
  let left = times;
  return async (...args) => {
    if (left-- > 0) throw away();
    return read(...args);
  };
}

test('a stopping process records a result once a failed store is back', async () => {
  const changes: Partial<Store> = {};
  const { kept, recorder, types, own, settled } = await lost(changes, true);
  changes.read = awayFor(3, kept.read.bind(kept));
  await recorder.tell(clerk, 'run', own, [settled]);
  expect((await types()).at(-1)).toBe('call-settled');
  expect(warned()).toEqual([]);
});

test('a result being recorded is listed as under way until it is written', async () => {
  const { recorder, own, settled } = await lost({});
  const recording = recorder.tell(clerk, 'run', own, [settled]);
  expect([...recorder.underWay]).toHaveLength(1);
  await recording;
  expect([...recorder.underWay]).toEqual([]);
});

test('a write that failed is repeated', async () => {
  const { kept, open, started, settled, clock, sleep, types } = await approved();
  const { run, journal } = await open('hold');
  run.record(started);
  await journal.finish();
  const append = () => Promise.reject<never>(away());
  const first = await open('none', { append, read: () => Promise.reject(away()) });
  const journals = [first, await open('none')];
  const drives = drivesOf({ store: kept, clock, isStopping: false, open: () => journals.shift() ?? first });
  const recorder = new LateRecorder(drives, sleep);
  await recorder.tell(clerk, 'run', journal.own, [settled]);
  expect(warned()).toEqual([]);
  expect((await types()).at(-1)).toBe('call-settled');
});

test('recording gives up on a store that stays down, and warns', async () => {
  const read = vi.fn(() => Promise.reject<never>(away()));
  let pauses = 0;
  const sleep = async () => {
    if (++pauses > 200) throw new Error('It waits forever.');
  };
  const { recorder, own, settled } = await lost({ read }, false, sleep);
  await recorder.tell(clerk, 'run', own, [settled]);
  expect(read).toHaveBeenCalledTimes(150);
  expect(warned()).toEqual([expect.stringMatching(/has ended, but its result could not be recorded/)]);
});

test.each([0, 2])('a body of a deleted run causes one warning, after %d failed reads', async (times) => {
  const { recorder, allRecorded, own, settled } = await lost({ read: awayFor(times, async () => undefined) });
  recorder.lost('run', own);
  await allRecorded();
  expect(warned()).toEqual([expect.stringMatching(/no longer has run run/)]);
  // Its result causes no second warning.
  await recorder.tell(clerk, 'run', own, [settled]);
  expect(warned()).toHaveLength(1);
});

test('the result of a sub-agent causes no warning, only the bodies inside it do', async () => {
  const { recorder, before, own, settled, callId } = await lost({ read: async () => undefined });
  const state = fold(before, event({ type: 'call-started', callId, inside: true }));
  await recorder.tell(clerk, 'run', { ...own, state }, [settled]);
  expect(warned()).toEqual([]);
});

/** A run with a payment under way inside its helper, as its process knows it. */
async function underWayInside() {
  const store = memoryStore();
  const begun = Promise.withResolvers<void>();
  const asks = (name: string, input: object) => ({ calls: [{ name, ref: name, input }] });
  const model = scriptedModel([asks('helper', { prompt: 'Pay.' }), asks('pay', {})]);
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '' }, () => {
    begun.resolve();
    return new Promise<never>(() => undefined);
  });
  const helper = ai.defineAgent({ name: 'helper', tools: [pay] });
  await ai.defineAgent({ name: 'clerk', tools: [helper] }).start('Pay.', { runId: 'run' });
  await begun.promise;
  const found = await loaded(store);
  const own = { ...found.run, state: await trustedState(found) };
  const [outer, inner] = underWay(own.state)[0] ?? [];
  const settled = event({ type: 'call-settled', callId: inner ?? '', result: { type: 'output', output: 'paid' } });
  return { store, own, result: event({ type: 'call-went-on', callId: outer ?? '', inside: [settled] }) };
}

test.each([
  ['ten seconds', false, 49],
  ['no time during a stop', true, 0],
] as const)(
  'a result inside a sub-agent that another process drives waits %s, then is recorded as late',
  async (_how, isStopping, pauses) => {
    const { store, own, result } = await underWayInside();
    const sleep = vi.fn(async () => {
      if (sleep.mock.calls.length > 100) throw new Error('It waits forever.');
    });
    const recorded: string[] = [];
    const write = (facts: readonly RunEvent[]) => recorded.push(...facts.map(({ type }) => type));
    const sink = { stamp: (fact: RunEvent) => fact, write } as never;
    const journal = { recorded: async () => undefined, holds: false };
    const open = (_record: unknown, state: State) => ({ run: new StoredRun(state, sink), journal });
    const recorder = new LateRecorder(drivesOf({ store, clock: () => 0, isStopping, open }), sleep);
    await recorder.tell(clerk, 'run', own, [result]);
    expect(recorded).toEqual(['call-ended-late']);
    expect(sleep).toHaveBeenCalledTimes(pauses);
  },
);
