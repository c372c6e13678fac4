// A person who was removed: their votes on requests that wait count no longer, and they cannot vote again.
import { evidenceText, memoryStore, type Store, verifyEvidence } from 'countersign';
import { timelineOf } from 'countersign/request';
import { internalsOf } from 'countersign/store';
import { describe, expect, test } from 'vitest';
import { openBank, PLACES, rolesOf, TWO } from './bank.ts';

const REMOVED = { of: 'anna', by: 'root', reason: 'has left' };

describe.each(PLACES)('a removed person (%s)', (place) => {
  test('loses the votes on requests that wait, and the record says so', async () => {
    const { ai, runs, ask, paid, types } = openBank({ place, needsApproval: { policy: TWO }, people: { rolesOf } });
    const { id } = await ask();
    await runs.decide(id, 'approve', { by: 'anna' });
    await ai.people.remove('anna', { by: 'root', reason: 'has left' });
    expect(await internalsOf(runs).withdrawVotes(id, REMOVED)).toBe(true);
    expect(await internalsOf(runs).withdrawVotes(id, REMOVED)).toBe(false);
    expect((await runs.request(id)).progress).toMatchObject({ votes: [], missing: [{ count: 2 }] });
    expect((await types()).filter((type) => type === 'votes-withdrawn')).toHaveLength(1);
    const entries = timelineOf((await runs.recorded('run')) as Parameters<typeof timelineOf>[0]);
    expect(entries.find(({ type }) => type === 'votes-withdrawn')).toMatchObject(REMOVED);

    expect(await runs.decide(id, 'approve', { by: 'ben' })).toMatchObject({ status: 'waiting' });
    await expect(runs.decide(id, 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'not-allowed' });
    expect(paid).toEqual([]);
    const settled = await runs.decide(id, 'approve', { by: 'cara' });
    expect(settled).toMatchObject({ status: 'settled', votes: [{ by: 'ben' }, { by: 'cara' }] });
    await runs.wait('run');
    expect(paid).toHaveLength(1);
    expect(await runs.verify('run')).toMatchObject({ ok: true });
    expect(await verifyEvidence(evidenceText(await runs.evidence('run')))).toMatchObject({ ok: true });
  });
});

test('a vote that the withdrawn one had replaced does not count again', async () => {
  const { ai, runs, ask } = openBank({ needsApproval: { policy: TWO }, people: { rolesOf } });
  const { id } = await ask();
  await ai.people.signedIn('anna');
  await ai.people.absent('cara', { delegate: 'anna', until: Date.now() + 60_000, by: 'root' });
  // For herself, then for Cara, which replaces it.
  await runs.decide(id, 'approve', { by: 'anna' });
  await runs.decide(id, 'approve', { by: 'anna', onBehalfOf: 'cara' });
  await internalsOf(runs).withdrawVotes(id, { of: 'cara', by: 'root' });
  expect((await runs.request(id)).progress?.votes).toEqual([]);
  expect(await runs.decide(id, 'approve', { by: 'ben' })).toMatchObject({ status: 'waiting' });
});

test('a removed person is no delegate and has none, until they are restored', async () => {
  const { ai } = openBank({ people: { rolesOf } });
  const away = { until: Date.now() + 60_000, by: 'root' };
  await ai.people.absent('ben', { ...away, delegate: 'anna' });
  await ai.people.absent('anna', { ...away, delegate: 'cara' });
  const removal = await ai.people.remove('anna', { by: 'root' });
  expect(removal).toMatchObject({ person: 'anna', by: 'root' });
  expect(await ai.people.absences()).toEqual([]);
  for (const [person, delegate] of [
    ['ben', 'anna'],
    ['anna', 'cara'],
  ] as const)
    await expect(ai.people.absent(person, { ...away, delegate })).rejects.toMatchObject({ code: 'not-allowed' });
  await expect(ai.people.actsFor('anna')).rejects.toMatchObject({ code: 'not-allowed' });
  // The first removal stays.
  expect(await ai.people.remove('anna', { by: 'other', reason: 'again' })).toEqual(removal);
  expect(await ai.people.removals()).toEqual([removal]);
  expect(await ai.people.restore('anna')).toBe(true);
  expect(await ai.people.restore('anna')).toBe(false);
  expect(await ai.people.actsFor('anna')).toEqual([]);
  await expect(ai.people.remove('', { by: 'root' })).rejects.toMatchObject({ code: 'invalid-options' });
  await expect(ai.people.remove('anna', {} as never)).rejects.toMatchObject({ code: 'invalid-options' });
});

/** The store removes Anna just before it records an append with this event. */
function removingBefore(store: Store, type: string, remove: () => Promise<unknown>): Store {
  const append: Store['append'] = async (given) => {
    if (given.events.some((event) => event.type === type)) await remove();
    return store.append(given);
  };
  return { ...store, append };
}

test('a vote that is being recorded while its voter is removed counts no longer', async () => {
  const store = memoryStore();
  const office = (own: Store) => openBank({ store: own, needsApproval: { policy: TWO }, people: { rolesOf } });
  const other = office(store);
  const remove = () => other.ai.people.remove('anna', { by: 'root' });
  const { runs, ask, types } = office(removingBefore(store, 'vote-cast', remove));
  const { id } = await ask();
  await expect(runs.decide(id, 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'not-allowed' });
  expect((await runs.request(id)).progress).toMatchObject({ votes: [], missing: [{ count: 2 }] });
  expect(await types()).toContain('votes-withdrawn');
});

test('a removed person lifts no freeze, and their votes to lift one count no longer', async () => {
  const { ai } = openBank({
    people: { rolesOf },
    freezes: { lift: { quorum: [{ of: { roles: ['finance'] }, count: 2 }] } },
  });
  const { id } = await ai.freezes.freeze({ reason: 'Stop.' }, { by: 'root' });
  expect(await ai.freezes.lift(id, { by: 'anna' })).toMatchObject({ lifted: null, votes: [{ by: 'anna' }] });
  await ai.people.remove('anna', { by: 'root' });
  expect((await ai.freezes.list())[0]).toMatchObject({ votes: [], missing: [{ count: 2 }] });
  expect(await ai.freezes.lift(id, { by: 'ben' })).toMatchObject({ lifted: null });
  await expect(ai.freezes.lift(id, { by: 'anna' })).rejects.toMatchObject({ code: 'not-allowed' });
  expect(await ai.freezes.lift(id, { by: 'cara' })).toMatchObject({ lifted: { by: 'cara' } });
});
