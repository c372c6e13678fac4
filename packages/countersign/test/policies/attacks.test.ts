// Attacks on policies: none of them lets a call run that too few people agreed to.
import { memoryStore, type PolicyConfig } from 'countersign';
import { expect, test } from 'vitest';
import { replay } from '../../src/runs/evidence/replay.ts';
import { openBank, PLACES } from './bank.ts';

test.each(PLACES)('one person who votes from two sessions counts once (%s)', async (place) => {
  const store = memoryStore();
  const first = openBank({ store, place });
  const second = openBank({ store, place });
  const card = await first.ask();
  const votes = await Promise.all([
    first.runs.decide(card, 'approve', { by: 'anna', channel: 'inbox' }),
    second.runs.decide(card, 'approve', { by: 'anna', channel: 'cli', roles: ['cfo'] }),
  ]);
  expect(votes.map(({ status }) => status)).toEqual(['waiting', 'waiting']);
  expect((await first.pending()).progress).toMatchObject({ votes: [{ by: 'anna' }], missing: [{ count: 1 }] });
  expect([...first.paid, ...second.paid]).toEqual([]);
});

test.each(PLACES)('a vote through a stale card is refused (%s)', async (place) => {
  const { runs, ask, pending, types } = openBank({ place });
  const card = await ask();
  await runs.decide(card, { type: 'approve', edit: { amount: 99 } }, { by: 'ben' });
  const now = await pending();
  const before = await types();
  await expect(runs.decide(card, 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'already-decided' });
  const forged = runs.decide(now.id, 'approve', { by: 'anna', digest: card.digest });
  await expect(forged).rejects.toMatchObject({ code: 'outdated-card' });
  expect(await types()).toEqual(before);
});

test.each(PLACES)('approving one’s own request is refused, also through a sub-agent (%s)', async (place) => {
  const policy: PolicyConfig = { deciders: { roles: ['finance'] }, notRequester: true };
  const { runs, ask, paid, pending } = openBank({ place, needsApproval: { policy } });
  const card = await ask();
  await expect(runs.decide(card, 'approve', { by: 'asker' })).rejects.toMatchObject({ code: 'not-allowed' });
  // An edit is not an approval either: it asks the others.
  const edited = await runs.decide(card, { type: 'approve', edit: { amount: 11 } }, { by: 'asker' });
  expect(edited.status).toBe('waiting');
  const again = await pending();
  await expect(runs.decide(again, 'approve', { by: 'asker' })).rejects.toMatchObject({ code: 'not-allowed' });
  expect(paid).toEqual([]);
});

test('a deadline does not agree to an edit', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const policy: PolicyConfig = { notRequester: true, expireAfter: '1h', onExpiry: 'approve' };
  const { runs, ask, paid } = openBank({ store: memoryStore({ now: clock }), clock, needsApproval: { policy } });
  const card = await ask();
  await runs.decide(card, { type: 'approve', edit: { amount: 1_000 } }, { by: 'asker' });
  now += 3_600_000;
  await runs.drive('run');
  await runs.settled();
  expect(paid).toEqual([]);
  expect((await runs.request(`${card.id}~2`)).settlement).toMatchObject({
    decision: { type: 'reject' },
    by: 'deadline',
  });
  expect(await runs.verify('run')).toMatchObject({ ok: true });
});

const named = (count: number): PolicyConfig => ({ quorum: [{ of: { roles: ['finance'] }, count }] });
const withPolicy = (store = memoryStore(), count = 2) =>
  openBank({
    store,
    needsApproval: { policy: 'payments' },
    define: (ai) => ai.definePolicy('payments', named(count)),
  });

test('a policy that changes under a pending request does not change it, until somebody applies it', async () => {
  const store = memoryStore();
  const card = await withPolicy(store).ask();
  const { runs, paid, types } = withPolicy(store, 1);
  expect(await runs.decide(card, 'approve', { by: 'anna' })).toMatchObject({ status: 'waiting' });
  expect(paid).toEqual([]);
  const applied = await runs.reapplyPolicy(card.id, { by: 'admin' });
  expect(applied).toMatchObject({ settlement: { by: 'anna', votes: [{ by: 'anna' }] } });
  await runs.wait('run');
  expect(paid).toEqual([{ amount: 10, currency: 'EUR' }]);
  expect(await types()).toContain('policy-applied');
  expect(await runs.verify('run')).toMatchObject({ ok: true });
  await expect(runs.reapplyPolicy(card.id, { by: 'admin' })).rejects.toMatchObject({ code: 'already-decided' });
});

test.each(PLACES)('a policy that is applied again counts the votes so far (%s)', async (place) => {
  const store = memoryStore();
  const open = (count: number) => openBank({ store, place, needsApproval: { policy: named(count) } });
  const card = await open(1).ask();
  const { runs, paid, types } = open(2);
  await runs.reapplyPolicy(card.id, { by: 'admin' });
  const before = await types();
  await runs.reapplyPolicy(card.id, { by: 'admin' });
  expect(await types()).toEqual(before);
  expect(await runs.decide(card, 'approve', { by: 'anna' })).toMatchObject({ status: 'waiting' });
  await runs.decide(card, { type: 'approve', edit: { amount: 7 } }, { by: 'ben' });
  const lower = open(1);
  await lower.runs.reapplyPolicy(`${card.id}~2`, { by: 'admin' });
  await lower.runs.wait('run');
  expect([...paid, ...lower.paid]).toEqual([{ amount: 7, currency: 'EUR' }]);
});

test('a decision that does not follow from its votes is found by verify', async () => {
  const store = memoryStore();
  const { runs, ask } = openBank({ store });
  const card = await ask();
  await runs.decide(card, 'approve', { by: 'anna' });
  await runs.decide(card, 'approve', { by: 'ben' });
  await runs.wait('run');
  const { run, events } = (await store.read('run')) ?? {};
  if (!run || !events) throw new Error('Expected a run.');
  expect(replay(run, events).problems).toEqual([]);
  const first = events.findIndex(({ type }) => type === 'vote-cast');
  expect(replay(run, events.toSpliced(first, 1)).problems).toMatchObject([
    { problem: expect.stringContaining('votes are missing') },
  ]);
});
