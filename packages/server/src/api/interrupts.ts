// Requests to people: list, read, hold.
import { z } from '@hono/zod-openapi';
import { type InterruptListOptions, type RunInterrupt, UsageError } from 'countersign';
import type { Page } from 'countersign/store';
import { keptPage } from '../access.ts';
import { defined } from '../defined.ts';
import { holdsOf, releaseHold, takeHold } from '../holds.ts';
import { endpoint, json } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { AssignShape, HoldRequestShape } from '../schemas/decision.ts';
import {
  HoldShape,
  type Interrupt,
  InterruptQueryShape,
  InterruptShape,
  InterruptWithMessagesShape,
  interruptIdShape,
} from '../schemas/interrupt.ts';
import { orNull, pageOf } from '../schemas/page.ts';
import type { Services } from './services.ts';

const params = z.object({ interruptId: interruptIdShape });
const tag = 'Requests';
const HoldAnswer = z.object({ hold: orNull(HoldShape) });

/** A page of the requests that this person can see; the pending ones unless the filters say otherwise. */
export async function listRequests(
  { ai: { runs }, access }: Pick<Services, 'ai' | 'access'>,
  { cursor, limit, ...filters }: { readonly cursor?: string | undefined; readonly limit: number } & Filters,
  person: Person,
): Promise<Page<Interrupt>> {
  const selected = { settled: false, ...filters, ...defined({ deciders: await access.mine(person) }) };
  return keptPage(
    (page) => runs.interrupts({ ...selected, ...page }),
    { cursor, limit },
    async (items: readonly RunInterrupt[]) => {
      const pending = items.filter(({ settledAt }) => settledAt === null).map(({ id }) => id);
      const holds = await holdsOf(runs.notes, pending);
      return Promise.all(items.map((item) => access.seen(item, person, holds.get(item.id) ?? null)));
    },
  );
}

type Filters = Omit<InterruptListOptions, 'cursor' | 'limit'>;

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
    endpoint({
      route: 'GET /interrupts',
      operationId: 'listRequests',
      summary: 'List requests',
      description: 'Policies may hide some requests, so a page may be shorter than `limit` and still have a `cursor`.',
      tag,
      scope: 'read',
      query: InterruptQueryShape,
      answers: { 200: { description: 'A page of requests.', shape: pageOf(InterruptShape) } },
      handle: async ({ query: { cursor, limit = 50, status, mine, ...filters }, person }) => {
        const settled = status === undefined ? filters.outcome !== undefined : status === 'settled';
        const selected = defined({ ...filters, settled, startedBy: mine === '1' ? person.id : undefined });
        return json(await listRequests({ ai, access }, { cursor, limit, ...selected }, person));
      },
    }),
    endpoint({
      route: 'GET /interrupts/{interruptId}',
      operationId: 'getRequest',
      summary: 'Get a request with the conversation so far',
      tag,
      scope: 'read',
      params,
      answers: { 200: { description: 'The request.', shape: InterruptWithMessagesShape } },
      handle: async ({ params: { interruptId }, person }) => {
        const seen = await read(interruptId, person);
        const { messages } = await runs.get(seen.runId);
        return json({ ...seen, messages });
      },
    }),
    endpoint({
      route: 'POST /interrupts/{interruptId}/hold',
      operationId: 'holdRequest',
      summary: 'Hold a request',
      description: 'Shows others that the caller is reviewing it. It locks nothing and expires by itself.',
      tag,
      scope: 'decide',
      params,
      body: HoldRequestShape,
      answers: { 200: { description: 'The hold.', shape: HoldAnswer } },
      problems: [409],
      handle: async ({ params: { interruptId }, body: { forMs }, person }) => {
        await decidable(interruptId, person);
        const hold = await takeHold(runs.notes, interruptId, person.id, forMs);
        holdWatch.look();
        return json({ hold });
      },
    }),
    endpoint({
      route: 'POST /interrupts/{interruptId}/assign',
      operationId: 'assignRequest',
      summary: 'Assign a request',
      description: 'Says who should decide it. Others still may. It is recorded in the run.',
      tag,
      scope: 'decide',
      params,
      body: AssignShape,
      answers: { 200: { description: 'The request.', shape: InterruptShape } },
      problems: [409],
      handle: async ({ params: { interruptId }, body: { to }, person }) => {
        await decidable(interruptId, person);
        await runs.assign(interruptId, { to, by: person.id });
        return json(await read(interruptId, person));
      },
    }),
    endpoint({
      route: 'DELETE /interrupts/{interruptId}/hold',
      operationId: 'releaseRequest',
      summary: 'Release a hold',
      tag,
      scope: 'decide',
      params,
      answers: { 200: { description: 'The request has no hold.', shape: HoldAnswer } },
      problems: [409],
      handle: async ({ params: { interruptId }, person }) => {
        await read(interruptId, person);
        await releaseHold(runs.notes, interruptId, person.id);
        holdWatch.look();
        return json({ hold: null });
      },
    }),
  ];
}
