// Defining policies: what is refused where it is written, and what becomes a warning on the card.
import { countersign, memoryStore, type PolicyConfig } from 'countersign';
import { describe, expect, test } from 'vitest';
import { openBank, PLACES, TWO } from './bank.ts';

const define = (config: PolicyConfig, roles?: readonly string[]) =>
  countersign({ ...(roles && { people: { roles } }) }).definePolicy('payments', config);

describe('a policy that nobody can satisfy is refused', () => {
  test.each<[string, PolicyConfig, string]>([
    ['a role that does not exist', { deciders: { roles: ['finanse'] } }, 'the role finanse'],
    ['too few people', { quorum: [{ of: { people: ['anna'] }, count: 2 }] }, 'at most 1'],
    ['nobody', { deciders: { people: [] } }, 'names no people'],
    ['an unknown field', { decider: 'anna' } as PolicyConfig, 'no decider'],
    ['a deadline that approves in place of a quorum', { ...TWO, onExpiry: 'approve' }, 'in place of a quorum'],
    [
      'a deadline that approves in place of a signature',
      { deciders: { roles: ['finance'] }, signed: 'passkey', onExpiry: 'approve' },
      'in place of a signature',
    ],
    ['an invalid time', { expireAfter: 'soon' as never }, 'expireAfter'],
  ])('%s', (_name, config, problem) => {
    expect(() => define(config, ['finance'])).toThrow(problem);
  });
});

test.each(PLACES)('a policy can be defined after its tool, but before the first run (%s)', async (place) => {
  const { ai, runs, ask, bank, types } = openBank({ needsApproval: { policy: 'payments' }, place });
  ai.definePolicy('travel', TWO);
  if (place !== 'generate') {
    const message =
      'The tool pay names the policy payments, which is not defined. Define it with ai.definePolicy. Defined are: travel.';
    await expect(bank.generate('Pay.')).rejects.toThrow(message);
    await bank.start('Pay.', { runId: 'early' });
    expect(await runs.wait('early')).toMatchObject({ status: 'failed', pending: [], error: { message } });
    expect(await types('early')).toEqual(['user-spoke', 'run-failed']);
  }
  expect(ai.definePolicy('payments', TWO)).toBe('payments');
  expect((await ask()).policies).toMatchObject([{ name: 'payments' }]);
  expect(() => ai.definePolicy('payments', TWO)).toThrow('defined already');
});

test.each<[string, unknown]>([
  ['by a name that is not defined', 'gone'],
  ['that is undefined', undefined],
  ['whose deciders cannot be found', { deciders: () => Promise.reject(new Error('directory down')) }],
  ['whose deciders are nobody', { deciders: () => ({ people: [] }) }],
  ['that is invalid', { quorum: 2 }],
])('a policy %s asks with a warning, and nobody can approve', async (_name, policy) => {
  const { runs, ask, paid, types } = openBank({ needsApproval: () => ({ policy: policy as PolicyConfig }) });
  const card = await ask();
  expect(card.policies[0].warnings).toHaveLength(1);
  await expect(runs.decide(card, 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'not-allowed' });
  expect({ paid, last: (await types()).at(-1) }).toEqual({ paid: [], last: 'call-interrupted' });
});

test('deciders are found when the call asks, from its input', async () => {
  const deciders = ({ amount }: { readonly amount: number }) => ({ people: [amount > 5 ? 'anna' : 'ben'] });
  const { runs, ask, paid } = openBank({ needsApproval: { policy: { deciders } } });
  const card = await ask();
  expect(card.policies).toEqual([{ deciders: { people: ['anna'] } }]);
  await expect(runs.decide(card, 'approve', { by: 'ben' })).rejects.toMatchObject({ code: 'not-allowed' });
  await runs.decide(card, 'approve', { by: 'anna' });
  await runs.wait('run');
  expect(paid).toHaveLength(1);
});

test('a group with too few members is a warning on the card', async () => {
  const people = { membersOf: () => ['anna'] };
  const { ask } = openBank({ people, store: memoryStore() });
  expect((await ask()).policies[0].warnings).toEqual(['2 votes are needed, and only 1 people are in: finance.']);
});

test('the times of a policy are those of the request, unless the request has its own', async () => {
  const clock = () => 1_800_000_000_000;
  const policy: PolicyConfig = { ...TWO, expireAfter: '1h', onExpiry: 'cancel' };
  const open = (options: object) =>
    openBank({ store: memoryStore({ now: clock }), clock, needsApproval: { policy, ...options } }).ask();
  expect((await open({})).expiresAt).toBe(clock() + 3_600_000);
  expect((await open({ expiresIn: 5 })).expiresAt).toBe(clock() + 5);
});

test('a doubt about an approved call is decided by the same policy', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const stuck = openBank({ store, clock, leaseMs: 1_000, onPay: () => new Promise(() => undefined) });
  const { id } = await stuck.ask();
  await stuck.runs.decide(id, 'approve', { by: 'anna' });
  await stuck.runs.decide(id, 'approve', { by: 'ben' });
  await expect.poll(() => stuck.paid.length).toBe(1);
  now += 10_000;
  const { runs, pending, paid } = openBank({ store, clock, leaseMs: 1_000 });
  await runs.drive('run');
  await runs.settled();
  const doubt = await pending();
  expect(doubt).toMatchObject({ kind: 'doubt', policies: [TWO] });
  expect(await runs.decide(doubt, 'approve', { by: 'anna' })).toMatchObject({ status: 'waiting' });
  await runs.decide(doubt, 'approve', { by: 'ben' });
  await runs.wait('run');
  expect(paid).toHaveLength(1);
});
