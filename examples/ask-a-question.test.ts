import { expect, test } from 'vitest';
import { askAQuestion, barbecueScript } from './ask-a-question.ts';
import { fakeTerminal } from './fake-terminal.ts';

test('every question reaches the user, and the plan follows the answers', async () => {
  const terminal = fakeTerminal('40', 'no meat', 'at noon');
  const response = await askAQuestion(barbecueScript(), terminal);
  expect(terminal.asked).toEqual([
    { question: 'How many guests?', choices: ['6', '12', '20'] },
    { question: 'Meat or no meat?', choices: ['meat', 'no meat', 'both'] },
    { question: 'When?', choices: ['at noon', 'in the evening'] },
  ]);
  expect(terminal.printed()).toBe('Then it is a barbecue for 40 guests, no meat, at noon.\n');
  expect(response.finishReason).toBe('stop');
});
