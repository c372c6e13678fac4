// What passkeys sign: exactly one decision of one person on exactly one card, or exactly one absence of one person.
import { hash } from 'node:crypto';
import { messageOf, UsageError } from '../../core/errors.ts';
import { canonicalJson, isObject, type Json } from '../../core/json.ts';

/** What a signature covers: this decision of this person on this card. */
export type SignedDecision = {
  /** The public id of the request. */
  readonly requestId: string;
  /** The digest of the card that the person saw. It covers the input and everything else on the card. */
  readonly digest: string;
  /** The recorded form of the decision, such as `{ type: 'approve', edit: … }`. */
  readonly decision: Json;
  readonly by: string;
  /** The person whom they stand in for. */
  readonly onBehalfOf?: string | undefined;
  /** Any text. With a new one each time, the signature of an earlier decision cannot be used again. */
  readonly nonce?: string | undefined;
};

/** The signature of a recorded vote. It carries the public key, so it can be checked after the key was revoked. */
export type PasskeySignature = {
  readonly type: 'passkey';
  readonly credentialId: string;
  /** The COSE public key, in base64url. */
  readonly publicKey: string;
  /** The assertion of the browser: `AuthenticationResponseJSON`. */
  readonly response: Json;
  readonly origin: string;
  readonly rpId: string;
  readonly nonce?: string;
};

/** The challenge that the passkey signs: the SHA-256 of the decision, in base64url. */
export function signingChallenge(decided: SignedDecision): string {
  const { requestId, digest, decision, by, onBehalfOf = null, nonce = null } = decided;
  const signed = { countersign: 'decision/1', requestId, digest, decision, by, onBehalfOf, nonce };
  return hash('sha256', canonicalJson(signed), 'base64url');
}

/** What a person signs when they name a delegate. */
export type SignedAbsence = {
  readonly person: string;
  readonly delegate: string;
  /** Left out if the period begins at once. */
  readonly from?: number | null | undefined;
  readonly until: number;
  /** Any text. With a new one each time, an earlier signature cannot be used again. */
  readonly nonce?: string | null | undefined;
};

/** The challenge that the passkey of the absent person signs: the SHA-256 of the absence, in base64url. */
export function absenceChallenge({ person, delegate, from = null, until, nonce = null }: SignedAbsence): string {
  const signed = { countersign: 'absence/1', person, delegate, from, until, nonce };
  return hash('sha256', canonicalJson(signed), 'base64url');
}

/** Why the signature does not show that this person made this decision; undefined if it does. Needs no store. */
export async function signatureProblem(
  signature: unknown,
  decided: Omit<SignedDecision, 'nonce'>,
): Promise<string | undefined> {
  // The engine may have found out later whom the person stands in for.
  return assertionProblem(signature, (nonce) =>
    [decided.onBehalfOf, undefined].map((onBehalfOf) => signingChallenge({ ...decided, onBehalfOf, nonce })),
  );
}

/** Why the passkey did not sign one of these challenges; undefined if it did. Needs no store. */
export async function assertionProblem(
  signature: unknown,
  challengesFor: (nonce: string | undefined) => readonly string[],
): Promise<string | undefined> {
  if (!isSignature(signature)) return 'it is not a signature of a passkey';
  const { response, origin, rpId, nonce, credentialId, publicKey } = signature;
  const challenges = challengesFor(nonce);
  const { verifyAuthenticationResponse } = await loadLibrary();
  try {
    const { verified } = await verifyAuthenticationResponse({
      response: response as never,
      expectedChallenge: (challenge) => challenges.includes(challenge),
      expectedOrigin: origin,
      expectedRPID: rpId,
      credential: { id: credentialId, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: 0 },
      requireUserVerification: true,
    });
    return verified ? undefined : 'the key did not make it';
  } catch (error) {
    return messageOf(error);
  }
}

export function isSignature(value: unknown): value is PasskeySignature {
  if (!isObject(value) || value.type !== 'passkey' || !isObject(value.response)) return false;
  const { credentialId, publicKey, origin, rpId, nonce = '' } = value;
  return [credentialId, publicKey, origin, rpId, nonce].every((field) => typeof field === 'string');
}

/** An optional peer: only signed decisions need it. */
async function loadLibrary(): Promise<typeof import('@simplewebauthn/server')> {
  try {
    return await import('@simplewebauthn/server');
  } catch (cause) {
    const message =
      'Signed decisions need the package @simplewebauthn/server. Install it: npm install @simplewebauthn/server';
    throw new UsageError('invalid-signature', { missing: '@simplewebauthn/server' }, message, { cause });
  }
}
