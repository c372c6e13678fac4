// Requests to people: list, read, assign.
import { z } from '@hono/zod-openapi';
import { type RunRequest, UsageError } from 'countersign';
import type { Page, RequestListOptions } from 'countersign/store';
import { assigneesOf, forgetReviewer, releaseRequest, takeRequest } from '../assignees.ts';
import { defined } from '../defined.ts';
import { endpoint, json, requireScope } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { AssignShape, CommentBodyShape } from '../schemas/decision.ts';
import { pageOf } from '../schemas/page.ts';
import {
  type ApiRequest,
  RequestQueryShape,
  RequestShape,
  RequestWithMessagesShape,
  requestIdShape,
} from '../schemas/request.ts';
import { keptPage } from './kept-page.ts';
import type { Services } from './services.ts';

const params = z.object({ requestId: requestIdShape });
const tag = 'Requests';
const ofRequest = { tag, params, answers: { 200: { description: 'The request.', shape: RequestShape } } } as const;

/** A page of the requests that this person can see; the pending ones unless the filters say otherwise. */
export async function listRequests(
  { ai: { runs }, access }: Pick<Services, 'ai' | 'access'>,
  { cursor, limit, ...filters }: { readonly cursor?: string | undefined; readonly limit: number } & Filters,
  person: Person,
): Promise<Page<ApiRequest>> {
  const selected = { settled: false, ...filters, ...defined({ deciders: await access.mine(person) }) };
  return keptPage(
    (page) => runs.requests({ ...selected, ...page }),
    { cursor, limit },
    async (items: readonly RunRequest[]) => {
      const pending = items.filter(({ settledAt }) => settledAt === null);
      const assignees = await assigneesOf(runs.notes, pending);
      return Promise.all(items.map((item) => access.seen(item, person, assignees.get(item.id) ?? null)));
    },
  );
}

type Filters = Omit<RequestListOptions, 'cursor' | 'limit'>;

export function interruptEndpoints({ ai, access, assignees: watch }: Services) {
  const { runs } = ai;

  async function read(requestId: string, person: Person): Promise<ApiRequest> {
    const seen = await access.request(requestId, person);
    const assignees = await assigneesOf(runs.notes, seen.status === 'pending' ? [seen] : []);
    return { ...seen, assignee: assignees.get(requestId) ?? null };
  }

  async function decidable(requestId: string, person: Person): Promise<ApiRequest> {
    const seen = await read(requestId, person);
    if (seen.mayDecide) return seen;
    const why = seen.status === 'decided' ? 'is already decided' : `cannot be decided by ${person.id}`;
    throw new UsageError('not-allowed', { status: 403, requestId }, `${requestId} ${why}.`);
  }

  return [
    endpoint({
      route: 'GET /requests',
      operationId: 'listRequests',
      summary: 'List requests',
      description: 'Policies may hide some requests, so a page may be shorter than `limit` and still have a `cursor`.',
      tag,
      scope: 'read',
      query: RequestQueryShape,
      answers: { 200: { description: 'A page of requests.', shape: pageOf(RequestShape) } },
      handle: async ({ query: { cursor, limit = 50, status, mine, ...filters }, person }) => {
        const settled = status === undefined ? filters.outcome !== undefined : status === 'settled';
        const selected = defined({ ...filters, settled, startedBy: mine === '1' ? person.id : undefined });
        return json(await listRequests({ ai, access }, { cursor, limit, ...selected }, person));
      },
    }),
    endpoint({
      route: 'GET /requests/{requestId}',
      operationId: 'getRequest',
      summary: 'Get a request with the conversation so far',
      tag,
      scope: 'read',
      params,
      answers: { 200: { description: 'The request.', shape: RequestWithMessagesShape } },
      handle: async ({ params: { requestId }, person }) => {
        const seen = await read(requestId, person);
        const { messages } = await runs.get(seen.runId);
        return json({ ...seen, messages });
      },
    }),
    endpoint({
      route: 'POST /requests/{requestId}/assignee',
      operationId: 'assignRequest',
      summary: 'Assign a request',
      description:
        'Others still may decide. `to` says who should: the run records it, and the person is told. `forMs` shows that the caller reviews it: it expires by itself, and is refused with 409 if another person is the assignee.',
      ...ofRequest,
      scope: 'decide',
      body: AssignShape,
      problems: [409],
      handle: async ({ params: { requestId }, body, person }) => {
        const seen = await decidable(requestId, person);
        if ('to' in body) {
          await runs.assign(requestId, { to: body.to, by: person.id });
          await forgetReviewer(runs.notes, requestId);
          watch.look();
          return json(await read(requestId, person));
        }
        const assignee = await takeRequest(runs.notes, seen, person.id, body.forMs);
        watch.look();
        return json({ ...seen, assignee });
      },
    }),
    endpoint({
      route: 'POST /requests/{requestId}/comments',
      operationId: 'commentOnRequest',
      summary: 'Comment on a pending request',
      description:
        'For everyone who can read the request, with the scope `start` or `decide`. It decides nothing, and the model does not see it. `@ann` in the text names a person, who is told, as are those who take part.',
      ...ofRequest,
      scope: 'read',
      body: CommentBodyShape,
      problems: [409],
      handle: async ({ params: { requestId }, body: { text }, person }) => {
        // A token that only reads must not write.
        if (!person.scopes.includes('start')) requireScope(person, 'decide');
        await access.request(requestId, person);
        await runs.comment(requestId, { text, by: person.id });
        return json(await read(requestId, person));
      },
    }),
    endpoint({
      route: 'DELETE /requests/{requestId}/assignee',
      operationId: 'releaseRequest',
      summary: 'Stop reviewing a request',
      description: 'Ends what the caller took with `forMs`.',
      ...ofRequest,
      scope: 'decide',
      problems: [409],
      handle: async ({ params: { requestId }, person }) => {
        await read(requestId, person);
        await releaseRequest(runs.notes, requestId, person.id);
        watch.look();
        return json(await read(requestId, person));
      },
    }),
  ];
}
