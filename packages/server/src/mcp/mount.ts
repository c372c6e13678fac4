// The route of the inbox as an MCP server. The MCP packages are loaded with the first request.
import { createHash } from 'node:crypto';
import { CountersignError, type DecisionInput, UsageError } from 'countersign';
import { type BodyLimits, readJson } from 'countersign/ui';
import type { Context, Hono } from 'hono';
import { freezeAs } from '../api/freezes.ts';
import { recordDecision } from '../api/record-decision.ts';
import { listRequests } from '../api/request-list.ts';
import type { Services } from '../api/services.ts';
import { requireScope } from '../http/endpoint.ts';
import type { Caller } from '../identity/identify.ts';
import type { Person } from '../identity/person.ts';
import { createSecrets } from '../links/token.ts';
import type { AppOptions } from '../options.ts';
import type { InboxPort } from './inbox-server.ts';
import { refuseOwnRequests } from './own-requests.ts';

/** What the server of one request is told. */
type Known = { readonly person: Person; readonly address: URL };

type Mounting = {
  readonly caller: (context: Context) => Promise<Caller>;
  readonly limits: BodyLimits;
};

export function mountMcp(
  hono: Pick<Hono, 'all'>,
  services: Services,
  options: Pick<AppOptions, 'basePath' | 'linkSecret'>,
  { caller, limits }: Mounting,
): void {
  if (services.mcp === false) return;
  const secrets = createSecrets(services.ai.runs.notes, options.linkSecret);

  function portFor(person: Person, address: URL): InboxPort {
    const page = `${address.origin}${options.basePath ?? ''}/requests/`;
    return {
      person: person.id,
      list: (query) => listRequests(services, query, person),
      read: (id) => services.access.request(id, person),
      check: (card) => refuseOwnRequests(card, person, services.mcp),
      decide: (card, decision: DecisionInput, note) =>
        recordDecision(
          services,
          card,
          { person, channel: 'mcp', address },
          {
            decision: decision as never,
            digest: card.digest,
            ...(note !== undefined && { note }),
          },
        ),
      freeze: (freeze) => freezeAs(services, person, freeze, 'mcp'),
      linkTo: (id) => `${page}${encodeURIComponent(id)}`,
      explain: (error) => {
        if (error instanceof CountersignError) return error.message;
        services.log('error', 'mcp', { error });
        return undefined;
      },
    };
  }

  let loading: Promise<(request: Request, person: Person) => Promise<Response>> | undefined;
  async function load() {
    const [{ createMcpHandler }, { inboxServer }] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('./inbox-server.ts'),
    ]);
    const [secret = ''] = await secrets();
    const sealing = { secret: sealOf(secret), asksOlderClients: false };
    const handler = createMcpHandler(
      ({ authInfo }) => {
        if (!authInfo) throw new Error('The caller of an MCP request is not known.');
        const { person, address } = authInfo.extra as Known;
        return inboxServer(portFor(person, address), sealing);
      },
      { maxSubscriptions: 0 },
    );
    return async (request: Request, person: Person) => {
      const extra: Known = { person, address: services.addressOf(request) };
      const authInfo = { token: '', clientId: person.id, scopes: [...person.scopes], extra };
      // Bodies are read as on every other route: the reader of the MCP package takes the last of two values of a key.
      if (request.method !== 'POST') return handler.fetch(request, { authInfo });
      return handler.fetch(request, { authInfo, parsedBody: await readJson(request, limits) });
    };
  }

  hono.all('/mcp', async (context) => {
    const { person, proof } = await caller(context);
    // A browser sends cookies by itself; a program that acts for a person has their token.
    if (proof === 'session')
      throw new UsageError('not-authorized', { status: 401 }, 'MCP clients send an API token, not a browser session.');
    requireScope(person, 'read');
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return (await loading)(context.req.raw, person);
  });
}

/** A key for this purpose only. */
const sealOf = (secret: string): string =>
  createHash('sha256').update(`countersign mcp state 1\n${secret}`).digest('base64url');
