// Absences: a delegate decides for a person who is away, in the period only. Decisions name both people.
import { type Json, memoryStore, type RunRequest } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { absenceChallenge, signingChallenge } from 'countersign/store';
import { describe, expect, test } from 'vitest';
import { postgresStore } from '../../src/stores/postgres/postgres.ts';
import { softKey } from '../passkeys/soft-key.ts';
import { testServer } from '../stores/postgres-server.ts';
import { openBank, PLACES, rolesOf, TWO } from './bank.ts';

const HOUR = 3_600_000;
const START = 1_800_000_000_000;
const postgres = await testServer();

/** The directory of these tests knows dan and eve, who have no role, and the people with roles. */
const people = {
  rolesOf,
  contactOf: (person: string) => (['dan', 'eve'].includes(person) ? { name: person } : undefined),
};

/** A bank whose clock each test moves. */
function clocked(options: Parameters<typeof openBank>[0] = {}) {
  let now = START;
  const clock = () => now;
  const bank = openBank({ store: memoryStore({ now: clock }), clock, people, ...options });
  const pass = (ms: number): void => {
    now += ms;
  };
  const away = { delegate: 'dan', until: START + 2 * HOUR, by: 'anna' };
  return { ...bank, people: bank.ai.people, pass, away };
}

const AWHILE = 3_000;
const notAllowed = { code: 'not-allowed', details: { status: 403 } };

describe.each(PLACES)('a delegate (%s)', (place) => {
  test('votes for an absent person, with their roles, and both are on record', async () => {
    const { runs, people, ask, away, paid } = clocked({ place });
    const { id } = await ask();
    await expect(runs.decide(id, 'approve', { by: 'dan' })).rejects.toMatchObject(notAllowed);
    await people.absent('anna', away);
    const vote = { by: 'dan', onBehalfOf: 'anna', roles: ['finance'] };
    expect(await runs.decide(id, 'approve', { by: 'dan' })).toMatchObject({ status: 'waiting', votes: [vote] });
    expect(await runs.decide(id, 'approve', { by: 'ben' })).toMatchObject({ votes: [vote, { by: 'ben' }] });
    await runs.wait('run');
    expect(paid).toHaveLength(1);
    const votes = (await runs.recorded('run')).filter(({ type }) => type === 'vote-cast');
    expect(votes[0]).toMatchObject({ vote });
  });
});

test('a delegate cannot vote before or after the period, nor once it was ended', async () => {
  const { runs, people, ask, pass, away } = clocked();
  const { id } = await ask();
  await people.absent('anna', { ...away, from: START + HOUR });
  const forAnna = { by: 'dan', onBehalfOf: 'anna' };
  await expect(runs.decide(id, 'approve', forAnna)).rejects.toMatchObject(notAllowed);
  pass(HOUR);
  expect(await people.actsFor('dan')).toEqual(['anna']);
  expect(await people.delegateOf('anna')).toBe('dan');
  pass(HOUR - 1);
  expect(await runs.decide(id, 'approve', forAnna)).toMatchObject({ status: 'waiting' });
  pass(1);
  for (const options of [forAnna, { by: 'dan' }])
    await expect(runs.decide(id, { type: 'reject' }, options)).rejects.toMatchObject(notAllowed);
  await people.absent('anna', { ...away, until: START + 5 * HOUR });
  expect(await people.present('anna')).toBe(true);
  expect(await people.present('anna')).toBe(false);
  await expect(runs.decide(id, { type: 'reject' }, forAnna)).rejects.toMatchObject(notAllowed);
  await expect(runs.decide(id, 'approve', { by: 'eve', onBehalfOf: 'anna' })).rejects.toMatchObject(notAllowed);
});

test('one person counts once: neither with the absent person, nor for two of them', async () => {
  const { runs, people, ask, away, paid } = clocked();
  const { id } = await ask();
  await people.absent('anna', { ...away, delegate: 'ben' });
  await runs.decide(id, 'approve', { by: 'ben' });
  const again = await runs.decide(id, 'approve', { by: 'ben', onBehalfOf: 'anna' });
  expect(again).toMatchObject({
    status: 'waiting',
    votes: [{ by: 'ben', onBehalfOf: 'anna' }],
    missing: [{ count: 1 }],
  });
  await people.absent('anna', away);
  await people.absent('ben', { ...away, by: 'ben' });
  await expect(runs.decide(id, 'approve', { by: 'dan' })).rejects.toMatchObject(notAllowed);
  await runs.decide(id, 'approve', { by: 'dan', onBehalfOf: 'anna' });
  expect(await runs.decide(id, 'approve', { by: 'dan', onBehalfOf: 'ben' })).toMatchObject({ status: 'waiting' });
  expect(paid).toEqual([]);
});

test('four eyes: a delegate cannot approve the run that they, or the absent person, started', async () => {
  const needsApproval = { policy: { deciders: { roles: ['finance'] }, notRequester: true } } as const;
  const { runs, people, ask, away } = clocked({ needsApproval });
  const { id } = await ask();
  await people.absent('asker', away);
  await expect(runs.decide(id, 'approve', { by: 'dan', onBehalfOf: 'asker' })).rejects.toMatchObject(notAllowed);
  await people.absent('anna', { ...away, delegate: 'asker' });
  await expect(runs.decide(id, 'approve', { by: 'asker', onBehalfOf: 'anna' })).rejects.toMatchObject(notAllowed);
});

test('a directory says who stands in, also for the people that a policy names', async () => {
  class Directory {
    readonly #delegates = new Map([['anna', 'dan']]);
    delegateOf(person: string) {
      return this.#delegates.get(person);
    }
  }
  const needsApproval = { policy: { deciders: { people: ['anna'] } } };
  const { runs, ask } = clocked({ needsApproval, people: new Directory() });
  const { id } = await ask();
  expect(await runs.decide(id, 'approve', { by: 'dan' })).toMatchObject({
    status: 'settled',
    votes: [{ by: 'dan', onBehalfOf: 'anna' }],
  });
});

test('the vote of a delegate gives no grant: they decide for the absent person only while they stand in', async () => {
  const needsApproval = { policy: { deciders: { people: ['anna'] } } };
  const { ai, runs, people, ask, away, paid } = clocked({ needsApproval });
  const { id } = await ask();
  await people.absent('anna', away);
  const grant = { uses: 5, expiresAt: START + 1_000 * HOUR };
  await expect(runs.decide(id, 'approve', { by: 'dan', grant })).rejects.toMatchObject(notAllowed);
  await runs.wait('run');
  expect(paid).toHaveLength(1);
  expect((await ai.grants.list()).items).toEqual([]);
});

test('a request that anyone may decide records both people too', async () => {
  const { runs, people, ask, away, types } = clocked({ needsApproval: () => ({ message: 'Pay?' }) });
  const { id } = await ask();
  await people.absent('anna', away);
  await runs.decide(id, 'approve', { by: 'dan', onBehalfOf: 'anna' });
  expect(await types()).toContain('vote-cast');
  expect((await runs.request(id)).settlement).toMatchObject({ by: 'dan', votes: [{ onBehalfOf: 'anna' }] });
});

test.each([
  ['memory', async (now: () => number) => memoryStore({ now })],
  ['SQLite', async (now: () => number) => sqliteStore({ path: ':memory:', now })],
  ...(postgres ? [['PostgreSQL', async () => postgresStore(await postgres.freshDatabase())] as const] : []),
] as const)('absences are kept by the store and end by its clock, on %s', async (_, open) => {
  // PostgreSQL has its own clock, for which the test waits.
  let passed = 0;
  const store = await open(() => Date.now() + passed);
  const { ai } = openBank({ store, people });
  const now = await store.now();
  const period = { delegate: 'dan', from: new Date(now - HOUR), until: now + AWHILE, by: 'admin' };
  const absence = await ai.people.absent('anna', period);
  const named = { from: now - HOUR, until: now + AWHILE, by: 'admin', how: 'administrator' };
  expect(absence).toEqual({ person: 'anna', delegate: 'dan', ...named });
  await ai.people.absent('ben', { delegate: 'cara', until: now + HOUR, by: 'ben' });
  expect(await ai.people.absences({ delegate: 'dan' })).toEqual([absence]);
  expect(await ai.people.absenceOf('ben')).toMatchObject({ delegate: 'cara', by: 'ben' });
  passed = AWHILE;
  while ((await store.now()) < now + AWHILE) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await ai.people.delegateOf('anna')).toBe(undefined);
  expect((await ai.people.absences()).map(({ person }) => person)).toEqual(['ben']);
  await store.close();
});

const DAY = 24 * HOUR;
const LATER = START + DAY;

test.each([
  ['anna', { delegate: 'anna', until: LATER }],
  ['anna', { delegate: 'dan', until: 1_000 }],
  ['anna', { delegate: 'dan', from: START + 2 * DAY, until: LATER }],
  ['anna', { delegate: 'dan', until: new Date(Number.NaN) }],
  ['anna', { delegate: '', until: LATER }],
  ['', { delegate: 'dan', until: LATER, by: 'admin' }],
  ['anna', { delegate: 'dan' }],
  ['anna', { delegate: 'dan', until: LATER, by: null }],
  ['anna', { delegate: 'dan', until: START + 91 * DAY }],
  ['anna', { delegate: 'mallory@elsewhere.example', until: LATER }],
])('an absence that makes no sense is refused: %s %j', async (person, options) => {
  const { people } = clocked();
  const absent = people.absent(person, { by: 'anna', ...options } as never);
  await expect(absent).rejects.toMatchObject({ code: 'invalid-options' });
});

describe('an absence gives nobody more than the absent person allows', () => {
  const SIGNED = { deciders: { people: ['anna'] }, signed: 'passkey' } as const;
  const approve = { type: 'approve' } as const;
  const signed = (key: ReturnType<typeof softKey>, { id, digest }: RunRequest, onBehalfOf?: string) =>
    key.sign(signingChallenge({ requestId: id, digest, decision: approve, by: 'dan', onBehalfOf }));

  async function withKeys(policy: object) {
    const bank = clocked({ needsApproval: { policy } as never });
    const [annas, dans] = [softKey(), softKey()];
    await bank.runs.passkeys.add('anna', annas.passkey);
    await bank.runs.passkeys.add('dan', dans.passkey);
    const period = { delegate: 'dan', until: START + 2 * HOUR };
    const statement = { person: 'anna', ...period };
    const signature: Json = annas.sign(absenceChallenge(statement));
    return { ...bank, annas, dans, period, statement, signature };
  }

  test('a delegate signs for nobody, unless the policy admits delegates', async () => {
    const { runs, ask, dans, people, period, paid } = await withKeys(SIGNED);
    const card = await ask();
    await people.absent('anna', { ...period, by: 'admin' });
    for (const onBehalfOf of ['anna', undefined]) {
      const options = { by: 'dan', signature: signed(dans, card, onBehalfOf), ...(onBehalfOf && { onBehalfOf }) };
      await expect(runs.decide(card, 'approve', options)).rejects.toMatchObject(notAllowed);
    }
    expect(paid).toEqual([]);
  });

  test('where the policy admits delegates, the vote says who named the delegate, and how', async () => {
    const { runs, ask, dans, people, period, signature, paid } = await withKeys({ ...SIGNED, delegates: true });
    const card = await ask();
    await people.absent('anna', { ...period, by: 'anna', signature });
    const vote = { by: 'dan', onBehalfOf: 'anna', delegation: { by: 'anna', how: 'passkey' } };
    const decided = await runs.decide(card, 'approve', {
      by: 'dan',
      onBehalfOf: 'anna',
      signature: signed(dans, card, 'anna'),
    });
    expect(decided).toMatchObject({ status: 'settled', votes: [vote] });
    await runs.wait('run');
    expect(paid).toHaveLength(1);
    expect(await runs.verify('run')).toMatchObject({ ok: true });
  });

  test('a person who ever had a passkey names a delegate only with it', async () => {
    const { people, runs, period, statement, annas, dans, signature } = await withKeys(SIGNED);
    const set = (given?: Json) => people.absent('anna', { ...period, by: 'anna', ...(given && { signature: given }) });
    await expect(set()).rejects.toMatchObject({ code: 'signature-required' });
    const invalid = { code: 'invalid-signature' };
    for (const wrong of [
      dans.sign(absenceChallenge(statement)),
      annas.sign(absenceChallenge({ ...statement, delegate: 'eve' })),
      annas.sign(absenceChallenge({ ...statement, until: statement.until + 1 })),
      annas.sign(absenceChallenge({ ...statement, from: START + HOUR })),
      annas.sign(absenceChallenge({ ...statement, person: 'ben' })),
    ])
      await expect(set(wrong)).rejects.toMatchObject(invalid);
    await runs.passkeys.revoke('anna', annas.passkey.id);
    await expect(set()).rejects.toMatchObject({ code: 'signature-required' });
    await expect(set(signature)).rejects.toMatchObject(invalid);
    expect(await people.absences()).toEqual([]);
  });

  test('nobody makes themselves the delegate of another person', async () => {
    const { people, away } = clocked();
    await expect(people.absent('anna', { ...away, by: 'dan' })).rejects.toMatchObject(notAllowed);
    expect(await people.absences()).toEqual([]);
  });

  test('people who have signed in can be delegates, without a directory', async () => {
    const { people, away } = clocked({ people: {} });
    await expect(people.absent('anna', away)).rejects.toMatchObject({ code: 'invalid-options' });
    await people.signedIn('dan');
    expect(await people.absent('anna', away)).toMatchObject({ delegate: 'dan', how: 'session' });
  });
});

describe('assignment', () => {
  test('a request is assigned and reassigned to people who may decide it, and others still may', async () => {
    const { runs, ask, types, paid } = clocked({ needsApproval: { policy: { deciders: { roles: ['finance'] } } } });
    const { id } = await ask();
    expect(await runs.assign(id, { to: 'anna', by: 'ben' })).toMatchObject({ progress: { assignedTo: 'anna' } });
    expect(await runs.assign(id, { to: 'ben', by: 'anna' })).toMatchObject({ progress: { assignedTo: 'ben' } });
    const before = await types();
    await runs.assign(id, { to: 'ben', by: 'cara' });
    expect(await types()).toEqual(before);
    expect(before.slice(-2)).toEqual(['request-assigned', 'request-assigned']);
    await expect(runs.assign(id, { to: 'dan', by: 'anna' })).rejects.toMatchObject(notAllowed);
    expect(await runs.assign(id, { to: null, by: 'anna' })).toMatchObject({ progress: { assignedTo: null } });
    await runs.decide(id, 'approve', { by: 'cara' });
    await runs.wait('run');
    expect(paid).toHaveLength(1);
    await expect(runs.assign(id, { to: 'anna' })).rejects.toMatchObject({ code: 'already-decided' });
    await expect(runs.assign('run:none', { to: 'anna' })).rejects.toMatchObject({ code: 'unknown-request' });
    await expect(runs.assign(id, {} as never)).rejects.toMatchObject({ code: 'invalid-options' });
  });

  test('a delegate can be assigned, and many assignments at once all end in one', async () => {
    const { runs, people, ask, away } = clocked({ needsApproval: { policy: TWO } });
    const { id } = await ask();
    await people.absent('anna', away);
    await runs.assign(id, { to: 'dan', by: 'ben' });
    const names = ['anna', 'ben', 'cara', 'dan', null];
    await Promise.all(names.map((to) => runs.assign(id, { to, by: 'ben' })));
    const { progress } = await runs.request(id);
    expect(names).toContain(progress?.assignedTo ?? null);
    expect(await runs.verify('run')).toMatchObject({ ok: true });
  });
});

test('people to whom a request was escalated count in every group, also if no worker has recorded it', async () => {
  const policy = { ...TWO, escalate: [{ after: '1h', to: { people: ['dan', 'eve'] } }] } as const;
  const { runs, ask, pass, paid } = clocked({ needsApproval: { policy } });
  const { id } = await ask();
  await expect(runs.decide(id, 'approve', { by: 'dan' })).rejects.toMatchObject(notAllowed);
  pass(HOUR);
  expect(await runs.decide(id, 'approve', { by: 'dan' })).toMatchObject({ status: 'waiting', missing: [{ count: 1 }] });
  expect(await runs.decide(id, 'approve', { by: 'eve' })).toMatchObject({ status: 'settled' });
  await runs.wait('run');
  expect(paid).toHaveLength(1);
});
