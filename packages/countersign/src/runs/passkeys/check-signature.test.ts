// A signature is accepted for exactly one decision of one person on one card, made with a key that they have enrolled.
import { beforeEach, expect, test } from 'vitest';
import { softKey } from '../../../test/passkeys/soft-key.ts';
import { memoryStore } from '../../stores/memory/memory.ts';
import { checkedSignature } from './check-signature.ts';
import { Passkeys } from './passkeys.ts';
import { type PasskeySignature, type SignedDecision, signatureProblem, signingChallenge } from './signature.ts';

const DECIDED = {
  requestId: 'run:call',
  digest: 'digest',
  decision: { type: 'approve', edit: { amount: 5 } },
  by: 'anna',
} satisfies SignedDecision;

const annas = softKey();
const bens = softKey();
let passkeys: Passkeys;

beforeEach(async () => {
  const store = memoryStore();
  passkeys = new Passkeys(store.notes, () => store.now());
  await passkeys.add('anna', annas.passkey);
  await passkeys.add('ben', bens.passkey);
});

const signed = (decided: SignedDecision = DECIDED) =>
  annas.sign(signingChallenge(decided), decided.nonce === undefined ? {} : { nonce: decided.nonce });
const check = (given: unknown, decided: SignedDecision = DECIDED, earlier: readonly object[] = []) =>
  checkedSignature(passkeys, given as never, decided, earlier as never);

test('the recorded signature has the public key, and verifies without the store', async () => {
  const signature = await check(signed());
  expect(signature).toMatchObject({ credentialId: annas.passkey.id, publicKey: annas.passkey.publicKey });
  expect(await signatureProblem(JSON.parse(JSON.stringify(signature)), DECIDED)).toBeUndefined();
});

test.each([
  ['another question', { requestId: 'run:other' }],
  ['another card', { digest: 'other' }],
  ['other arguments', { decision: { type: 'approve', edit: { amount: 500 } } }],
  ['another decision', { decision: { type: 'reject' } }],
  ['someone else who is absent', { onBehalfOf: 'cid' }],
])('it is not valid for %s', async (_name, other) => {
  const signature = await check(signed({ ...DECIDED, ...other }), { ...DECIDED, ...other });
  await expect(check(signed({ ...DECIDED, ...other }))).rejects.toMatchObject({ code: 'invalid-signature' });
  expect(await signatureProblem(signature, DECIDED)).toBeDefined();
});

test('the key of another person, an unknown key and a revoked key are refused', async () => {
  const challenge = signingChallenge(DECIDED);
  await expect(check(bens.sign(challenge))).rejects.toThrow('anna has not enrolled this passkey');
  await expect(check(softKey().sign(challenge))).rejects.toThrow('anna has not enrolled this passkey');
  const signature = await check(signed());
  await passkeys.revoke('anna', annas.passkey.id);
  await expect(check(signed())).rejects.toThrow('this passkey was revoked');
  // What it signed before still verifies.
  expect(await signatureProblem(signature, DECIDED)).toBeUndefined();
});

test('another key behind the id of an enrolled one is refused', async () => {
  const forged = bens.sign(signingChallenge(DECIDED)) as unknown as PasskeySignature;
  const { id } = annas.passkey;
  const response = { ...(forged.response as object), id, rawId: id };
  await expect(check({ ...forged, response })).rejects.toMatchObject({ code: 'invalid-signature' });
});

test.each([
  ['another origin', { origin: 'https://evil.example.com' }],
  ['another relying party', { rpId: 'evil.example.com' }],
  ['a person whom the device did not verify', { verified: false }],
])('an assertion for %s is refused', async (_name, options) => {
  await expect(check(annas.sign(signingChallenge(DECIDED), options))).rejects.toMatchObject({
    code: 'invalid-signature',
  });
});

test('an assertion counts again only while it is the last vote of its person', async () => {
  const given = signed();
  const vote = { by: 'anna', decision: DECIDED.decision, signature: await check(given) };
  await expect(check(given, DECIDED, [vote])).resolves.toBeDefined();
  const changed = { by: 'anna', decision: { type: 'reject' } };
  await expect(check(given, DECIDED, [vote, changed])).rejects.toThrow('it was used before');
  const again = { ...DECIDED, nonce: 'second' };
  await expect(check(signed(again), again, [vote, changed])).resolves.toMatchObject({ nonce: 'second' });
});

test('without a person, a digest or an assertion nothing is accepted', async () => {
  for (const decided of [
    { ...DECIDED, by: null },
    { ...DECIDED, digest: undefined },
  ])
    await expect(check(signed(), decided as never)).rejects.toMatchObject({ code: 'invalid-signature' });
  for (const given of [null, 'x', {}, { type: 'passkey' }, { type: 'passkey', response: {} }])
    await expect(check(given)).rejects.toMatchObject({ code: 'invalid-signature' });
});

test('a first key is added only once, at the same moment too', async () => {
  const adds = Array.from({ length: 5 }, () => passkeys.add('cid', softKey().passkey, { first: true }));
  const results = await Promise.allSettled(adds);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await passkeys.list('cid')).toHaveLength(1);
});
