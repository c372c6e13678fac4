// Events recorded by a later release: this release rejects them and does not act on the run.
import type { RunEvent } from 'countersign';
import type { Store } from 'countersign/store';
import { describe, expect, test } from 'vitest';
import { linkAll } from '../../src/runs/port/chain.ts';
import { eventually } from '../eventually.ts';
import {
  call,
  type Define,
  EVERYWHERE,
  only,
  payTool,
  placed,
  script,
  tool,
  waiting,
  world,
} from '../sub-agents/kit.ts';

const asked = { shown: { payload: true }, authority: { policies: [{}], requesters: [] }, bound: {} } as const;

const LATER = {
  'of an unknown type': { v: 1, type: 'call-postponed', callId: 'x', at: 1 },
  'of another version': { v: 2, type: 'run-went-on', at: 1 },
  'with a decision of another type': {
    v: 1,
    type: 'decision-made',
    callId: 'x',
    requestId: 'x',
    decision: { type: 'delegate' },
    resumed: true,
    at: 1,
  },
  'with a question of another kind': {
    v: 1,
    type: 'call-interrupted',
    callId: 'x',
    request: { id: 'x', kind: 'vote', ...asked },
    at: 1,
  },
  'with another end of a deadline': {
    v: 1,
    type: 'call-interrupted',
    callId: 'x',
    request: { id: 'x', kind: 'approval', ...asked, wait: { expiresAt: 1, onExpiry: 'escalate' } },
    at: 1,
  },
  'with a policy of another kind': {
    v: 1,
    type: 'call-interrupted',
    callId: 'x',
    request: {
      id: 'x',
      kind: 'approval',
      ...asked,
      authority: { policies: [{}, { sortition: true }], requesters: [] },
    },
    at: 1,
  },
  'with a result of another type': { v: 1, type: 'call-settled', callId: 'x', result: { type: 'deferred' }, at: 1 },
} as const;

/** Appends an event as a later release would, inside the given call if there is one. */
async function append(store: Store, runId: string, later: object, inside?: string): Promise<void> {
  const loaded = await store.read(runId);
  if (!loaded) throw new Error('Run not found.');
  const { version, hash, status, wakeAt, outcome } = loaded.run;
  const event = inside === undefined ? later : { v: 1, type: 'call-went-on', callId: inside, inside: [later], at: 1 };
  const events = [event as RunEvent & { at: number }];
  const rest = { status, wakeAt, outcome, opened: [], settled: [] };
  await store.append({ runId, expectedVersion: version, events, hash: linkAll(hash, events), ...rest });
}

describe.each(Object.entries(LATER))('an event %s', (_name, later) => {
  test('appended while a run is driven stops the driver: it runs and writes nothing more', async () => {
    const { open, effects, store } = world();
    const gate = Promise.withResolvers<number>();
    const define: Define = (ai) => {
      const first = tool(ai, 'first', () => {
        effects.push('first');
        return gate.promise;
      });
      const second = tool(ai, 'second', () => effects.push('second'));
      const model = script([[call('first')], [call('second')]]);
      return ai.defineAgent({ name: 'root', tools: [first, second], model });
    };
    const { root, runs } = open(define);
    const { id } = await root.start('Go');
    await eventually(() => expect(effects).toEqual(['first']));
    await append(store, id, later);
    gate.resolve(1);
    await runs.settled();
    expect(effects).toEqual(['first']);
    expect((await store.read(id))?.events.at(-1)).toEqual(later);
  });

  test.each(EVERYWHERE)('in a waiting run makes reads, decisions and cancels fail (%s)', async (where) => {
    const { open, effects, store, recorded } = world();
    const { root, runs } = open((ai) =>
      placed(ai, where, { tools: [payTool(ai, effects)], model: script([[call('pay')]]) }),
    );
    const { id } = await root.start('Go');
    await runs.settled();
    const card = only(await waiting(runs));
    const outer = (await store.read(id))?.events.find((event) => event.type === 'call-started');
    await append(store, id, later, outer?.callId);
    const before = await recorded(id);
    const refusal = { code: 'invalid-history', message: expect.stringContaining('Update the library') };
    await expect(runs.get(id)).rejects.toMatchObject(refusal);
    await expect(runs.decide(card.id, 'approve')).rejects.toMatchObject(refusal);
    await expect(runs.drive(id)).rejects.toMatchObject(refusal);
    await expect(runs.cancel(id)).rejects.toMatchObject(refusal);
    await runs.settled();
    expect(effects).toEqual([]);
    expect(await recorded(id)).toBe(before);
  });
});
