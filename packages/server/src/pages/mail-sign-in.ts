// The pages of signing in by mail: ask for a link, and confirm it. Opening a link changes nothing: mail programs open links too.
import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Caller } from '../identity/identify.ts';
import type { MailSignIn } from '../identity/mail-sign-in.ts';
import { type SessionCookie, setCookie } from '../identity/sessions.ts';
import { cardPage } from './card-page.ts';
import { escaped } from './html.ts';
import { answer, goTo, type SigningIn, signInPage } from './login.ts';

type Mounting = {
  /** Throws if a page of another site sent the request. */
  readonly findCaller: (context: Context) => Promise<Caller | undefined>;
  readonly cookieFor: (context: Context) => SessionCookie;
};

const MOST_BYTES = 2_000;

export function mountMailSignIn(
  hono: Pick<Hono, 'get' | 'post'>,
  signingIn: SigningIn,
  byMail: MailSignIn,
  { findCaller, cookieFor }: Mounting,
): void {
  const { basePath } = signingIn;
  const limited = bodyLimit({ maxSize: MOST_BYTES, onError: () => goTo(`${basePath}/login`) });

  hono.post('/login/mail', limited, async (context) => {
    await findCaller(context);
    const name = new URLSearchParams(await context.req.text()).get('name') ?? '';
    byMail.ask(name);
    return goTo(`${basePath}/login/mail`);
  });
  hono.get('/login/mail', () => answer(sentPage(basePath)));

  hono.get('/login/mail/:token', async (context) => {
    const caller = await findCaller(context);
    const person = await byMail.personOf(context.req.param('token'));
    if (!person) return noLonger(context);
    const now = caller && caller.person.id !== person.id ? `You are signed in as ${nameHtml(caller.person)}. ` : '';
    const body = `<p>${now}This link signs you in as ${nameHtml(person)}.</p>
<form method="post" class="actions"><button class="button button-primary">Sign in</button></form>`;
    return answer(cardPage(basePath, 'Sign in to Countersign', body));
  });
  hono.post('/login/mail/:token', async (context) => {
    await findCaller(context);
    const secret = await byMail.take(context.req.param('token'));
    if (secret === undefined) return noLonger(context);
    return goTo(`${basePath}/`, { 'set-cookie': setCookie(cookieFor(context), secret) });
  });

  /** Somebody who is signed in and opens the link again goes to the inbox. */
  async function noLonger(context: Context): Promise<Response> {
    if (await findCaller(context)) return goTo(`${basePath}/`);
    return answer(await signInPage(signingIn, 'This sign-in link no longer works'), 401);
  }
}

const sentPage = (basePath: string): string =>
  cardPage(
    basePath,
    'Look into your mail',
    `<p><strong>If we know you, a link is on its way.</strong> It works once, within ten minutes.</p>
<p>Nothing arrives? Look into the folder for spam, or ask the person who gave you this address.</p>
<div class="actions"><a class="button" href="${basePath}/login">Use another address</a></div>`,
  );

const nameHtml = ({ name, id }: Caller['person']): string => `<bdi>${escaped(name || id)}</bdi>`;
