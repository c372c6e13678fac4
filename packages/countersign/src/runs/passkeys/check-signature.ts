// Checks the signature of a decision or an absence before it is recorded: the key, its owner, and what it signed.

import type { Vote } from '../../core/authority/policy.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { Passkeys } from './passkeys.ts';
import {
  absenceChallenge,
  assertionProblem,
  type PasskeySignature,
  type SignedAbsence,
  type SignedDecision,
  signatureProblem,
} from './signature.ts';

/**
 * Returns the signature to record, with the public key of the enrolled passkey. `given` has the assertion of the browser, and
 * the origin and the relying party that the caller expects. `earlier` are the votes on the request so far.
 */
export async function checkedSignature(
  passkeys: Passkeys,
  given: Json,
  decided: Omit<SignedDecision, 'nonce' | 'by' | 'digest'> & {
    readonly by: string | null;
    readonly digest: string | undefined;
  },
  earlier: readonly Vote[],
): Promise<PasskeySignature> {
  const refuse = (why: string) => {
    const { requestId } = decided;
    const message = `The signature of the decision on ${requestId} is not valid: ${why}. Nothing was recorded.`;
    return new UsageError('invalid-signature', { status: 403, requestId }, message);
  };
  const { by, digest } = decided;
  if (by === null || digest === undefined)
    throw refuse('a signed decision names its person and the digest of its card');
  const signature = await signatureOf(passkeys, given, by, refuse);
  const problem = await signatureProblem(signature, { ...decided, by, digest });
  if (problem !== undefined) throw refuse(problem.replace(/\.$/, ''));
  const used = earlier.find((vote) => isSameAssertion(vote.signature, signature.response));
  // The same vote again, after a lost answer, is fine as long as it stands.
  if (used && used !== earlier.findLast((vote) => vote.by === by)) throw refuse('it was used before');
  return signature;
}

/** Throws unless the absent person signed exactly this absence with a passkey of theirs. */
export async function checkSignedAbsence(passkeys: Passkeys, given: Json, absence: SignedAbsence): Promise<void> {
  const refuse = (why: string) => {
    const message = `The signature of the absence of ${absence.person} is not valid: ${why}. Nothing was recorded.`;
    return new UsageError('invalid-signature', { status: 403, person: absence.person }, message);
  };
  const signature = await signatureOf(passkeys, given, absence.person, refuse);
  const problem = await assertionProblem(signature, (nonce) => [absenceChallenge({ ...absence, nonce })]);
  if (problem !== undefined) throw refuse(problem.replace(/\.$/, ''));
}

/** The signature with the public key of the passkey, which must be one of this person that is not revoked. */
async function signatureOf(
  passkeys: Passkeys,
  given: Json,
  by: string,
  refuse: (why: string) => UsageError,
): Promise<PasskeySignature> {
  if (!isObject(given) || given.type !== 'passkey' || !isObject(given.response))
    throw refuse('it is not a signature of a passkey');
  const { response, origin, rpId, nonce } = given as unknown as PasskeySignature;
  const { id } = response as { readonly id?: unknown };
  const key = (await passkeys.list(by)).find((known) => known.id === id);
  if (!key) throw refuse(`${by} has not enrolled this passkey`);
  if (key.revokedAt !== null) throw refuse('this passkey was revoked');
  const { id: credentialId, publicKey } = key;
  return { type: 'passkey', credentialId, publicKey, response, origin, rpId, ...(nonce !== undefined && { nonce }) };
}

/** The same assertion again: the person repeats a recorded vote. */
function isSameAssertion(signature: Json | undefined, response: Json): boolean {
  return isObject(signature) && assertionIn(signature.response) === assertionIn(response);
}

function assertionIn(response: unknown): unknown {
  const inner = isObject(response) ? response.response : undefined;
  return isObject(inner) ? inner.signature : undefined;
}
