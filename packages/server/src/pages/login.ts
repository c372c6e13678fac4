// Signs people in by a one-time link, and out; pages say what to do when a link no longer works.
import type { Notes } from 'countersign/store';
import { bearerOf, type Caller } from '../identity/identify.ts';
import type { RenewLink } from '../identity/link-renewal.ts';
import type { MailSignIn } from '../identity/mail-sign-in.ts';
import type { Person } from '../identity/person.ts';
import {
  endSession,
  loginPath,
  personOfLogin,
  readCookie,
  type SessionCookie,
  setCookie,
  takeLogin,
} from '../identity/sessions.ts';
import { revokeSignedIn } from '../identity/tokens.ts';
import type { CompanySignIn } from '../sign-in/company-sign-in.ts';
import { cardPage } from './card-page.ts';
import { escaped, htmlResponse } from './html.ts';

export type SigningIn = {
  readonly notes: Notes;
  readonly basePath: string;
  /** Prints a fresh link in the terminal; undefined if this is not a development server. */
  readonly renewLink: RenewLink | undefined;
  /** Mails links; undefined if it cannot. */
  readonly byMail: MailSignIn | undefined;
  /** Signs people in with the company's account; undefined if no issuer is configured. */
  readonly company: CompanySignIn | undefined;
  /** The address of this server, as browsers have it. */
  readonly addressOf: (request: Request) => URL;
};

/**
 * Uses up the link of the request and starts a session. A link that would replace the session of another person is asked about first, on
 * a page whose button posts. Without a link that works, people who are signed in go to the app.
 */
export async function login(
  signingIn: SigningIn,
  cookie: SessionCookie,
  request: Request,
  caller: Caller | undefined,
): Promise<Response> {
  const { notes, basePath } = signingIn;
  const { searchParams } = new URL(request.url);
  const token = searchParams.get('token');
  const to = pageIn(searchParams.get('to'));
  const person = token === null ? undefined : await personOfLogin(notes, token);
  if (token !== null && person && mustAsk(request, caller, person))
    return answer(switchPage(basePath, loginPath(basePath, token, to), person, caller));
  const secret = token === null ? undefined : await takeLogin(notes, token);
  const page = `${basePath}${to ?? '/'}`;
  if (secret !== undefined) return goTo(page, { 'set-cookie': setCookie(cookie, secret) });
  if (caller) return goTo(page);
  if (token === null) return answer(await signInPage(signingIn, 'Sign in to Countersign'));
  return answer(await signInPage(signingIn, 'This sign-in link no longer works'), 401);
}

/** Links lead to a chat of this app, or to the inbox. */
const pageIn = (to: string | null): string | undefined =>
  to !== null && /^\/chat(?:\/[\w-]{1,128})?$/.test(to) ? to : undefined;

/** A browser that follows a link of another site keeps the session cookie back, so somebody else may be signed in. */
function mustAsk({ method, headers }: Request, caller: Caller | undefined, person: Person): boolean {
  if (method === 'POST') return false;
  const site = headers.get('sec-fetch-site');
  return caller ? caller.person.id !== person.id : site === 'cross-site' || site === 'same-site';
}

function switchPage(basePath: string, link: string, { name, id }: Person, caller: Caller | undefined): string {
  const now = caller && `You are signed in as <bdi>${escaped(caller.person.name || caller.person.id)}</bdi>. `;
  return cardPage(
    basePath,
    'Sign in?',
    `<p>${now ?? ''}This link signs you in as <bdi>${escaped(name || id)}</bdi>.</p>
<div class="actions">
<form method="post" action="${escaped(link)}"><button class="button button-primary">Sign in</button></form>
<a class="button" href="${basePath}/">Cancel</a>
</div>`,
  );
}

/** Asks whether to sign out, or says that it is done. */
export async function logoutPage(signingIn: SigningIn, caller: Caller | undefined): Promise<Response> {
  const { basePath } = signingIn;
  if (caller === undefined) return answer(await signInPage(signingIn, 'You are signed out'));
  const { name, id } = caller.person;
  const who = `<p>You are signed in as <bdi>${escaped(name || id)}</bdi>.`;
  if (caller.proof !== 'session')
    return answer(
      cardPage(
        basePath,
        'Sign out at your organisation',
        `${who} Your organisation signs you in, so sign out there.</p>\n${backToApp(basePath, 'Back to the inbox')}`,
      ),
    );
  const after = signingIn.renewLink
    ? 'To sign in again, use the new link that the terminal will show.'
    : signingIn.company
      ? 'If your organisation signed you in, this signs you out there, too.'
      : signingIn.byMail
        ? 'To sign in again, have a link mailed to you.'
        : 'To sign in again, you need a new sign-in link.';
  return answer(
    cardPage(
      basePath,
      'Sign out?',
      `${who} ${after}</p>
<div class="actions">
<form method="post" action="${basePath}/logout"><button class="button button-primary">Sign out</button></form>
<a class="button" href="${basePath}/">Stay signed in</a>
</div>`,
    ),
  );
}

/** Ends the session. A form of the page leads to the page that says so, or to the issuer that signed the person in. */
export async function logout(
  { notes, basePath, renewLink, company, addressOf }: SigningIn,
  cookie: SessionCookie,
  request: Request,
  caller: Caller | undefined,
): Promise<Response> {
  const secret = readCookie(cookie, request.headers.get('cookie'));
  const returnTo = `${addressOf(request).origin}${basePath}/logout`;
  // Here the session ends even if the issuer cannot be reached.
  const elsewhere = await company?.endSessionUrl(secret, returnTo).catch(() => undefined);
  if (secret !== undefined) await endSession(notes, secret);
  if (caller?.proof === 'token') await revokeSignedIn(notes, bearerOf(request) ?? '');
  if (caller?.proof === 'session') await renewLink?.();
  const headers = { 'set-cookie': setCookie(cookie) };
  if (request.headers.get('accept')?.includes('text/html')) {
    if (!elsewhere) return goTo(`${basePath}/logout`, headers);
    // No redirect: browsers follow one after a form only to addresses that the policy of the page names.
    return leave(basePath, elsewhere, headers);
  }
  return new Response(null, { status: 204, headers });
}

function leave(
  basePath: string,
  { address, label }: { readonly address: string; readonly label: string },
  headers: Record<string, string>,
): Response {
  const body = `<p>You are signed out here. Next, ${escaped(label)} signs you out.</p>
<div class="actions"><a class="button button-primary" href="${escaped(address)}">Continue</a></div>`;
  const response = answer(cardPage(basePath, 'Signing out', body));
  for (const [name, value] of Object.entries({ ...headers, refresh: `0; url=${address}` }))
    response.headers.set(name, value);
  return response;
}

export async function signInPage(signingIn: SigningIn, heading: string): Promise<string> {
  const { basePath, renewLink, byMail, company } = signingIn;
  const buttons = company?.issuers.map((issuer) => issuerButton(basePath, issuer)).join('\n') ?? '';
  const withCompany = buttons === '' ? '' : `<div class="actions issuers">\n${buttons}\n</div>`;
  if (renewLink !== undefined) {
    const inTerminal = `${(await renewLink()) ? IN_THE_TERMINAL : TOO_MANY}\n${openInbox(basePath)}`;
    return cardPage(basePath, heading, `${withCompany}\n${inTerminal}`);
  }
  const byLink = byMail ? askForMail(basePath) : withCompany === '' ? `${ASK_SOMEONE}\n${openInbox(basePath)}` : '';
  return cardPage(basePath, heading, [ABOUT, withCompany, byLink, FOR_OPERATORS].filter(Boolean).join('\n'));
}

const issuerButton = (basePath: string, { name, label }: { readonly name: string; readonly label: string }): string =>
  `<a class="button button-primary" href="${basePath}/login/with/${escaped(name)}">Sign in with ${escaped(label)}</a>`;

const ABOUT = `<p>Programs ask people here before they do something important, such as a payment. Sign in to see what waits for your
decision.</p>`;

const askForMail = (basePath: string): string => `<form method="post" action="${basePath}/login/mail" class="ask">
<label for="name">Your mail address or user name</label>
<input id="name" name="name" required maxlength="200" autocomplete="username" autocapitalize="none" spellcheck="false">
<button class="button button-primary">Mail me a link</button>
</form>`;

const ASK_SOMEONE = `<p><strong>Ask the person who gave you this address for a sign-in link.</strong> It works once, within ten minutes. If your
organisation has its own sign-in, use that.</p>
<p>A link in a mail about one request works without signing in.</p>`;

const FOR_OPERATORS = `<details><summary>I run this server</summary>
<ul>
<li><code>countersign link &lt;name&gt;</code> creates a link that signs a person in.</li>
<li>People mail themselves a link where the channel <code>mail</code> and <code>publicUrl</code> are set up and their address is known.</li>
<li>The option <code>signIn</code> lets people use the account of your organisation: Google, Okta, Entra ID or another.</li>
<li>A program uses an API token, from <code>countersign tokens create</code>.</li>
</ul></details>`;

const IN_THE_TERMINAL = `<p><strong>The terminal that runs this server shows a new sign-in link.</strong> Open it there.</p>
<p>A link works once, within ten minutes.</p>`;

const TOO_MANY = '<p>The terminal has shown too many sign-in links. Wait ten minutes, then load this page again.</p>';

const openInbox = (basePath: string): string => backToApp(basePath, 'Open the inbox');

const backToApp = (basePath: string, text: string): string =>
  `<div class="actions"><a class="button" href="${basePath}/">${text}</a></div>`;

export const goTo = (location: string, headers: Record<string, string> = {}): Response =>
  new Response(null, { status: 303, headers: { location, ...headers } });

/** The pages depend on the person, so browsers must not keep them. */
export const answer = (text: string, status = 200): Response => htmlResponse(text, status, 'no-store');
