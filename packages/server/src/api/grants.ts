// Grants: list, read, revoke, simulate. People see the grants that they gave, and those of requests that they can see.
import { z } from '@hono/zod-openapi';
import { type RunRequest, UsageError } from 'countersign';
import type { GrantDetails, GrantView, SimulatedGrant } from 'countersign/store';
import { defined } from '../defined.ts';
import { endpoint, json } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import {
  type Grant,
  GrantDetailsShape,
  type GrantInDetail,
  GrantQueryShape,
  GrantShape,
  grantIdShape,
  RevokeShape,
  SimulatedShape,
  SimulateShape,
} from '../schemas/grant.ts';
import { pageOf } from '../schemas/page.ts';
import { keptPage } from './kept-page.ts';
import type { Services } from './services.ts';

export function grantEndpoints(services: Services) {
  const { ai, access } = services;
  const params = z.object({ grantId: grantIdShape });
  return [
    endpoint({
      route: 'GET /grants',
      operationId: 'listGrants',
      summary: 'List grants',
      description: 'The newest first. With a filter, a page may be short although more follow.',
      tag: 'Grants',
      scope: 'read',
      query: GrantQueryShape,
      answers: { 200: { description: 'A page of grants.', shape: pageOf(GrantShape) } },
      handle: async ({ query: { cursor, limit = 50, ...filters }, person }) =>
        json(
          await keptPage(
            (page) => ai.grants.list({ ...defined(filters), ...page }),
            { cursor, limit },
            (grants) => Promise.all(grants.map((grant) => seen(services, grant, person))),
          ),
        ),
    }),
    endpoint({
      route: 'POST /grants/simulate',
      operationId: 'simulateGrant',
      summary: 'Simulate a grant',
      description:
        'Counts the settled requests of a tool that a grant would have let run, and how people had decided them, and suggests a ' +
        'grant from the approved ones. Nothing is recorded.',
      tag: 'Grants',
      scope: 'decide',
      body: SimulateShape,
      answers: { 200: { description: 'The figures and the suggestion.', shape: SimulatedShape } },
      problems: [422],
      handle: async ({ body: { tool, grant }, person }) => {
        const deciders = await access.mine(person);
        const among = async (request: RunRequest) => (await access.seen(request, person, null)) !== undefined;
        const history = { among, ...defined({ deciders }) };
        const simulation = grant ? await ai.grants.simulate({ tool, ...grant } as SimulatedGrant, history) : null;
        const { grant: suggestion } = await ai.grants.suggest(tool, history);
        return json({ simulation, suggestion });
      },
    }),
    endpoint({
      route: 'GET /grants/{grantId}',
      operationId: 'getGrant',
      summary: 'Get a grant',
      description: 'With the calls that use it. Uses of calls that did not run are released first.',
      tag: 'Grants',
      scope: 'read',
      params,
      answers: { 200: { description: 'The grant.', shape: GrantDetailsShape } },
      problems: [404],
      handle: async ({ params: { grantId }, person }) => {
        const { calls, ...grant } = await ai.grants.get(grantId);
        const view = await seen(services, grant, person);
        if (!view) throw unknownGrant(grantId);
        return json({ ...view, calls: await titled(services, calls, person) });
      },
    }),
    endpoint({
      route: 'POST /grants/{grantId}/revoke',
      operationId: 'revokeGrant',
      summary: 'Revoke a grant',
      description: 'The next call is asked about again. Calls that were let through before are not stopped.',
      tag: 'Grants',
      scope: 'decide',
      params,
      body: RevokeShape,
      answers: { 200: { description: 'The revoked grant.', shape: GrantShape } },
      problems: [404],
      handle: async ({ params: { grantId }, body: { reason }, person }) => {
        const view = await seen(services, await ai.grants.get(grantId), person);
        if (!view) throw unknownGrant(grantId);
        if (!view.mayRevoke && view.status !== 'revoked')
          throw new UsageError('not-allowed', { status: 403, grantId }, `${person.id} cannot revoke ${grantId}.`);
        const revoked = await ai.grants.revoke(grantId, { by: person.id, ...defined({ reason }) });
        return json(await seen(services, revoked, person));
      },
    }),
  ];

  function unknownGrant(grantId: string): UsageError {
    return new UsageError('unknown-grant', { status: 404, grantId }, `Grant ${grantId} not found.`);
  }
}

const MOST_TITLED = 50;

async function titled(
  { access }: Services,
  calls: GrantDetails['calls'],
  person: Person,
): Promise<GrantInDetail['calls']> {
  const first = calls.length - MOST_TITLED;
  const titleOf = async (requestId: string) => (await access.find(requestId, person))?.title ?? null;
  return Promise.all(
    calls.map(async (call, at) => ({ ...call, title: at < first ? null : await titleOf(call.requestId) })),
  );
}

/** The grant for this person; undefined if they cannot see it. They can revoke a grant that they gave, or could have given. */
async function seen(
  services: Services,
  { votes: _votes, ...grant }: GrantView,
  person: Person,
): Promise<Grant | undefined> {
  const isOwn = grant.givenBy === person.id || person.reach === 'all';
  const request = await services.access.find(grant.requestId, person);
  if (!isOwn && !request) return undefined;
  const mayRevoke =
    person.scopes.includes('decide') &&
    (isOwn || (request !== undefined && (await services.access.mayDecide(request, person))));
  return { ...grant, mayRevoke: mayRevoke && grant.status !== 'revoked' };
}
