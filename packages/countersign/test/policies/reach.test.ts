// A request must not wait for votes that nobody can give: an edit that leads there is refused, and a card that waits so says it.
import type { Approval } from 'countersign';
import { internalsOf } from 'countersign/store';
import { expect, test } from 'vitest';
import { openBank, ROLES, TWO } from './bank.ts';

const FOUR_EYES = { policy: { ...TWO, notRequester: true as const } };
const edit = { type: 'approve', edit: { amount: 5 } } as const;

/** `finance`: who is in it, as the directory says now. */
function bankOf(finance: string[], needsApproval: Approval = FOUR_EYES) {
  const membersOf = (role: string) => (role === 'finance' ? finance : []);
  const rolesOf = (person: string) => (finance.includes(person) ? ['finance'] : (ROLES[person] ?? []));
  return openBank({ needsApproval, people: { rolesOf, membersOf } });
}

test('an edit that leaves nobody who can reach the votes is refused, and nothing is lost', async () => {
  const { runs, ask, pending, types } = bankOf(['anna', 'ben', 'asker']);
  const card = await ask();
  await runs.decide(card.id, 'approve', { by: 'ben' });
  const before = await types();
  // Anna edits, so she does not count; ben is the only one left, because the asker does not count either.
  await expect(runs.decide(card, edit, { by: 'anna' })).rejects.toMatchObject({
    code: 'out-of-reach',
    details: { missing: [{ of: { roles: ['finance'] }, count: 1 }] },
  });
  expect(await types()).toEqual(before);
  expect((await pending()).progress).toMatchObject({ votes: [{ by: 'ben' }] });
});

test('the person can confirm it, and the card says what is out of reach', async () => {
  const finance = ['anna', 'ben', 'asker'];
  const { runs, ask, pending, paid } = bankOf(finance);
  const card = await ask();
  const reach = async () => internalsOf(runs).outOfReach(await pending());
  expect(await reach()).toEqual([]);
  await runs.decide(card, edit, { by: 'anna', evenIfOutOfReach: true });
  expect(await reach()).toEqual([{ of: { roles: ['finance'] }, count: 1 }]);
  // Someone joins.
  finance.push('cara');
  expect(await reach()).toEqual([]);
  const again = await pending();
  await runs.decide(again.id, 'approve', { by: 'ben' });
  await runs.decide(again.id, 'approve', { by: 'cara' });
  await runs.wait('run');
  expect(paid).toEqual([{ amount: 5, currency: 'EUR' }]);
});

test('a person who leaves makes a pending request out of reach', async () => {
  const finance = ['anna', 'ben', 'asker'];
  const { runs, ask, pending } = bankOf(finance);
  await ask();
  finance.splice(0, 1);
  expect(await internalsOf(runs).outOfReach(await pending())).toEqual([{ of: { roles: ['finance'] }, count: 1 }]);
});

test('people to whom it will be escalated can still decide', async () => {
  const escalate = [{ after: '1h' as const, to: { people: ['boss'] } }];
  const { runs, ask, pending } = bankOf(['anna', 'ben', 'asker'], { policy: { ...FOUR_EYES.policy, escalate } });
  const card = await ask();
  await runs.decide(card, edit, { by: 'anna' });
  expect((await pending()).input).toMatchObject({ amount: 5 });
});

test('a directory that does not know the members of a role refuses no edit', async () => {
  const { runs, ask, pending } = openBank({ needsApproval: FOUR_EYES });
  await runs.decide(await ask(), edit, { by: 'anna' });
  expect((await pending()).input).toMatchObject({ amount: 5 });
});
