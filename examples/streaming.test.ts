import { expect, test } from 'vitest';
import { fakeTerminal } from './fake-terminal.ts';
import { grillScript, streamIt } from './streaming.ts';

test('words, call, pause, decision and result are shown in their order', async () => {
  const terminal = fakeTerminal('yes');
  const model = grillScript();
  await streamIt(model, terminal);
  expect(terminal.printed().split('\n')).toEqual([
    'I light the grill now. {"degrees":250}',
    '[call lightGrill]',
    '[lightGrill waits for a person]',
    '[decision: approve]',
    '[result: The grill burns at 250 degrees.]',
    'It is lit. Enjoy your barbecue!',
    '',
  ]);
  expect(model.requests.every(({ streaming }) => streaming)).toBe(true);
});

test('a rejection is streamed as well, and the grill stays cold', async () => {
  const terminal = fakeTerminal('no');
  const response = await streamIt(grillScript(), terminal);
  expect(response.text).toBe('Then I leave it cold.');
  expect(terminal.printed()).toContain('[decision: reject]');
  expect(terminal.printed()).not.toContain('burns');
});
