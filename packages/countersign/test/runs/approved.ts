// A stored run with a payment about to start, and its own journals: for tests of internal modules.
import { countersign, memoryStore } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { event, type RunEvent } from '../../src/core/run/event.ts';
import { StoredRun } from '../../src/loop/stored-run.ts';
import { Journal } from '../../src/runs/journal/journal.ts';
import { trustedState } from '../../src/runs/requests/view.ts';
import { changedStore } from '../changed-store.ts';

export const LEASE_MS = 60_000;

/** Creates a run with an approved payment that has not started and a question beside it. The run is unclaimed. */
export async function approved() {
  const time = { now: 1_800_000_000_000 };
  const clock = () => time.now;
  const kept = memoryStore({ now: clock });
  const calls = [
    { name: 'pay', ref: 'p', input: {} },
    { name: 'ask', ref: 'a', input: {} },
  ];
  const ai = countersign({ model: scriptedModel([{ calls }]), store: kept, clock, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
  const ask = ai.defineInterrupt({ name: 'ask', description: '' });
  await ai.defineAgent({ name: 'clerk', tools: [pay, ask] }).start('Pay.', { runId: 'run' });
  await internalsOf(ai.runs).rested('run');
  const [card] = (await ai.runs.requests({ tool: 'pay' })).items;
  await ai.runs.decide(card?.id ?? '', 'approve', { drive: false });
  const callId = (await trustedState(await loaded(kept))).turn?.calls[0]?.id ?? '';
  /** Fails a test that waits forever. */
  let pauses = 0;
  const sleep = async (ms: number): Promise<void> => {
    if (++pauses > 100) throw new Error('It waits forever.');
    time.now += ms;
  };
  /** Opens a journal on the stored run. */
  const open = async (claim: 'hold' | 'take' | 'enter' | 'none', changes: Partial<Store> = {}) => {
    const token = 'ours';
    const found = claim === 'hold' ? await kept.claim('run', token, LEASE_MS) : await loaded(kept);
    if (!found) throw new Error('Another process has the claim.');
    const state = await trustedState(found);
    const journal = new Journal({
      store: changedStore(kept, changes),
      run: found.run,
      state,
      newId: () => token,
      leaseMs: LEASE_MS,
      limits: { maxTurns: 8 },
      clock,
      processClock: clock,
      sleep,
      claim: claim === 'hold' ? { held: token } : claim,
      onAppended: () => undefined,
    });
    const run = new StoredRun(state, journal);
    journal.attach(run);
    return { journal, run };
  };
  const types = async () => (await loaded(kept)).events.map(({ type }) => type);
  const facts = {
    started: event({ type: 'call-started', callId }),
    step: (step: string): RunEvent => event({ type: 'step-done', callId, step, output: true }),
    settled: event({ type: 'call-settled', callId, result: { type: 'output', output: 'paid' } }),
  } as const;
  return { kept, time, clock, sleep, runs: ai.runs, open, types, callId, ...facts };
}

export async function loaded(store: Store) {
  const found = await store.read('run');
  if (!found) throw new Error('Run not found.');
  return found;
}
