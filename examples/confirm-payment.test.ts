import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { confirmPayment, transferScript } from './confirm-payment.ts';
import { fakeTerminal } from './fake-terminal.ts';

test('a confirmed transfer is made once', async () => {
  const terminal = fakeTerminal('yes');
  expect(await confirmPayment(transferScript(), terminal)).toEqual([{ toAccountId: 'ABC123', amount: 100_000 }]);
  expect(terminal.asked).toEqual([{ question: 'Send $1000.00 to ABC123?', choices: ['yes', 'no'] }]);
  expect(terminal.printed()).toBe('I sent $1000 to ABC123.\nTransfers made: 1\n');
});

test('a rejected transfer is not made, and the model knows', async () => {
  const terminal = fakeTerminal('no');
  expect(await confirmPayment(transferScript(), terminal)).toEqual([]);
  expect(terminal.printed()).toBe('As you wished, I sent nothing.\nTransfers made: 0\n');
});

test('a small transfer is made unasked', async () => {
  const terminal = fakeTerminal();
  const small = { toAccountId: 'ABC123', amount: 10_000 };
  const model = scriptedModel([{ calls: [{ name: 'transferMoney', input: small }] }, 'Done.']);
  expect(await confirmPayment(model, terminal)).toEqual([small]);
  expect(terminal.asked).toEqual([]);
});
