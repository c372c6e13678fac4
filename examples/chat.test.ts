import { expect, test } from 'vitest';
import { birthdayScript, chatAbout } from './chat.ts';
import { fakeTerminal } from './fake-terminal.ts';

test('the chat continues after the answer, and knows the whole conversation', async () => {
  const terminal = fakeTerminal('pie');
  const model = birthdayScript();
  const chat = await chatAbout(model, ['Make a plan.', 'Thank you!'], terminal);
  expect(terminal.asked).toEqual([{ question: 'Cake or pie?', choices: ['cake', 'pie'] }]);
  expect(terminal.printed().split('\n')).toEqual([
    'You: Make a plan.',
    'Model: A birthday with pie, then.',
    'You: Thank you!',
    'Model: You are welcome. We exchanged 5 messages.',
    '',
  ]);
  expect(chat.messages.map(({ role }) => role)).toEqual([
    ...['system', 'user', 'model', 'tool', 'model'],
    ...['user', 'model'],
  ]);
  expect(model.remaining).toBe(0);
});
