import { expect, test } from 'vitest';
import { fakeTerminal } from './fake-terminal.ts';
import { partyScript, planParty } from './prompt-file.ts';

test('the prompt of the file is rendered once, and its question answered', async () => {
  const terminal = fakeTerminal('outdoors');
  const model = partyScript();
  await planParty(model, 'birthday', terminal);
  expect(terminal.asked).toEqual([{ question: 'Indoors or outdoors?', choices: ['indoors', 'outdoors'] }]);
  expect(terminal.printed()).toBe('A party outdoors, with cake at four.\n');

  for (const { messages, tools } of model.requests) {
    expect(messages.map(({ role }) => role).filter((role) => role === 'system' || role === 'user')).toEqual([
      'system',
      'user',
    ]);
    expect(JSON.stringify(messages[1])).toContain('Help me plan a birthday party next week.');
    expect(tools.map(({ name }) => name)).toEqual(['askQuestion']);
  }
});
