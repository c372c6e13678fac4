// Rules 9 and 10: the model is told whether anything may have come of a call that a person kept from going on.
import { cancel, countersign, interrupt, memoryStore, reject, tool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { calls, nth, only, outputs, payTool, scripted } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });
const asksInside = tool({ name: 'asksInside', description: 'Asks in the middle.' }, (_input, context) =>
  context.interrupt({ message: 'Sure?' }),
);
const TOLD: readonly (readonly [name: string, consequence: string])[] = [
  ['pay', 'It did not run.'],
  ['ask', 'It was not answered.'],
  ['asksInside', 'It stopped before it was done.'],
];

/** A model that asks for one call, and hears what came of it. */
function asked(name: string) {
  const { ai, model } = scripted([calls({ name, ref: 'c', input: { amount: 1 } }), 'I see']);
  const heard = () => only(outputs(nth(model.requests, 1).messages));
  return { ai, heard, tools: [payTool([]), ask, asksInside] };
}

describe('a call that a person kept from going on', () => {
  test.each(TOLD)('%s, rejected or cancelled: %s', async (name, consequence) => {
    for (const [verb, refuse] of Object.entries({ reject, cancel })) {
      const { ai, tools, heard } = asked(name);
      const { messages, interrupts } = await ai.generate({ prompt: 'go', tools });
      await ai.generate({ messages, tools, resume: { [verb]: refuse(only(interrupts)) } });
      expect(heard()).toContain(consequence);
    }
  });

  test.each(TOLD)('%s, when the user says something else: %s', async (name, consequence) => {
    const { ai, tools, heard } = asked(name);
    const { messages } = await ai.generate({ prompt: 'go', tools });
    await ai.generate({ messages, tools, prompt: 'never mind' });
    expect(heard()).toContain(consequence);
  });

  test('one that was handed out and never looked at did not run', async () => {
    const { ai, tools, heard } = asked('pay');
    const { messages } = await ai.generate({ prompt: 'go', tools, returnToolRequests: true });
    await ai.generate({ messages, tools, prompt: 'never mind' });
    expect(heard()).toContain('It did not run.');
  });

  test('one that asked, and got a gate and lost its tool after that, had begun all the same', async () => {
    const store = memoryStore();
    const version = (has: 'no gate' | 'a gate' | 'no tool') => {
      const model = scriptedModel(({ messages }) => {
        const [told] = outputs(messages);
        return told === undefined ? { calls: [{ name: 'pay', ref: 'p', input: {} }] } : String(told);
      });
      const ai = countersign({ model, store, retry: false });
      const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: has === 'a gate' }, (_input, context) =>
        context.resumed === undefined ? context.interrupt({ message: 'Which account?' }) : 'paid',
      );
      const clerk = ai.defineAgent({ name: 'clerk', tools: has === 'no tool' ? [] : [pay] });
      const card = async () => only((await ai.runs.interrupts()).items);
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
