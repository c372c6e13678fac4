// Checks the signature of a decision before it is recorded: the key, its owner, and the signed decision.

import type { Vote } from '../../core/authority/policy.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { Passkeys } from './passkeys.ts';
import { type PasskeySignature, type SignedDecision, signatureProblem } from './signature.ts';

/**
 * Returns the signature to record, with the public key of the enrolled passkey. `given` has the assertion of the browser, and
 * the origin and the relying party that the caller expects. `earlier` are the votes on the question so far.
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
    const { interruptId } = decided;
    const message = `The signature of the decision on ${interruptId} is not valid: ${why}. Nothing was recorded.`;
    return new UsageError('invalid-signature', { status: 403, interruptId }, message);
  };
  const { by, digest } = decided;
  if (by === null || digest === undefined)
    throw refuse('a signed decision names its person and the digest of its card');
  if (!isObject(given) || given.type !== 'passkey' || !isObject(given.response))
    throw refuse('it is not a signature of a passkey');
  const { response, origin, rpId, nonce } = given as unknown as PasskeySignature;
  const { id } = response as { readonly id?: unknown };
  const key = (await passkeys.list(by)).find((known) => known.id === id);
  if (!key) throw refuse(`${by} has not enrolled this passkey`);
  if (key.revokedAt !== null) throw refuse('this passkey was revoked');
  const signature = {
    type: 'passkey',
    credentialId: key.id,
    publicKey: key.publicKey,
    response,
    origin,
    rpId,
    ...(nonce !== undefined && { nonce }),
  } as const;
  const problem = await signatureProblem(signature, { ...decided, by, digest });
  if (problem !== undefined) throw refuse(problem.replace(/\.$/, ''));
  const used = earlier.find((vote) => isSameAssertion(vote.signature, response));
  // The same vote again, after a lost answer, is fine as long as it stands.
  if (used && used !== earlier.findLast((vote) => vote.by === by)) throw refuse('it was used before');
  return signature;
}

/** The same assertion again: the person repeats a recorded vote. */
function isSameAssertion(signature: Json | undefined, response: Json): boolean {
  return isObject(signature) && assertionIn(signature.response) === assertionIn(response);
}

function assertionIn(response: unknown): unknown {
  const inner = isObject(response) ? response.response : undefined;
  return isObject(inner) ? inner.signature : undefined;
}
