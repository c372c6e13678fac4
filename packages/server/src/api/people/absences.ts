// Absences: absent people and their delegates. People name their own delegate, signed in to a browser or by `identify`, never with an
// API token, and with a passkey if they have one. Callers with reach `all` name those of others, never themselves.
import { randomBytes } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { absenceChallenge } from 'countersign/store';
import { defined } from '../../defined.ts';
import { endpoint, json } from '../../http/endpoint.ts';
import type { Person } from '../../identity/person.ts';
import {
  AbsenceQueryShape,
  AbsenceShape,
  AbsentShape,
  type MyAbsence,
  MyAbsenceShape,
  PeriodShape,
} from '../../schemas/absence.ts';
import { ChallengeShape } from '../../schemas/passkey.ts';
import { signedAt } from '../record-decision.ts';
import type { Services } from '../services.ts';
import { noPasskey, refuseTokens, requestOptions, usableKeys } from './passkeys.ts';

const tag = 'People and agents';
const CHALLENGES = 'absence-challenges';
const CHALLENGE_MS = 5 * 60_000;
const OWN_ACT = 'People name their delegates themselves.';

export function absenceEndpoints(services: Services) {
  const { ai, addressOf } = services;
  const { people } = ai;
  const { notes, store } = ai.runs;
  const read = async (person: string): Promise<MyAbsence> => ({
    absence: (await people.absenceOf(person)) ?? null,
    actsFor: [...(await people.actsFor(person))],
  });
  /** Of several requests with one challenge, only the one that removes it continues. */
  const takeNonce = async ({ id }: Person, nonce: string | undefined): Promise<void> => {
    const { nonce: kept } = ((await notes.get(CHALLENGES, id))?.value ?? {}) as { readonly nonce?: string };
    if (kept !== undefined && kept === nonce && (await notes.remove(CHALLENGES, id))) return;
    const message = 'The challenge of this signature was used, or took too long. Ask for a new one.';
    throw new UsageError('invalid-signature', { status: 403 }, message);
  };
  const answers = { 200: { description: 'The absence of the person.', shape: MyAbsenceShape } };

  return [
    endpoint({
      route: 'GET /absences',
      operationId: 'listAbsences',
      summary: 'List absences',
      description: 'With `reach: "own"`, the absences of the caller, and those with the caller as delegate.',
      tag,
      scope: 'read',
      answers: {
        200: { description: 'Absences that have not ended.', shape: z.object({ items: z.array(AbsenceShape) }) },
      },
      handle: async ({ person: { id, reach } }) => {
        const all = await people.absences();
        return json({
          items: all.filter(({ person, delegate }) => reach === 'all' || person === id || delegate === id),
        });
      },
    }),
    endpoint({
      route: 'GET /me/absence',
      operationId: 'getMyAbsence',
      summary: 'Get the absence of the caller',
      tag,
      scope: 'read',
      query: AbsenceQueryShape,
      answers,
      handle: async ({ query, person }) => json(await read(whose(person, query.person))),
    }),
    endpoint({
      route: 'POST /me/absence',
      operationId: 'setMyAbsence',
      summary: 'Be away',
      description:
        'In the period, the delegate decides for the caller. It replaces the period before. Not with an API token, unless it names another person.',
      tag,
      scope: 'decide',
      body: AbsentShape,
      answers,
      handle: async ({ body: { person: other, delegate, from, until, signature }, person, proof, request }) => {
        const absent = whose(person, other);
        if (absent === person.id) refuseTokens(proof, OWN_ACT);
        if (signature) await takeNonce(person, signature.nonce);
        const signed = signature && signedAt(addressOf(request), signature);
        await people.absent(absent, { delegate, until, by: person.id, ...defined({ from, signature: signed }) });
        return json(await read(absent));
      },
    }),
    endpoint({
      route: 'POST /me/absence/challenge',
      operationId: 'challengeAbsence',
      summary: 'Get the challenge that signs an absence',
      description: 'It is good once, for five minutes, for exactly this absence of the caller.',
      tag,
      scope: 'decide',
      body: PeriodShape,
      answers: { 200: { description: 'What the browser needs.', shape: ChallengeShape } },
      handle: async ({ body, person, proof, request }) => {
        refuseTokens(proof, OWN_ACT);
        const keys = await usableKeys(services, person);
        if (keys.length === 0) throw noPasskey(person);
        const nonce = randomBytes(16).toString('base64url');
        await notes.put(CHALLENGES, person.id, { nonce }, { expiresAt: (await store.now()) + CHALLENGE_MS });
        const challenge = absenceChallenge({ person: person.id, ...body, nonce });
        return json({ options: requestOptions(challenge, addressOf(request).hostname, keys), nonce });
      },
    }),
    endpoint({
      route: 'DELETE /me/absence',
      operationId: 'endMyAbsence',
      summary: 'Be back',
      tag,
      scope: 'decide',
      query: AbsenceQueryShape,
      answers,
      handle: async ({ query, person }) => {
        const back = whose(person, query.person);
        await people.present(back);
        return json(await read(back));
      },
    }),
  ];
}

/** The caller, or the person whom they name. */
function whose({ id, reach }: Person, other: string = id): string {
  if (other === id || reach === 'all') return other;
  const message = `${id} can manage only their own absence.`;
  throw new UsageError('not-allowed', { status: 403, person: other }, message);
}
