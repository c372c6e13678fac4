// Signs a decision with a passkey, where the policy of the request asks for it.
import type { Decision } from '@countersign/react';
import { type PublicKeyCredentialRequestOptionsJSON, startAuthentication } from '@simplewebauthn/browser';
import { Refusal, request } from '../api/request.ts';

/** The server wants this decision signed. */
export const isUnsigned = (error: unknown): boolean => error instanceof Refusal && error.code === 'signature-required';

/** Asks the person for their passkey. The challenge is good for exactly this decision on exactly this card. */
export async function signDecision(card: { readonly id: string; readonly digest: string }, decision: Decision) {
  const { options, nonce } = await request<{ options: PublicKeyCredentialRequestOptionsJSON; nonce: string }>(
    `interrupts/${encodeURIComponent(card.id)}/challenge`,
    { method: 'POST', body: { decision, digest: card.digest } },
  );
  return { response: await startAuthentication({ optionsJSON: options }), nonce };
}
