// The routes of signing in with the company's account: to the issuer, back from it, the device flow, and the issuer's own sign-outs.
import { createHash } from 'node:crypto';
import { UsageError } from 'countersign';
import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { serialize } from 'hono/utils/cookie';
import { Attempts } from '../http/attempts.ts';
import { methodNotAllowed } from '../http/methods.ts';
import { networkOf } from '../http/networks.ts';
import type { Caller } from '../identity/identify.ts';
import { readCookie, type SessionCookie, setCookie } from '../identity/sessions.ts';
import { isRecord } from '../is-record.ts';
import type { Log } from '../log.ts';
import type { BackChannel } from '../sign-in/back-channel.ts';
import { type CompanySignIn, SIGN_IN_MS } from '../sign-in/company-sign-in.ts';
import { cardPage } from './card-page.ts';
import { escaped } from './html.ts';
import { answer, goTo, type SigningIn } from './login.ts';

type Mounting = {
  readonly company: CompanySignIn;
  readonly backChannel: BackChannel;
  readonly cookieFor: (context: Context) => SessionCookie;
  /** Throws if a page of another site sent the request. */
  readonly findCaller: (context: Context) => Promise<Caller | undefined>;
  /** The address of the other end of the connection. */
  readonly clientOf: (context: Context) => string | undefined;
  readonly log: Log;
};

const MOST_BYTES = 20_000;
const PERIOD_MS = 10 * 60_000;

export function mountCompanySignIn(
  hono: Pick<Hono, 'get' | 'post'>,
  { basePath, addressOf }: SigningIn,
  { company, backChannel, cookieFor, findCaller, clientOf, log }: Mounting,
): void {
  const limited = bodyLimit({
    maxSize: MOST_BYTES,
    onError: () => Response.json({ error: 'too large' }, { status: 413 }),
  });
  const callback = (context: Context, name: string) =>
    new URL(`${addressOf(context.req.raw).origin}${basePath}/login/callback/${name}`);
  const refuseHead = ({ req }: Context) => {
    if (req.method === 'HEAD') throw methodNotAllowed('HEAD', ['GET']);
  };

  hono.get('/login/with/:name', async (context) => {
    refuseHead(context);
    const name = context.req.param('name');
    try {
      const { location, cookie } = await company.begin(name, callback(context, name).href);
      return goTo(location, { 'set-cookie': signInCookie(cookieFor(context), cookie) });
    } catch (error) {
      return failed(error);
    }
  });

  hono.get('/login/callback/:name', async (context) => {
    refuseHead(context);
    const name = context.req.param('name');
    const cookie = cookieFor(context);
    const address = callback(context, name);
    address.search = new URL(context.req.url).search;
    try {
      const begun = readCookie(flowCookie(cookie), context.req.header('cookie') ?? null);
      const { secret, sessionMs, person } = await company.finish(name, address, begun && decodeURIComponent(begun));
      log('info', 'sign-in', { person, message: `Signed in at ${name}.` });
      const response = goTo(`${basePath}/`, { 'set-cookie': setCookie(cookie, secret, sessionMs) });
      response.headers.append('set-cookie', signInCookie(cookie, ''));
      return response;
    } catch (error) {
      return failed(error);
    }
  });

  hono.post('/login/back-channel/:name', limited, async (context) => {
    const token = new URLSearchParams(await context.req.text()).get('logout_token') ?? '';
    try {
      await backChannel(company.provider(context.req.param('name')), token);
      return new Response(null, { status: 200, headers: { 'cache-control': 'no-store' } });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      log('warn', 'sign-in', { error });
      return Response.json({ error: 'invalid_request', error_description: error.message }, { status: 400 });
    }
  });

  // Strangers make this server ask the issuer, which would limit the server for everyone.
  const begun = new Attempts({
    ...{ forOne: 60, forAll: 300, periodMs: PERIOD_MS },
    message: 'Too many sign-ins were begun from your network, or at this server.',
  });
  /** A code that nobody began here is a guess. */
  const guesses = new Attempts({
    ...{ forOne: 60, forAll: 300, periodMs: PERIOD_MS },
    message: 'Too many codes from your network, or at this server, were refused.',
  });
  const polls = new Attempts({
    // One every five seconds, and some more.
    ...{ forOne: 150, forAll: 10_000, periodMs: PERIOD_MS },
    message: 'This server was asked too often about a code.',
  });

  hono.post('/login/device', limited, async (context) => {
    await findCaller(context);
    begun.count(networkOf(clientOf(context)));
    const { issuer } = await fieldsOf(context);
    return Response.json(await company.provider(issuer).beginDevice().catch(asProblem));
  });
  hono.post('/login/device/token', limited, async (context) => {
    await findCaller(context);
    const { issuer, deviceCode = '', label = 'countersign login' } = await fieldsOf(context);
    polls.count(createHash('sha256').update(deviceCode).digest('hex'));
    const takeBack = guesses.count(networkOf(clientOf(context)));
    const made = await company.finishDevice(issuer, deviceCode, label.slice(0, 200)).catch(asProblem);
    takeBack();
    if (typeof made === 'string') return Response.json({ status: made }, { status: 202 });
    const { token, record } = made;
    log('info', 'sign-in', { person: record.person, message: 'Signed in by the device flow.' });
    const { person, roles, reach, expiresAt } = record;
    return Response.json({ token, person, roles, reach, expiresAt });
  });

  function asProblem(error: unknown): never {
    if (error instanceof UsageError) throw error;
    log('warn', 'sign-in', { error });
    throw new UsageError('not-allowed', { status: 403 }, reasonOf(error));
  }

  function failed(error: unknown): Response {
    log('warn', 'sign-in', { error });
    const reason = error instanceof UsageError ? error.message : reasonOf(error);
    const body = `<p>${escaped(reason)}</p>
<div class="actions"><a class="button button-primary" href="${basePath}/login">Try again</a></div>`;
    const status = error instanceof UsageError && error.details.status === 404 ? 404 : 403;
    return answer(cardPage(basePath, 'You are not signed in', body), status);
  }
}

/** What the library threw, without the texts of others: a link can carry any. */
function reasonOf(error: unknown): string {
  const { error: code } = (error ?? {}) as { readonly error?: unknown };
  if (code === 'access_denied') return 'The sign-in was cancelled, or your organisation does not let you sign in here.';
  if (code === 'expired_token') return 'The code was not confirmed in time. Begin again.';
  return 'The answer of your organisation could not be used. If it happens again, the log of this server says why.';
}

async function fieldsOf({ req }: Context): Promise<{ readonly [name in 'issuer' | 'deviceCode' | 'label']?: string }> {
  const body: unknown = await req.json().catch(() => undefined);
  const isValid = isRecord(body) && Object.values(body).every((value) => typeof value === 'string');
  if (isValid) return body as Record<string, string>;
  throw new UsageError('invalid-request', { status: 400 }, 'The body must be an object of strings.');
}

/** Browsers send it with the answer of the issuer, which another site redirects to. */
const flowCookie = ({ name, secure }: SessionCookie): SessionCookie => ({ name: `${name}-sign-in`, secure });

function signInCookie(cookie: SessionCookie, value: string): string {
  const { name, secure } = flowCookie(cookie);
  const maxAge = value === '' ? 0 : SIGN_IN_MS / 1000;
  return serialize(name, value, { path: '/', httpOnly: true, sameSite: 'Lax', secure, maxAge });
}
