// Limits on what strangers may try.
import { expect, onTestFinished, test, vi } from 'vitest';
import { Attempts } from './attempts.ts';
import { networkOf } from './networks.ts';

const open = () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  return new Attempts({ forOne: 2, forAll: 3, periodMs: 60_000, message: 'Too many.' });
};
const refused = (after: string) =>
  expect.objectContaining({
    code: 'too-many-sign-ins',
    message: expect.stringMatching(/^Too many\. Try again in 1 minute\.$/),
    details: { status: 429, headers: { 'retry-after': after } },
  });

test('one address may try so often in the period', () => {
  const attempts = open();
  attempts.count('a');
  vi.advanceTimersByTime(20_000);
  attempts.count('a');
  expect(() => attempts.count('a')).toThrow(refused('40'));
  attempts.count('b');
  vi.advanceTimersByTime(40_000);
  attempts.count('a');
});

test('so may all addresses together', () => {
  const attempts = open();
  for (const who of ['a', 'b', 'c']) attempts.count(who);
  expect(() => attempts.count('d')).toThrow(refused('60'));
});

test('an attempt that is taken back does not count', () => {
  const attempts = open();
  for (let times = 0; times < 9; times++) attempts.count('a')();
  attempts.count('a');
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  [undefined, 'unknown'],
])('%s is in the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
