// Late results of a call inside a sub-agent that the new version no longer has.
import { memoryStore } from 'countersign';
import { expect, test, vi } from 'vitest';
import { eventually } from '../eventually.ts';
import { ask, call, type Define, of, question, script, tool, waiting, world } from '../sub-agents/kit.ts';

/** The first process is stuck in a body inside the helper. The second has no helper and asks about the whole helper; a question is pending beside it. */
async function withoutHelper() {
  const bank = Promise.withResolvers<string>();
  const reads = vi.fn();
  const { open, takeOver, effects, recorded } = world((now) => {
    const store = memoryStore({ now });
    const read = store.read.bind(store);
    store.read = (...args) => {
      reads();
      return read(...args);
    };
    return store;
  });
  const version =
    (has: 'helper' | 'no helper'): Define =>
    (ai) => {
      const pay = tool(ai, 'pay', () => {
        effects.push('pay');
        return bank.promise;
      });
      const helper = ai.defineAgent({ name: 'helper', tools: [pay], model: script([[call('pay')]]) });
      return ai.defineAgent({
        name: 'root',
        tools: [question(ai, 'when'), ...(has === 'helper' ? [helper] : [])],
        model: script([[ask('helper'), call('when')]]),
      });
    };
  const one = open(version('helper'));
  const { id } = await one.root.start('Go');
  await eventually(() => expect(effects).toEqual(['pay']));
  const two = await takeOver(id, version('no helper'));
  const card = of(await waiting(two.runs), 'helper');
  expect(card.kind).toBe('doubt');
  const wake = async () => {
    reads.mockClear();
    bank.resolve('paid');
    await one.runs.settled();
    // No process works inside the helper, so the late result does not wait for one.
    expect(reads.mock.calls.length).toBeLessThan(10);
  };
  return { id, card, two, effects, recorded, wake, back: () => open(version('helper')) };
}

test('a late result settles the inner call while the doubt about its removed sub-agent is pending', async () => {
  const { card, effects, wake, back } = await withoutHelper();
  await wake();
  const three = back();
  await three.runs.decide(card.id, 'approve');
  await three.runs.settled();
  expect((await waiting(three.runs)).map(({ tool }) => tool)).toEqual(['when']);
  expect(effects).toEqual(['pay']);
});

test('a late result is recorded as late once a person has settled the removed sub-agent', async () => {
  const { id, card, two, wake, recorded } = await withoutHelper();
  await two.runs.decide(card.id, { type: 'respond', output: 'Helped.' });
  await two.runs.settled();
  await wake();
  expect(await recorded(id)).toContain('"type":"call-ended-late"');
  expect((await waiting(two.runs)).map(({ tool }) => tool)).toEqual(['when']);
});
