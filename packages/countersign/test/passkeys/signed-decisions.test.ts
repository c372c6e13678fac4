// Decisions that are signed with a passkey: checked when they are recorded, by `runs.verify`, and in the evidence.
import { evidenceText, type Json, type RunRequest, verifyEvidence } from 'countersign';
import { signingChallenge } from 'countersign/store';
import { expect, test } from 'vitest';
import { contentHash } from '../../src/runs/evidence/evidence.ts';
import { chainStart, linkAll } from '../../src/runs/port/chain.ts';
import { openBank, PLACES, type Place } from '../policies/bank.ts';
import { softKey } from './soft-key.ts';

const SIGNED = { policy: { quorum: [{ of: { roles: ['finance'] }, count: 2 }], signed: 'passkey' } } as const;
type Key = ReturnType<typeof softKey>;

async function signedBank(place: Place = 'root') {
  const bank = openBank({ needsApproval: SIGNED, place });
  const [annas, bens] = [softKey(), softKey()];
  await bank.runs.passkeys.add('anna', annas.passkey);
  await bank.runs.passkeys.add('ben', bens.passkey);
  return { ...bank, annas, bens };
}

const sign = (key: Key, by: string, { id, digest }: RunRequest, decision: Json) =>
  key.sign(signingChallenge({ requestId: id, digest, decision, by }));

test.each(PLACES)('two signed votes settle, run once, and verify without the store (%s)', async (place) => {
  const { ask, runs, paid, annas, bens } = await signedBank(place);
  const card = await ask();
  const approve = { type: 'approve' };
  const first = await runs.decide(card, 'approve', { by: 'anna', signature: sign(annas, 'anna', card, approve) });
  expect(first.status).toBe('waiting');
  const second = await runs.decide(card, 'approve', { by: 'ben', signature: sign(bens, 'ben', card, approve) });
  expect(second.status).toBe('settled');
  await runs.settled();
  expect(paid).toEqual([{ amount: 10, currency: 'EUR' }]);
  expect(await runs.verify('run')).toMatchObject({ ok: true });
  const evidence = await runs.evidence('run');
  expect((await verifyEvidence(evidenceText(evidence))).problems).toEqual([]);
  expect(evidence.requests[0]?.votes.map(({ vote }) => vote)).toMatchObject([
    { by: 'anna', signature: { credentialId: annas.passkey.id, publicKey: annas.passkey.publicKey } },
    { by: 'ben', signature: { credentialId: bens.passkey.id } },
  ]);
});

test('what is not signed with an enrolled key for exactly this decision is not recorded', async () => {
  const { ask, runs, paid, annas, bens, types } = await signedBank();
  const card = await ask();
  const before = await types();
  const edited = { type: 'approve', edit: { amount: 5 } };
  const other = { ...card, id: 'run:other' };
  const approvals: readonly (Json | undefined)[] = [
    undefined,
    sign(bens, 'anna', card, { type: 'approve' }),
    sign(softKey(), 'anna', card, { type: 'approve' }),
    sign(annas, 'anna', other, { type: 'approve' }),
    sign(annas, 'anna', { ...card, digest: 'other' }, { type: 'approve' }),
    sign(annas, 'anna', card, { type: 'reject' }),
    sign(annas, 'anna', card, edited),
    sign(annas, 'ben', card, { type: 'approve' }),
  ];
  for (const signature of approvals)
    await expect(
      runs.decide(card, 'approve', { by: 'anna', ...(signature !== undefined && { signature }) }),
    ).rejects.toMatchObject({ details: { status: 403 } });
  await expect(runs.decide(card, 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'signature-required' });
  // A signature of the approval does not carry an edit.
  const signature = sign(annas, 'anna', card, { type: 'approve' });
  await expect(runs.decide(card, edited as never, { by: 'anna', signature })).rejects.toThrow('is not valid');
  await runs.passkeys.revoke('anna', annas.passkey.id);
  await expect(runs.decide(card, 'approve', { by: 'anna', signature })).rejects.toThrow('was revoked');
  expect(await types()).toEqual(before);
  expect(paid).toEqual([]);
});

test('an edit that others must agree to is signed again on its own card', async () => {
  const { ask, pending, runs, paid, annas, bens } = await signedBank();
  const card = await ask();
  const edit = { type: 'approve', edit: { amount: 4, currency: 'EUR' } } as const;
  await runs.decide(card, edit, { by: 'anna', signature: sign(annas, 'anna', card, edit) });
  const next = await pending();
  const old = sign(bens, 'ben', card, { type: 'approve' });
  await expect(runs.decide(next, 'approve', { by: 'ben', signature: old })).rejects.toThrow('is not valid');
  await runs.decide(next, 'approve', { by: 'ben', signature: sign(bens, 'ben', next, { type: 'approve' }) });
  await runs.settled();
  expect(paid).toEqual([{ amount: 4, currency: 'EUR' }]);
  expect((await verifyEvidence(evidenceText(await runs.evidence('run')))).problems).toEqual([]);
});

test('a signature on a question without a policy is checked and recorded too', async () => {
  const { ask, runs } = openBank({ needsApproval: () => ({}) });
  const key = softKey();
  await runs.passkeys.add('anna', key.passkey);
  const card = await ask();
  const wrong = sign(softKey(), 'anna', card, { type: 'approve' });
  await expect(runs.decide(card, 'approve', { by: 'anna', signature: wrong })).rejects.toThrow('is not valid');
  await runs.decide(card, 'approve', { by: 'anna', signature: sign(key, 'anna', card, { type: 'approve' }) });
  await runs.settled();
  const evidence = await runs.evidence('run');
  expect(evidence.requests[0]?.votes).toHaveLength(1);
  expect((await verifyEvidence(evidenceText(evidence))).problems).toEqual([]);
});

test('in a document whose chain was made to fit, signatures and the tally still show a forgery', async () => {
  const { ask, runs, annas, bens } = await signedBank();
  const card = await ask();
  const approve = { type: 'approve' };
  await runs.decide(card, 'approve', { by: 'anna', signature: sign(annas, 'anna', card, approve) });
  await runs.decide(card, 'approve', { by: 'ben', signature: sign(bens, 'ben', card, approve) });
  await runs.settled();
  const { hash: _hash, ...evidence } = await runs.evidence('run');
  const forged = async (change: (events: any[]) => unknown) => {
    const { run, events, ...rest } = structuredClone(evidence) as any;
    change(events);
    const content = {
      ...rest,
      run: { ...run, version: events.length, hash: linkAll(chainStart(run), events) },
      events,
    };
    const { format, ...fields } = content;
    const ordered = {
      format,
      run: fields.run,
      events,
      requests: fields.requests,
      started: fields.started,
      grants: fields.grants,
    };
    const text = evidenceText({ ...ordered, hash: contentHash(ordered) });
    return (await verifyEvidence(text)).problems.map(({ problem }) => problem).join('\n');
  };
  const votes = (events: any[]) => events.filter(({ type }) => type === 'vote-cast');
  expect(await forged((events) => (votes(events)[0].vote.by = 'cara'))).toContain('does not verify');
  expect(
    await forged((events) => (votes(events)[0].vote.decision = { type: 'approve', edit: { amount: 1 } })),
  ).toContain('does not verify');
  expect(await forged((events) => delete votes(events)[0].vote.signature)).toContain('signed with a passkey');
  expect(await forged((events) => events.splice(events.indexOf(votes(events)[0]), 1))).toContain('votes are missing');
  expect(await forged((events) => (votes(events)[1].vote.roles = ['intern']))).toContain('does not count');
  const decided = (events: any[]) => events.find(({ type }) => type === 'decision-made');
  expect(await forged((events) => (decided(events).decision.by = 'cara'))).toContain('decided otherwise');
  expect(await forged((events) => (decided(events).decision.input = { amount: 1 }))).toContain('decided otherwise');
  expect(await forged(() => undefined)).toBe('');
});
