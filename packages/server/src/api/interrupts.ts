// Requests to people: list, read, hold.
import { z } from '@hono/zod-openapi';
import { type RunInterrupt, UsageError } from 'countersign';
import { keptPage } from '../access.ts';
import { holdsOf, releaseHold, takeHold } from '../holds.ts';
import { endpoint, json } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { HoldRequestShape } from '../schemas/decision.ts';
import {
  HoldShape,
  type Interrupt,
  InterruptQueryShape,
  InterruptShape,
  InterruptWithMessagesShape,
  interruptIdShape,
} from '../schemas/interrupt.ts';
import { pageOf } from '../schemas/page.ts';
import type { Services } from './services.ts';

const params = z.object({ interruptId: interruptIdShape });
const tag = 'Requests';
const HoldAnswer = z.object({ hold: HoldShape.nullable() });

export function interruptEndpoints({ ai, access, holds: holdWatch }: Services) {
  const { runs } = ai;

  async function read(interruptId: string, person: Person): Promise<Interrupt> {
    const holds = await holdsOf(runs.notes, [interruptId]);
    return access.interrupt(interruptId, person, holds.get(interruptId) ?? null);
  }

  async function decidable(interruptId: string, person: Person): Promise<Interrupt> {
    const seen = await read(interruptId, person);
    if (seen.mayDecide) return seen;
    const why = seen.status === 'decided' ? 'is already decided' : `cannot be decided by ${person.id}`;
    throw new UsageError('not-allowed', { status: 403, interruptId }, `${interruptId} ${why}.`);
  }

  return [
    endpoint(
      {
        method: 'get',
        path: '/interrupts',
        summary: 'List requests',
        description:
          'Policies may hide some requests, so a page may be shorter than `limit` and still have a `cursor`.',
        tag,
        scope: 'read',
        query: InterruptQueryShape,
        answers: { 200: { description: 'A page of requests.', shape: pageOf(InterruptShape) } },
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
              const holds = await holdsOf(
                runs.notes,
                items.filter(({ settledAt }) => settledAt === null).map(({ id }) => id),
              );
              return Promise.all(items.map((item) => access.seen(item, person, holds.get(item.id) ?? null)));
            },
          ),
        );
      },
    ),
    endpoint(
      {
        method: 'get',
        path: '/interrupts/{interruptId}',
        summary: 'Get a request with the conversation so far',
        tag,
        scope: 'read',
        params,
        answers: { 200: { description: 'The request.', shape: InterruptWithMessagesShape } },
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
        path: '/interrupts/{interruptId}/hold',
        summary: 'Hold a request',
        description: 'Shows others that the caller is reviewing it. It locks nothing and expires by itself.',
        tag,
        scope: 'decide',
        params,
        body: HoldRequestShape,
        bodyIsOptional: true,
        answers: { 200: { description: 'The hold.', shape: HoldAnswer } },
        problems: [404, 409],
      },
      async ({ params: { interruptId }, body: { forMs }, person }) => {
        await decidable(interruptId, person);
        const hold = await takeHold(runs.notes, interruptId, person.id, forMs);
        holdWatch.look();
        return json({ hold });
      },
    ),
    endpoint(
      {
        method: 'delete',
        path: '/interrupts/{interruptId}/hold',
        summary: 'Release a hold',
        tag,
        scope: 'decide',
        params,
        answers: { 200: { description: 'The request has no hold.', shape: HoldAnswer } },
        problems: [404, 409],
      },
      async ({ params: { interruptId }, person }) => {
        await read(interruptId, person);
        await releaseHold(runs.notes, interruptId, person.id);
        holdWatch.look();
        return json({ hold: null });
      },
    ),
  ];
}
