// A company with its own sign-in: a real OpenID provider on this machine, its people, and a server that trusts it.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServeOptions } from '@countersign/server';
import { type CountersignOptions, memoryStore } from 'countersign';
import type { Store } from 'countersign/store';
import Provider from 'oidc-provider';
import { onTestFinished } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../../../../scripts/free-port.mjs';
import { startServer } from '../server.ts';

type SignInIssuer = NonNullable<ServeOptions['signIn']>[number];
type Account = Readonly<Record<string, unknown>>;

export const CLIENT = { clientId: 'countersign', clientSecret: 'a secret that only the server knows' };
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export async function listen(handle: (issuer: string) => RequestListener): Promise<string> {
  const server = createServer((request, response) => answer(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = handle(issuer);
  return issuer;
}

/** A provider whose accounts sign in with any password. */
export async function openProvider(server: string, { name = 'sso', devices = true, ...client } = {} as ClientOptions) {
  const accounts = new Map<string, Account>([
    ['ann', { email: 'Ann@example.com', email_verified: true, name: 'Ann Meier', groups: ['Payments'] }],
    ['ben', { email: 'ben@example.com', email_verified: true, name: 'Ben', groups: [] }],
    ['eve', { email: 'ann@example.com', email_verified: false, name: 'Eve', groups: ['Payments'] }],
  ]);
  let provider: Provider | undefined;
  /** What the provider does, and what it gave: the kinds of grants, and the last consent. */
  const state: { isDown: boolean; grants: string[]; consent?: { destroy(): Promise<void> } } = {
    ...{ isDown: false, grants: [] },
  };
  const issuer = await listen((url) => {
    provider = new Provider(url, {
      clients: [
        {
          client_id: CLIENT.clientId,
          client_secret: CLIENT.clientSecret,
          redirect_uris: [`${server}/login/callback/${name}`],
          post_logout_redirect_uris: [`${server}/logout`],
          backchannel_logout_uri: `${server}/login/back-channel/${name}`,
          backchannel_logout_session_required: true,
          grant_types: ['authorization_code', 'refresh_token', ...(devices ? [DEVICE_GRANT] : [])],
          ...client,
        },
      ],
      claims: { openid: ['sub', 'sid'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      features: {
        backchannelLogout: { enabled: true },
        deviceFlow: { enabled: devices },
        devInteractions: { enabled: true },
      },
      issueRefreshToken: (_context: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
        client.grantTypeAllowed('refresh_token'),
      // A refresh token that is used again ends everything that came from it.
      rotateRefreshToken: true,
      // By default it asks no server on this machine.
      fetch: (url: string, { dispatcher: _dispatcher, ...init }: RequestInit & { dispatcher?: unknown }) =>
        fetch(url, init),
      cookies: { keys: ['a key of the provider'] },
      findAccount: (_context: unknown, id: string) =>
        accounts.has(id) ? { accountId: id, claims: () => ({ sub: id, ...accounts.get(id) }) } : undefined,
    });
    provider.on('grant.success', ({ oidc }) => {
      state.grants.push(oidc.params.grant_type);
      state.consent = oidc.entities.Grant;
    });
    const handle = provider.callback();
    return (request, response) => (state.isDown ? request.destroy() : handle(request, response));
  });
  return { issuer, accounts, state, provider: provider as Provider };
}

type ClientOptions = { readonly name?: string; readonly devices?: boolean } & Readonly<Record<string, unknown>>;

type Options = ServeOptions & {
  readonly instance?: Partial<CountersignOptions>;
  readonly store?: Store;
  readonly company?: Partial<SignInIssuer>;
  readonly client?: ClientOptions;
  readonly clock?: () => number;
};

/** A server of this company. */
export async function openCompany({ company, client, clock, ...options }: Options = {}) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const opened = await openProvider(url, client);
  const store = memoryStore(clock ? { now: clock } : {});
  const issuer = { issuer: opened.issuer, ...CLIENT, label: 'Example', insecure: true, ...company };
  const started = await startServer({ port, publicUrl: url, store, signIn: [issuer], ...options });
  return { ...started, ...opened, url };
}

type Reply = { readonly status: number; readonly url: string; readonly text: string; readonly headers: Headers };

/** A browser without a screen: it keeps cookies, follows redirects and sends forms. */
export function openBrowserOf() {
  let cookies: { readonly name: string; readonly path: string; readonly value: string; readonly port: string }[] = [];

  async function once(url: string, init: RequestInit = {}): Promise<Reply & { readonly location: string | null }> {
    const { pathname, port, origin } = new URL(url);
    const sent = cookies.filter((cookie) => cookie.port === port && pathname.startsWith(cookie.path));
    const cookie = sent.map(({ name, value }) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', cookie, ...(init.method === 'POST' && { origin }), ...init.headers };
    const response = await fetch(url, { ...init, redirect: 'manual', headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const path = /; path=([^;]+)/i.exec(line)?.[1] ?? '/';
      cookies = cookies.filter((known) => known.name !== name || known.path !== path || known.port !== port);
      if (value !== '') cookies.push({ name, path, value, port });
    }
    const location = response.headers.get('location') ?? /url=(.+)/.exec(response.headers.get('refresh') ?? '')?.[1];
    const to = location === undefined ? null : new URL(location, url).href;
    return { status: response.status, url, text: await response.text(), headers: response.headers, location: to };
  }

  /** Follows redirects until `stop` says so. */
  async function go(url: string, init: RequestInit = {}, stop: (url: string) => boolean = () => false): Promise<Reply> {
    let reply = await once(url, init);
    for (let hops = 0; reply.location !== null && !stop(reply.location); hops++) {
      if (hops > 15) throw new Error(`too many redirects at ${reply.location}`);
      reply = await once(reply.location);
    }
    return reply.location === null ? reply : { ...reply, url: reply.location };
  }

  /** Sends the form of a page. */
  async function send(
    page: Reply,
    fields: Record<string, string> = {},
    stop?: (url: string) => boolean,
  ): Promise<Reply> {
    const action = /<form[^>]*action="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const body = new URLSearchParams({
      ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])),
      ...fields,
    });
    return go(new URL(action.replaceAll('&amp;', '&'), page.url).href, { method: 'POST', body }, stop);
  }

  /** Goes through the pages of the provider, where the account signs in and agrees. */
  async function through(start: Reply, account: string, stop?: (url: string) => boolean): Promise<Reply> {
    let page = start;
    for (let forms = 0; forms < 4 && page.text.includes('name="prompt"') && page.status === 200; forms++) {
      const fields = page.text.includes('name="login"') ? { login: account, password: 'any' } : {};
      page = await send(page, fields, stop);
    }
    return page;
  }

  return {
    go,
    send,
    through,
    /** Signs in as this account, and returns the last page. `stop` gets each address before it is opened. */
    signIn: async (url: string, account: string, name = 'sso', stop?: (url: string) => boolean) =>
      through(await go(`${url}/login/with/${name}`, {}, stop), account, stop),
    me: async (url: string) => {
      const { status, text } = await once(`${url}/api/v1/me`);
      return status === 200 ? JSON.parse(text) : status;
    },
    api: async (url: string, method: string, path: string, body?: unknown) => {
      const json = { 'content-type': 'application/json', accept: 'application/json' };
      const reply = await once(`${url}${path}`, {
        method,
        headers: json,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: reply.status, body: reply.text === '' ? undefined : JSON.parse(reply.text) };
    },
    cookieNames: () => cookies.map(({ name }) => name),
    cookies: () => cookies,
  };
}

type Begun = { readonly address: string; readonly code: string };

/** Opens the address that a device shows, enters the code, signs in and agrees. */
export async function confirmDevice({ address, code }: Begun, account: string): Promise<string> {
  const browser = openBrowserOf();
  const entered = await browser.send(await browser.go(address), { user_code: code });
  const confirmed = await browser.send(entered);
  const last = await browser.through(confirmed, account);
  return last.text;
}
