// Schemas of passkeys and of what browsers return for them.
import { z } from '@hono/zod-openapi';

const base64url = z
  .string()
  .regex(/^[\w-]+$/, 'must be base64url')
  .max(20_000);

/** What `startAuthentication` of @simplewebauthn/browser returns. */
export const AssertionShape = z
  .looseObject({
    id: base64url,
    rawId: base64url,
    type: z.literal('public-key'),
    response: z.looseObject({ clientDataJSON: base64url, authenticatorData: base64url, signature: base64url }),
  })
  .openapi('PasskeyAssertion');

/** What `startRegistration` of @simplewebauthn/browser returns. */
const RegistrationShape = z.looseObject({
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key'),
  response: z.looseObject({ clientDataJSON: base64url, attestationObject: base64url }),
});

const optionsShape = z.looseObject({ challenge: z.string() });

export const passkeyNameShape = z.string().trim().min(1).max(100);

export const PasskeyShape = z
  .object({
    id: z.string(),
    name: z.string(),
    createdAt: z.number(),
    revokedAt: z.number().nullable().openapi({ description: 'A revoked key cannot sign new decisions.' }),
  })
  .openapi('Passkey');

export type PasskeyInfo = Readonly<z.infer<typeof PasskeyShape>>;

export const EnrolmentShape = z
  .object({
    options: optionsShape.openapi({ description: 'For `startRegistration`.' }),
    confirm: optionsShape.nullable().openapi({
      description: 'For `startAuthentication`: a person with a passkey confirms a new one with it. Null for the first.',
    }),
  })
  .openapi('PasskeyEnrolment');

export const EnrolShape = z
  .strictObject({ name: passkeyNameShape, response: RegistrationShape, confirmation: AssertionShape.optional() })
  .openapi('PasskeyEnrol');

export const ChallengeShape = z
  .object({ options: optionsShape.openapi({ description: 'For `startAuthentication`.' }), nonce: z.string() })
  .openapi('SigningChallenge');

/** The signature of a decision: the assertion, and the nonce that its challenge came with. */
export const SignatureShape = z
  .strictObject({ response: AssertionShape, nonce: z.string().max(200).optional() })
  .openapi('DecisionSignature');
