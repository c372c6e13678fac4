// A tool keeps its inputs out of notices: every request about its calls says so.
import { z } from 'countersign';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { call, type Define, EVERYWHERE, placed, STUCK, script, tool, waiting, world } from '../sub-agents/kit.ts';

const notice = 'title-only';

test.each(EVERYWHERE)('approvals, questions of a body and questions say it (%s)', async (where) => {
  const { open } = world();
  const { root, runs } = open((ai) => {
    const gated = tool(ai, 'gated', () => 1, { needsApproval: () => ({ notice: 'shown', risk: 'low' }), notice });
    const asking = tool(ai, 'asking', ({ interrupt }) => interrupt('Really?'), { notice });
    const described = { name: 'question', description: '', inputSchema: z.object({}), outputSchema: z.string() };
    const question = ai.defineInterrupt({ ...described, notice });
    const open = tool(ai, 'open', () => 1, { needsApproval: true });
    const tools = [gated, asking, question, open];
    return placed(ai, where, { tools, model: script([tools.map(({ name }) => call(name))]) });
  });
  const { id } = await root.start('Go');
  await runs.settled();
  const cards = await waiting(runs);
  expect(Object.fromEntries(cards.map((card) => [card.tool, card.notice]))).toEqual({
    ...{ gated: notice, asking: notice, question: notice },
    open: null,
  });
  // The digests of cards without it are those of earlier releases.
  const { part, payload } = cards.find((card) => card.tool === 'open') ?? {};
  expect(part?.metadata).not.toHaveProperty('notice');
  expect(payload).toBe(true);
  await runs.cancel(id);
});

test('a doubt says it too, even if the tool is gone', async () => {
  const { open, takeOver, effects } = world();
  const define: Define = (ai, nth) => {
    const pay = tool(
      ai,
      'pay',
      () => {
        effects.push('paid');
        return STUCK;
      },
      { needsApproval: true, notice },
    );
    return placed(ai, 'root', { tools: nth === 1 ? [pay] : [], model: script([[call('pay')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const [card] = await waiting(one.runs);
  await one.runs.decide(card?.id ?? '', 'approve');
  await eventually(() => expect(effects).toEqual(['paid']));
  const two = await takeOver(id, define);
  expect(await waiting(two.runs)).toMatchObject([{ kind: 'doubt', notice }]);
});

test('any other value is refused where the tool is defined', () => {
  world().open((ai) => {
    expect(() => tool(ai, 'pay', () => 1, { notice: 'nothing' as never })).toThrow(/notice/);
    return ai.defineAgent({ name: 'root', tools: [] });
  });
});
