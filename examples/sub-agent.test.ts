import { expect, test } from 'vitest';
import { fakeTerminal } from './fake-terminal.ts';
import { planWithTreasurer, treasurerScript } from './sub-agent.ts';

const BUTCHER = { to: 'butcher', amount: 140 };
const BAKER = { to: 'baker', amount: 30 };

test('approved at the root, the payment inside runs once', async () => {
  const terminal = fakeTerminal('yes');
  const model = treasurerScript();
  const { paid } = await planWithTreasurer(model, terminal);
  expect(terminal.asked.map(({ question }) => question)).toEqual([
    'The treasurer wants to pay $140 to the butcher. All right?',
  ]);
  expect(paid).toEqual([BAKER, BUTCHER]);
  expect(terminal.printed()).toContain('The treasurer says: Both are paid.');
  expect(model.remaining).toBe(0);
});

test('rejected at the root, it does not run, and the planner hears of it', async () => {
  const terminal = fakeTerminal('no');
  const { paid } = await planWithTreasurer(treasurerScript(), terminal);
  expect(paid).toEqual([BAKER]);
  expect(terminal.printed()).toContain('The treasurer says: Only the baker is paid.');
});
