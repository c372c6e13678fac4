// Requests to people: list, read, assign.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { assigneesOf, forgetReviewer, releaseRequest, takeRequest } from '../assignees.ts';
import { defined } from '../defined.ts';
import { endpoint, json, requireScope } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { cachedReads } from '../live/cached-read.ts';
import { AssignShape, CommentBodyShape } from '../schemas/decision.ts';
import { pageOf } from '../schemas/page.ts';
import { PlanShape } from '../schemas/plan.ts';
import {
  type ApiRequest,
  RequestCountShape,
  RequestFilterShape,
  RequestQueryShape,
  RequestShape,
  RequestWithMessagesShape,
  requestIdShape,
} from '../schemas/request.ts';
import { countRequests, everyRequest, listRequests, type RequestFilters } from './request-list.ts';
import { requestsCsv } from './requests-csv.ts';
import type { Services } from './services.ts';

const params = z.object({ requestId: requestIdShape });
const tag = 'Requests';
const ofRequest = { tag, params, answers: { 200: { description: 'The request.', shape: RequestShape } } } as const;

/** The filters of the URL as the list takes them. */
function filtersOf({ status, mine, ...given }: z.output<typeof RequestFilterShape>, person: Person): RequestFilters {
  const { outcome, decidedBy, settledSince, settledBefore } = given;
  const isSettled = [outcome, decidedBy, settledSince, settledBefore].some((asked) => asked !== undefined);
  const settled = status === undefined ? isSettled : status === 'settled';
  return defined({ ...given, settled, startedBy: mine === '1' ? person.id : undefined });
}

/** A client counts again after each change; the callers of one person share it, less often the longer it takes. */
const COUNTED = { shortestMs: 0, share: 20, longestMs: 60_000, most: 200 };

type Counted = { readonly filters: RequestFilters; readonly person: Person };

export function interruptEndpoints({ ai, access, assignees: watch, remarks, grantsOn }: Services) {
  const { runs } = ai;
  const countOf = cachedReads(
    () =>
      ({ filters, person }: Counted) =>
        countRequests({ ai, access }, filters, person),
    ({ filters, person: { id, reach, roles, scopes } }) => JSON.stringify([id, reach, roles, scopes, filters]),
    COUNTED,
  );

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
      handle: async ({ query: { cursor, limit = 50, ...filters }, person }) => {
        const page = await listRequests({ ai, access }, { cursor, limit, ...filtersOf(filters, person) }, person);
        return json({ ...page, items: await grantsOn(await remarks(page.items, person), person) });
      },
    }),
    // Before the route of one request: no request has this id.
    endpoint({
      route: 'GET /requests/count',
      operationId: 'countRequests',
      summary: 'Count requests',
      description: 'With the filters of the list. Shared for a moment between callers.',
      tag,
      scope: 'read',
      query: RequestFilterShape,
      answers: { 200: { description: 'The number.', shape: RequestCountShape } },
      handle: async ({ query, person }) => json(await countOf({ filters: filtersOf(query, person), person })),
    }),
    endpoint({
      route: 'GET /requests.csv',
      operationId: 'exportRequests',
      summary: 'Export requests as CSV',
      description: 'With the filters of the list, in its order. Times are in UTC, inputs are JSON.',
      tag,
      scope: 'read',
      query: RequestFilterShape,
      answers: { 200: { description: 'A table with a header.', shape: z.string(), type: 'text/csv' } },
      handle: ({ query, person }) =>
        requestsCsv(everyRequest({ ai, access }, filtersOf(query, person), person), 'countersign-requests.csv'),
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
        const [card] = await grantsOn(await remarks([seen], person), person);
        return json({ ...card, messages });
      },
    }),
    endpoint({
      route: 'GET /requests/{requestId}/plan',
      operationId: 'getPlan',
      summary: 'Get the steps of a plan, with what came of each',
      tag,
      scope: 'read',
      params,
      answers: { 200: { description: 'The plan; no steps if the request is not a plan.', shape: PlanShape } },
      handle: async ({ params: { requestId }, person }) => {
        const { id } = await access.request(requestId, person);
        return json((await ai.grants.plan(id)) ?? { requestId: id, steps: [] });
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
