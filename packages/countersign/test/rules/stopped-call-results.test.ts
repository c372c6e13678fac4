// Rules 9 and 10: the model learns whether a call that a person stopped may have had an effect.
import { cancel, countersign, interrupt, memoryStore, reject, tool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { calls, nth, only, outputs, payTool, scripted } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });
const asksInside = tool({ name: 'asksInside', description: 'Asks in the middle.' }, (_input, context) =>
  context.interrupt({ message: 'Sure?' }),
);
const CONSEQUENCES: readonly (readonly [name: string, consequence: string])[] = [
  ['pay', 'It did not run.'],
  ['ask', 'It was not answered.'],
  ['asksInside', 'It stopped before it was done.'],
];

/** A model that requests one call and receives its result. */
function asked(name: string) {
  const { ai, model } = scripted([calls({ name, ref: 'c', input: { amount: 1 } }), 'I see']);
  const resultForModel = () => only(outputs(nth(model.requests, 1).messages));
  return { ai, resultForModel, tools: [payTool([]), ask, asksInside] };
}

describe('a call that a person stopped', () => {
  test.each(CONSEQUENCES)('%s, rejected or cancelled: %s', async (name, consequence) => {
    for (const [verb, refuse] of Object.entries({ reject, cancel })) {
      const { ai, tools, resultForModel } = asked(name);
      const { messages, interrupts } = await ai.generate({ prompt: 'go', tools });
      await ai.generate({ messages, tools, resume: { [verb]: refuse(only(interrupts)) } });
      expect(resultForModel()).toContain(consequence);
    }
  });

  test.each(CONSEQUENCES)('%s, when the user sends another message: %s', async (name, consequence) => {
    const { ai, tools, resultForModel } = asked(name);
    const { messages } = await ai.generate({ prompt: 'go', tools });
    await ai.generate({ messages, tools, prompt: 'never mind' });
    expect(resultForModel()).toContain(consequence);
  });

  test('a call that was handed out and never checked did not run', async () => {
    const { ai, tools, resultForModel } = asked('pay');
    const { messages } = await ai.generate({ prompt: 'go', tools, returnToolRequests: true });
    await ai.generate({ messages, tools, prompt: 'never mind' });
    expect(resultForModel()).toContain('It did not run.');
  });

  test('a call that asked, then got a gate and lost its tool, had started', async () => {
    const store = memoryStore();
    const version = (has: 'no gate' | 'a gate' | 'no tool') => {
      const model = scriptedModel(({ messages }) => {
        const [result] = outputs(messages);
        return result === undefined ? { calls: [{ name: 'pay', ref: 'p', input: {} }] } : String(result);
      });
      const ai = countersign({ model, store, retry: false });
      const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: has === 'a gate' }, (_input, context) =>
        context.resumed === undefined ? context.interrupt({ message: 'Which account?' }) : 'paid',
      );
      const clerk = ai.defineAgent({ name: 'clerk', tools: has === 'no tool' ? [] : [pay] });
      const card = async () => only((await ai.runs.requests()).items);
      return { clerk, runs: ai.runs, card };
    };
    const one = version('no gate');
    await one.clerk.start('Pay.', { runId: 'run' });
    await one.runs.settled();
    await one.runs.decide((await one.card()).id, { type: 'restart', resumed: 'mine' }, { drive: false });
    const two = version('a gate');
    await two.runs.drive('run');
    await two.runs.settled();
    expect(await two.card()).toMatchObject({ kind: 'approval' });
    await two.runs.decide((await two.card()).id, 'approve', { drive: false });
    const three = version('no tool');
    await three.runs.drive('run');
    await three.runs.settled();
    expect(await three.card()).toMatchObject({ kind: 'unavailable' });
    await three.runs.decide((await three.card()).id, 'reject');
    await three.runs.settled();
    expect((await three.runs.get('run')).text).toContain('It stopped before it was done.');
  });
});
