// Questions: list, look, claim.
import { z } from '@hono/zod-openapi';
import { type RunInterrupt, UsageError } from 'countersign';
import { keptPage } from '../access.ts';
import { endpoint, json } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { ClaimRequestShape } from '../schemas/decision.ts';
import {
  ClaimShape,
  type Interrupt,
  InterruptQueryShape,
  InterruptShape,
  InterruptWithMessagesShape,
  interruptIdShape,
} from '../schemas/interrupt.ts';
import { pageOf } from '../schemas/page.ts';
import { claimsOf, releaseClaim, takeClaim } from './holds.ts';
import type { Services } from './services.ts';

const params = z.object({ interruptId: interruptIdShape });
const tag = 'Questions';
const ClaimAnswer = z.object({ claim: ClaimShape.nullable() });

export function interruptEndpoints({ ai, access, claims: claimWatch }: Services) {
  const { runs } = ai;

  /** Throws `unknown-interrupt` if there is none that this person may read. */
  async function read(interruptId: string, person: Person): Promise<Interrupt> {
    const found = await runs.interrupt(interruptId);
    const claims = await claimsOf(runs.notes, [interruptId]);
    const seen = await access.seen(found, person, claims.get(interruptId) ?? null);
    if (seen) return seen;
    throw new UsageError('unknown-interrupt', { interruptId }, `There is no interrupt ${interruptId} in the store.`);
  }

  async function decidable(interruptId: string, person: Person): Promise<Interrupt> {
    const seen = await read(interruptId, person);
    if (seen.mayDecide) return seen;
    const why = seen.status === 'decided' ? 'is decided already' : `may not be decided by ${person.id}`;
    throw new UsageError('not-allowed', { status: 403, interruptId }, `${interruptId} ${why}.`);
  }

  return [
    endpoint(
      {
        method: 'get',
        path: '/interrupts',
        summary: 'List questions',
        description: 'A page may be shorter than `limit`, where policies hide some, and still have a `cursor`.',
        tag,
        scope: 'read',
        query: InterruptQueryShape,
        answers: { 200: { description: 'A page of questions.', shape: pageOf(InterruptShape) } },
      },
      async ({ query: { cursor, limit = 50, status, mine, ...filters }, person }) => {
        const only = access.ownOnly(person, 'interrupts') ?? (mine === '1' ? person.id : undefined);
        const given = {
          ...Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)),
          settled: status === undefined ? filters.outcome !== undefined : status === 'settled',
          ...(only !== undefined && { startedBy: only }),
        };
        return json(
          await keptPage(
            (page) => runs.interrupts({ ...given, ...page }),
            { cursor, limit },
            async (items: readonly RunInterrupt[]) => {
              const claims = await claimsOf(
                runs.notes,
                items.filter(({ settledAt }) => settledAt === null).map(({ id }) => id),
              );
              return Promise.all(items.map((item) => access.seen(item, person, claims.get(item.id) ?? null)));
            },
          ),
        );
      },
    ),
    endpoint(
      {
        method: 'get',
        path: '/interrupts/{interruptId}',
        summary: 'A question with the conversation so far',
        tag,
        scope: 'read',
        params,
        answers: { 200: { description: 'The question.', shape: InterruptWithMessagesShape } },
        problems: [404],
      },
      async ({ params: { interruptId }, person }) => {
        const seen = await read(interruptId, person);
        const { messages } = await runs.get(seen.runId);
        return json({ ...seen, messages });
      },
    ),
    endpoint(
      {
        method: 'post',
        path: '/interrupts/{interruptId}/claim',
        summary: 'Say that I work on it',
        description: 'It keeps two people from working on one; it locks nothing, and lapses by itself.',
        tag,
        scope: 'decide',
        params,
        body: ClaimRequestShape,
        bodyIsOptional: true,
        answers: { 200: { description: 'The claim.', shape: ClaimAnswer } },
        problems: [404, 409],
      },
      async ({ params: { interruptId }, body: { forMs }, person }) => {
        await decidable(interruptId, person);
        const claim = await takeClaim(runs.notes, interruptId, person.id, forMs);
        claimWatch.look();
        return json({ claim });
      },
    ),
    endpoint(
      {
        method: 'delete',
        path: '/interrupts/{interruptId}/claim',
        summary: 'Give the claim up',
        tag,
        scope: 'decide',
        params,
        answers: { 200: { description: 'Nobody has it.', shape: ClaimAnswer } },
        problems: [404, 409],
      },
      async ({ params: { interruptId }, person }) => {
        await read(interruptId, person);
        await releaseClaim(runs.notes, interruptId, person.id);
        claimWatch.look();
        return json({ claim: null });
      },
    ),
  ];
}
