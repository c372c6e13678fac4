import { expect, test } from 'vitest';
import { approveEditReject, fairScript } from './approve-edit-reject.ts';
import { fakeTerminal } from './fake-terminal.ts';

const ANN = { to: 'ann@example.com', subject: 'The fair' };
const BOB = { to: 'bob@fair.test', subject: 'The fair' };
const EVE = { to: 'eve@fair.test', subject: 'The fair' };

test('approved calls run unchanged, and the ungated one ran without a question', async () => {
  const terminal = fakeTerminal('approve', 'approve');
  const { outbox } = await approveEditReject(fairScript(), terminal);
  expect(outbox).toEqual([ANN, BOB, EVE]);
  expect(terminal.asked.map(({ question }) => question)).toEqual([
    'Send "The fair" to bob@fair.test?',
    'Send "The fair" to eve@fair.test?',
  ]);
});

test('an edited call runs as edited, a rejected one does not run', async () => {
  const terminal = fakeTerminal('edit', 'The fair in May', 'reject', 'Eve is away.');
  const { outbox, response } = await approveEditReject(fairScript(), terminal);
  expect(outbox).toEqual([ANN, { ...BOB, subject: 'The fair in May' }]);
  expect(terminal.printed()).toContain('Sent: 2. Rejected by you: 1.');

  const results = response.messages.findLast(({ role }) => role === 'tool')?.content ?? [];
  expect(results[2]).toMatchObject({ toolResponse: { output: expect.stringContaining('Eve is away.') } });
});

test('the history shows the proposed input, the input that ran, and the editor', async () => {
  const terminal = fakeTerminal('edit', 'The fair in May', 'approve');
  const { response } = await approveEditReject(fairScript(), terminal);
  const requests = response.messages.find(({ role }) => role === 'model')?.content ?? [];
  expect(requests[1]).toMatchObject({
    toolRequest: { input: { ...BOB, subject: 'The fair in May' } },
    metadata: { replacedInput: BOB, decision: { type: 'edit', by: 'ann' } },
  });
});
