// Passkeys of the caller: /me/passkeys, and the challenge that one of them signs for a decision.
//
// People enrol and revoke their own keys, signed in to a browser or by `identify`, never with an API token. The first key trusts
// that sign-in. An earlier key confirms each later one, so that a stolen session cannot add its own. A person
// without a usable key needs an operator (`countersign passkeys reset`), because revoking must not reopen the first enrolment.
import { hash, randomBytes } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { type Json, UsageError } from 'countersign';
import { type Passkey, signingChallenge } from 'countersign/store';
import { endpoint, json } from '../../http/endpoint.ts';
import type { Caller } from '../../identity/identify.ts';
import type { Person } from '../../identity/person.ts';
import { DecisionShape } from '../../schemas/decision.ts';
import {
  ChallengeShape,
  EnrolmentShape,
  EnrolShape,
  type PasskeyInfo,
  PasskeyShape,
  passkeyNameShape,
} from '../../schemas/passkey.ts';
import { requestIdShape } from '../../schemas/request.ts';
import { decidableRequest } from '../record-decision.ts';
import type { Services } from '../services.ts';

const tag = 'Passkeys';
const ENROLMENTS = 'passkey-enrolments';
const ENROLMENT_MS = 5 * 60_000;
// Ed25519, ES256 and RS256: authenticators support them, and every version of Node verifies them. The default of the library
// probes ML-DSA, which is experimental in Node and prints a warning.
const ALGORITHMS = [-8, -7, -257];
const params = z.object({ passkeyId: z.string().regex(/^[\w-]{1,2000}$/) });

export function passkeyEndpoints(services: Services) {
  const { ai, addressOf } = services;
  const { passkeys, notes } = ai.runs;
  const usable = (person: Person) => usableKeys(services, person);
  const listed = async ({ id }: Person) => json({ items: (await passkeys.list(id)).map(infoOf) });
  const answers = {
    200: { description: 'Every key, revoked ones too.', shape: z.object({ items: z.array(PasskeyShape) }) },
  };

  return [
    endpoint({
      route: 'GET /me/passkeys',
      operationId: 'listPasskeys',
      summary: 'List the passkeys of the caller',
      tag,
      scope: null,
      answers,
      handle: ({ person }) => listed(person),
    }),
    endpoint({
      route: 'POST /me/passkeys/options',
      operationId: 'preparePasskey',
      summary: 'Begin to enrol a passkey',
      description: 'Not with an API token. The answer is valid for five minutes.',
      tag,
      scope: 'decide',
      answers: { 200: { description: 'What the browser needs.', shape: EnrolmentShape } },
      problems: [409],
      handle: async ({ person, proof, request }) => {
        refuseTokens(proof, 'Passkeys belong to people.');
        const { generateRegistrationOptions } = await import('@simplewebauthn/server');
        const all = await passkeys.list(person.id);
        const keys = all.filter(({ revokedAt }) => revokedAt === null);
        if (all.length > 0 && keys.length === 0) throw needsOperator(person);
        const rpId = addressOf(request).hostname;
        const options = await generateRegistrationOptions({
          rpName: 'Countersign',
          rpID: rpId,
          userName: person.id,
          userDisplayName: person.name ?? person.id,
          // The same for each key of a person, and not their id itself.
          userID: new Uint8Array(hash('sha256', `countersign:${person.id}`, 'buffer')),
          attestationType: 'none',
          supportedAlgorithmIDs: ALGORITHMS,
          excludeCredentials: keys.map(({ id }) => ({ id })),
          authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        });
        const expiresAt = (await ai.runs.store.now()) + ENROLMENT_MS;
        await notes.put(ENROLMENTS, person.id, { challenge: options.challenge }, { expiresAt });
        return json({ options, confirm: keys.length === 0 ? null : requestOptions(options.challenge, rpId, keys) });
      },
    }),
    endpoint({
      route: 'POST /me/passkeys',
      operationId: 'addPasskey',
      summary: 'Enrol a passkey',
      description: 'One of the caller’s passkeys confirms the new one, if there are any.',
      tag,
      scope: 'decide',
      body: EnrolShape,
      answers: { 200: { description: 'The enrolled key.', shape: PasskeyShape } },
      problems: [409],
      handle: async ({ person, proof, request, body: { name, response, confirmation } }) => {
        refuseTokens(proof, 'Passkeys belong to people.');
        const begun = await notes.get(ENROLMENTS, person.id);
        // Of several requests with one challenge, only the one that removes it continues.
        if (!begun || !(await notes.remove(ENROLMENTS, person.id))) throw invalid('it was not begun, or took too long');
        const { challenge } = begun.value as { readonly challenge: string };
        const expected = expectedAt(addressOf(request), challenge);
        const all = await passkeys.list(person.id);
        if (all.length > 0) await checkConfirmation(await usable(person), confirmation, expected);
        const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
        const { registrationInfo } = await verifyRegistrationResponse({
          response: response as never,
          ...expected,
          supportedAlgorithmIDs: ALGORITHMS,
        }).catch((error: Error) => {
          throw invalid(error.message);
        });
        if (!registrationInfo) throw invalid('the browser could not be verified');
        const { id, publicKey, transports = [] } = registrationInfo.credential;
        const key = { id, name, publicKey: Buffer.from(publicKey).toString('base64url'), transports };
        return json(infoOf(await passkeys.add(person.id, key, { first: all.length === 0 })));
      },
    }),
    endpoint({
      route: 'POST /me/passkeys/{passkeyId}',
      operationId: 'renamePasskey',
      summary: 'Rename a passkey',
      tag,
      scope: 'decide',
      params,
      body: z.strictObject({ name: passkeyNameShape }),
      answers,
      handle: async ({ person, proof, params: { passkeyId }, body: { name } }) => {
        refuseTokens(proof, 'Passkeys belong to people.');
        await passkeys.rename(person.id, passkeyId, name);
        return listed(person);
      },
    }),
    endpoint({
      route: 'DELETE /me/passkeys/{passkeyId}',
      operationId: 'revokePasskey',
      summary: 'Revoke a passkey',
      description: 'Not with an API token. It cannot sign new decisions. Its earlier signatures still verify.',
      tag,
      scope: 'decide',
      params,
      answers,
      handle: async ({ person, proof, params: { passkeyId } }) => {
        refuseTokens(proof, 'Passkeys belong to people.');
        await passkeys.revoke(person.id, passkeyId);
        return listed(person);
      },
    }),
    endpoint({
      route: 'POST /requests/{requestId}/challenge',
      operationId: 'challengeDecision',
      summary: 'Get the challenge that signs a decision',
      description: 'It is good for exactly this decision of the caller on exactly this card.',
      tag,
      scope: 'decide',
      params: z.object({ requestId: requestIdShape }),
      body: z.strictObject({
        decision: DecisionShape,
        digest: z.string().max(200),
        onBehalfOf: z.string().max(200).optional(),
      }),
      answers: { 200: { description: 'What the browser needs.', shape: ChallengeShape } },
      problems: [409, 422],
      handle: async ({ person, request, params: { requestId }, body: { decision, digest, onBehalfOf } }) => {
        await decidableRequest(services, requestId, person, { decision });
        const keys = await usable(person);
        if (keys.length === 0) throw noPasskey(person);
        const nonce = randomBytes(16).toString('base64url');
        // As the engine records it: a restart without a value continues with true.
        const made = (decision.type === 'restart' ? { resumed: true, ...decision } : decision) as Json;
        const challenge = signingChallenge({ requestId, digest, decision: made, by: person.id, onBehalfOf, nonce });
        return json({ options: requestOptions(challenge, addressOf(request).hostname, keys), nonce });
      },
    }),
  ];
}

export const usableKeys = async ({ ai }: Pick<Services, 'ai'>, { id }: Person): Promise<readonly Passkey[]> =>
  (await ai.runs.passkeys.list(id)).filter(({ revokedAt }) => revokedAt === null);

const infoOf = ({ id, name, createdAt, revokedAt }: Passkey): PasskeyInfo => ({ id, name, createdAt, revokedAt });

/** For `startAuthentication`, with exactly this challenge. */
export const requestOptions = (challenge: string, rpId: string, keys: readonly Passkey[]) => ({
  challenge,
  rpId,
  timeout: 60_000,
  userVerification: 'required',
  allowCredentials: keys.map(({ id, transports }) => ({ id, type: 'public-key', transports })),
});

const expectedAt = ({ origin, hostname }: URL, challenge: string) => ({
  expectedChallenge: challenge,
  expectedOrigin: origin,
  expectedRPID: hostname,
  requireUserVerification: true,
});

async function checkConfirmation(
  keys: readonly Passkey[],
  confirmation: { readonly id: string } | undefined,
  expected: ReturnType<typeof expectedAt>,
): Promise<void> {
  const key = keys.find(({ id }) => id === confirmation?.id);
  if (!key) throw invalid('confirm it with a passkey that you have');
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const credential = { id: key.id, publicKey: new Uint8Array(Buffer.from(key.publicKey, 'base64url')), counter: 0 };
  const response = confirmation as never;
  const { verified } = await verifyAuthenticationResponse({ response, credential, ...expected }).catch(
    (error: Error) => {
      throw invalid(error.message);
    },
  );
  if (!verified) throw invalid('the confirmation does not verify');
}

/** For what people do in a session of their own: a stolen token must not outlive itself. */
export function refuseTokens(proof: Caller['proof'], why: string): void {
  if (proof !== 'token') return;
  const message = `${why} Sign in with a browser to change them; an API token cannot.`;
  throw new UsageError('not-allowed', { status: 403 }, message);
}

const invalid = (why: string): UsageError =>
  new UsageError('invalid-signature', { status: 403 }, `The passkey was not enrolled: ${why.replace(/\.$/, '')}.`);

const needsOperator = ({ id }: Person): UsageError => {
  const message = `All passkeys of ${id} are revoked. An operator can allow a new one with: countersign passkeys reset ${id}`;
  return new UsageError('not-allowed', { status: 403 }, message);
};

export const noPasskey = ({ id }: Person): UsageError =>
  new UsageError('invalid-signature', { status: 403 }, `${id} has no passkey. Add one on the page Passkeys first.`);
