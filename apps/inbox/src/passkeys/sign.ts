// Signs a decision with a passkey, where the policy of the request asks for it, and an absence of a person who has one.
import type { Decision } from '@countersign/react';
import { type PublicKeyCredentialRequestOptionsJSON, startAuthentication } from '@simplewebauthn/browser';
import { Refusal, request } from '../api/request.ts';

/** The server wants this signed. */
export const isUnsigned = (error: unknown): boolean => error instanceof Refusal && error.code === 'signature-required';

/** Asks the person for their passkey. The challenge is good for exactly this decision on exactly this card. */
export async function signDecision(card: { readonly id: string; readonly digest: string }, decision: Decision) {
  return sign(`requests/${encodeURIComponent(card.id)}/challenge`, { decision, digest: card.digest });
}

/** Asks the person for their passkey. The challenge is good once, for exactly this period and delegate. */
export const signAbsence = (period: object) => sign('me/absence/challenge', period);

async function sign(path: string, body: object) {
  const { options, nonce } = await request<{ options: PublicKeyCredentialRequestOptionsJSON; nonce: string }>(path, {
    method: 'POST',
    body,
  });
  return { response: await startAuthentication({ optionsJSON: options }), nonce };
}
