// Signs people in by a one-time link, and out.
import type { Notes } from 'countersign/store';
import { endSession, readCookie, type SessionCookie, setCookie, takeLogin } from '../identity/sessions.ts';
import { htmlResponse, page } from './html.ts';

/** Uses up the link and starts a session; undefined if the request has no token. */
export async function login(
  notes: Notes,
  cookie: SessionCookie,
  url: URL,
  basePath: string,
): Promise<Response | undefined> {
  const token = url.searchParams.get('token');
  if (token === null) return undefined;
  const secret = await takeLogin(notes, token);
  if (secret === undefined) return htmlResponse(USED, 401);
  const headers = { location: `${basePath}/`, 'set-cookie': setCookie(cookie, secret) };
  return new Response(null, { status: 303, headers });
}

export async function logout(notes: Notes, cookie: SessionCookie, request: Request): Promise<Response> {
  const secret = readCookie(cookie, request.headers.get('cookie'));
  if (secret !== undefined) await endSession(notes, secret);
  return new Response(null, { status: 204, headers: { 'set-cookie': setCookie(cookie) } });
}

const USED = page(
  'Sign in',
  `<h1>This sign-in link has expired</h1>
<p>A link works once, for ten minutes. The server prints a new one when it starts.</p>`,
);
