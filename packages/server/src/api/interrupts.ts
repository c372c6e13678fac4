// Requests to people: list, read, assign.
import { z } from '@hono/zod-openapi';
import { type RunInterrupt, UsageError } from 'countersign';
import type { InterruptListOptions, Page } from 'countersign/store';
import { assigneesOf, forgetReviewer, releaseRequest, takeRequest } from '../assignees.ts';
import { defined } from '../defined.ts';
import { endpoint, json } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { AssignShape } from '../schemas/decision.ts';
import {
  type Interrupt,
  InterruptQueryShape,
  InterruptShape,
  InterruptWithMessagesShape,
  interruptIdShape,
} from '../schemas/interrupt.ts';
import { pageOf } from '../schemas/page.ts';
import { keptPage } from './kept-page.ts';
import type { Services } from './services.ts';

const params = z.object({ interruptId: interruptIdShape });
const tag = 'Requests';
const ofRequest = { tag, params, answers: { 200: { description: 'The request.', shape: InterruptShape } } } as const;

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
      const pending = items.filter(({ settledAt }) => settledAt === null);
      const assignees = await assigneesOf(runs.notes, pending);
      return Promise.all(items.map((item) => access.seen(item, person, assignees.get(item.id) ?? null)));
    },
  );
}

type Filters = Omit<InterruptListOptions, 'cursor' | 'limit'>;

export function interruptEndpoints({ ai, access, assignees: watch }: Services) {
  const { runs } = ai;

  async function read(interruptId: string, person: Person): Promise<Interrupt> {
    const seen = await access.interrupt(interruptId, person);
    const assignees = await assigneesOf(runs.notes, seen.status === 'pending' ? [seen] : []);
    return { ...seen, assignee: assignees.get(interruptId) ?? null };
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
      route: 'POST /interrupts/{interruptId}/assignee',
      operationId: 'assignRequest',
      summary: 'Assign a request',
      description:
        'Others still may decide. `to` says who should: the run records it, and the person is told. `forMs` shows that the caller reviews it: it expires by itself, and is refused with 409 if another person is the assignee.',
      ...ofRequest,
      scope: 'decide',
      body: AssignShape,
      problems: [409],
      handle: async ({ params: { interruptId }, body, person }) => {
        const seen = await decidable(interruptId, person);
        if ('to' in body) {
          await runs.assign(interruptId, { to: body.to, by: person.id });
          await forgetReviewer(runs.notes, interruptId);
          watch.look();
          return json(await read(interruptId, person));
        }
        const assignee = await takeRequest(runs.notes, seen, person.id, body.forMs);
        watch.look();
        return json({ ...seen, assignee });
      },
    }),
    endpoint({
      route: 'DELETE /interrupts/{interruptId}/assignee',
      operationId: 'releaseRequest',
      summary: 'Stop reviewing a request',
      description: 'Ends what the caller took with `forMs`.',
      ...ofRequest,
      scope: 'decide',
      problems: [409],
      handle: async ({ params: { interruptId }, person }) => {
        await read(interruptId, person);
        await releaseRequest(runs.notes, interruptId, person.id);
        watch.look();
        return json(await read(interruptId, person));
      },
    }),
  ];
}
