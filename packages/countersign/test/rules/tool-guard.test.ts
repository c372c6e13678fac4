// `tool.is` finds the interrupts of a tool, and `runs.decide` accepts the question it found.
import { interrupt, memoryStore } from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, only, payTool, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });

async function started() {
  const log: string[] = [];
  const pay = payTool(log);
  const script = [calls({ name: 'pay', ref: 'a', input: { amount: 1 } }, { name: 'ask', ref: 'b' }), 'done'];
  const { ai } = scripted(script, { store: memoryStore() });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, ask] });
  const { interrupts } = await clerk.generate({ runId: 'run', prompt: 'go' });
  return { ai, log, pay, interrupts, runs: ai.runs };
}

describe('tool.is', () => {
  test('is true for the interrupts of the tool, in a response and in the store', async () => {
    const { pay, interrupts, runs } = await started();
    const { items } = await runs.requests();
    expect(interrupts.filter(pay.is).map(({ toolRequest }) => toolRequest.ref)).toEqual(['a']);
    expect(
      travelled(items)
        .filter((item) => pay.is(item))
        .map(({ tool }) => tool),
    ).toEqual(['pay']);
    expect(items.filter((item) => ask.is(item)).map(({ tool }) => tool)).toEqual(['ask']);
  });

  test.each([null, undefined, 'pay', [], {}, { toolRequest: null }, { toolResponse: { name: 'pay' } }])(
    'is false for %j',
    (value) => {
      expect(payTool([]).is(value as never)).toBe(false);
    },
  );
});

describe('runs.decide with the question itself', () => {
  test('decides the question that was shown', async () => {
    const { log, pay, runs } = await started();
    const { items } = await runs.requests();
    const question = only(items.filter((item) => pay.is(item)));
    expect(await runs.decide(question, { type: 'approve', edit: { amount: 2 } }, { by: 'ann' })).toMatchObject({
      requestId: question.id,
      by: 'ann',
    });
    await runs.settled();
    expect(log).toEqual(['paid 2']);
  });

  test('is rejected if the question is not the pending one', async () => {
    const { log, pay, runs } = await started();
    const { items } = await runs.requests();
    const question = { ...only(items.filter((item) => pay.is(item))), digest: 'another' };
    await expect(runs.decide(question, 'approve')).rejects.toMatchObject({ code: 'outdated-card' });
    await runs.settled();
    expect(log).toEqual([]);
  });

  test.each([null, {}, { id: 5 }, ['run']])('is rejected for %j, which has no id', async (value) => {
    const { runs } = await started();
    await expect(runs.decide(value as never, 'approve')).rejects.toMatchObject({ code: 'invalid-options' });
  });
});
