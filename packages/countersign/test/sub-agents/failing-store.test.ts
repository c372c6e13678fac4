// Sub-agents and their store: reading a run midway, and a store that fails.
import { setImmediate } from 'node:timers/promises';
import { type Json, ProviderError, type RunRequest } from 'countersign';
import type { Append, Store } from 'countersign/store';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { ask, call, type Define, helped, LEASE_MS, STUCK, script, tool, world } from './kit.ts';

test('a run inside nested sub-agents can be verified and followed up to its current event', async () => {
  const { open, recorded } = world();
  const one = open((ai) => {
    const deputy = ai.defineAgent({
      name: 'deputy',
      tools: [tool(ai, 'slow', () => STUCK)],
      model: script([[call('slow')]]),
    });
    const pay = tool(ai, 'pay', () => 1, { needsApproval: true });
    return helped(ai, { tools: [deputy, pay], model: script([[ask('deputy'), call('pay')]]) });
  });
  const { id } = await one.root.start('Go');
  await eventually(async () => expect(await recorded(id)).toContain('slow'));
  const { version } = await one.runs.get(id);
  expect((await one.runs.verify(id)).ok).toBe(true);
  const seen: number[] = [];
  for await (const { seq } of one.runs.events(id)) {
    seen.push(seq);
    if (seen.length >= version) break;
  }
  expect(seen.at(-1)).toBe(version);
});

/** How an append fails, and whether it was written before or not. */
type Failure = { readonly how: 'retryable' | 'fatal' | 'odd'; readonly when: 'before' | 'after' };

const FAILURES = (['retryable', 'fatal', 'odd'] as const).flatMap((how) =>
  (['before', 'after'] as const).map((when): Failure => ({ how, when })),
);

/** Fails once, at the n-th append. */
function failAt(store: Store, nth: number, { how, when }: Failure) {
  const append = store.append.bind(store);
  let appends = 0;
  store.append = async (given: Append) => {
    appends += 1;
    if (appends !== nth) return append(given);
    if (when === 'after') await append(given);
    throw how === 'odd'
      ? new TypeError('odd')
      : new ProviderError('store-failed', {}, 'away', { retryable: how === 'retryable' });
  };
  return { failed: () => appends >= nth };
}

/** Two concurrent sub-agents, one with a nested one. `act` is the effect of their tools. */
const team =
  (act: (key: string) => void): Define =>
  (ai) => {
    const thinks = async () => {
      await setImmediate();
    };
    const body: Parameters<typeof tool>[2] = ({ idempotencyKey }, { out }) => {
      act(idempotencyKey);
      return out;
    };
    const pay = tool(ai, 'pay', body, { needsApproval: true });
    const free = tool(ai, 'free', body);
    const deputy = ai.defineAgent({
      name: 'deputy',
      tools: [pay, free],
      model: script([[call('pay', { out: 0 }, 'x')], [call('free', { out: '' }, 'x')]], thinks),
    });
    const a = ai.defineAgent({
      name: 'a',
      tools: [pay, deputy],
      model: script([[call('pay', { out: false }, 'x'), ask('deputy', 'z')]], thinks),
    });
    const b = ai.defineAgent({ name: 'b', tools: [free], model: script([[call('free', { out: 1 }, 'x')]], thinks) });
    return ai.defineAgent({ name: 'root', tools: [a, b], model: script([[ask('a', 'x'), ask('b', 'y')]], thinks) });
  };

/** Reports that a call in doubt happened if it did, and approves everything else. */
function truth(card: RunRequest, happened: ReadonlyMap<string, number>) {
  const key = String(card.part.metadata?.callId ?? card.part.toolRequest.ref);
  const { out } = card.input as { readonly out: Json };
  return card.kind === 'doubt' && happened.has(key)
    ? ({ type: 'respond', output: out } as const)
    : ('approve' as const);
}

/** Returns the end of a run whose store failed at the n-th append, or undefined if the run has fewer appends. */
async function endOf(nth: number, failure: Failure) {
  const { store, open, pass } = world();
  const { failed } = failAt(store, nth, failure);
  const happened = new Map<string, number>();
  const define = team((key) => happened.set(key, (happened.get(key) ?? 0) + 1));
  let current = open(define);
  const begin = () => current.root.start('Go', { runId: 'r' });
  // A failed start is repeated, as a caller would. If it was written before, the second one is rejected.
  await begin().catch(() => begin().catch(() => undefined));
  for (let round = 0; round < 40; round += 1) {
    await current.runs.settled();
    const { status } = await current.runs.get('r');
    if (status === 'done') break;
    const [card] = (await current.runs.requests()).items;
    if (status === 'running' || status === 'failed') {
      pass(2 * LEASE_MS);
      current = open(define);
      await current.runs.drive('r').catch(unlessFailed(failed));
    } else if (card) {
      await current.runs.decide(card.id, truth(card, happened)).catch(unlessFailed(failed));
    } else throw new Error(`The run is ${status}, but no question is pending.`);
  }
  if (!failed()) return undefined;
  const { status } = await current.runs.get('r');
  return { status, happened: [...happened.values()], whole: (await current.runs.verify('r')).ok };
}

const unlessFailed = (failed: () => boolean) => (error: unknown) => {
  if (!failed()) throw error;
};

test.each(FAILURES)(
  'a store that fails once at any append duplicates and loses nothing ($how, $when the write)',
  async (failure) => {
    for (let nth = 1; ; nth += 1) {
      const end = await endOf(nth, failure).catch((error: unknown) => ({ error }));
      if (end === undefined) break;
      expect(end, `append ${nth} failed`).toEqual({ status: 'done', happened: [1, 1, 1, 1], whole: true });
    }
  },
  60_000,
);
