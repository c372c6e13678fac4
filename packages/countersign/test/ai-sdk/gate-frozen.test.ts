// A call behind the gate of the AI SDK while a freeze covers it: the model is told, and it runs once, after the lift.
import { countersign, memoryStore } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { expect, test, vi } from 'vitest';
import { talk } from './conversation.ts';

test('an approved call that is frozen does not run; after the lift it runs once, however often the chat is sent', async () => {
  const store = memoryStore();
  const pay = vi.fn((_input: unknown): unknown => 'paid');
  const who = { key: 'chat-1', by: 'ann' };
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  const question = await ask();
  // Another process freezes it.
  const { freezes } = countersign({ store });
  const { id } = await freezes.freeze({ tools: ['pay'], reason: 'The mailbox was hacked.' }, { by: 'eve' });
  const [told] = await resume(question, true);
  expect(told).toMatchObject({ type: 'tool-error', error: { message: expect.stringContaining('is frozen') } });
  expect(pay).not.toHaveBeenCalled();

  await freezes.lift(id, { by: 'eve' });
  for (const [result] of [await resume(question, true), await resume(question, true)])
    expect(result).toMatchObject({ type: 'tool-result', output: 'paid' });
  expect(pay).toHaveBeenCalledOnce();
});
