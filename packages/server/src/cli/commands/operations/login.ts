// `countersign login` and `logout`: the commands here act as a person, who signs in with the account of their organisation.
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { timeText } from '../../../text/moment.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import { CommandFailure, EXIT, usageFailure } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { type Action, httpUrl, withExamples } from '../options.ts';

type LoginOptions = { readonly url?: string; readonly issuer?: string };

/** What the server says about a device that signs in. */
type Begun = {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete?: string;
  readonly expires_in: number;
  readonly interval?: number;
};

type Made = {
  readonly token: string;
  readonly person: string;
  readonly roles: readonly string[];
  readonly reach: 'own' | 'all';
  readonly expiresAt: number;
};

/** Those of RFC 8628. */
const INTERVAL_S = 5;
const SLOWER_S = 5;
const TIMEOUT_MS = 30_000;

const withUrl = (command: Command): Command =>
  command.option('--url <url>', 'the server (env: COUNTERSIGN_URL)', httpUrl);

export function addLogin(program: Command, action: Action): void {
  const command = withUrl(program.command('login'))
    .summary('sign in to a server with the account of your organisation')
    .description(
      [
        'Signs you in to a server, for the commands here: it prints an address and a code, waits until you have confirmed the code in a browser, and keeps a token for this server in a file that only you can read.',
        'The token has the roles that your organisation gives you now. It ends like a session, or when your organisation signs you out. --token and COUNTERSIGN_TOKEN win over it.',
      ].join('\n\n'),
    )
    .option('--issuer <name>', 'which of several accounts, by its name in the settings of the server')
    .action(action(login));
  withExamples(command, ['countersign login --url https://approvals.example.com', 'then: countersign inbox --url …']);
}

export function addLogout(program: Command, action: Action): void {
  const command = withUrl(program.command('logout'))
    .summary('revoke the token of countersign login')
    .description('Revokes the token that `countersign login` has got from this server, and forgets it.')
    .action(action(logout));
  withExamples(command, [
    'countersign logout --url https://approvals.example.com',
    'before somebody else uses this machine',
  ]);
}

async function login(output: Output, options: LoginOptions): Promise<undefined> {
  const url = await addressOf(options);
  const issuer = options.issuer === undefined ? {} : { issuer: options.issuer };
  const begun = (await post(url, 'login/device', issuer)).body as Begun;
  const { user_code: code, verification_uri: address, verification_uri_complete: whole } = begun;
  if (output.json) output.document({ type: 'code', code, address, ...(whole && { whole }) }, { follow: true });
  else {
    output.line(`Open this address in a browser: ${visibleLine(address)}`);
    output.line(`Enter this code:                ${output.style('bold', visibleLine(code))}`);
    if (whole !== undefined) output.note(`Or open both at once: ${visibleLine(whole)}`);
    output.note('Waiting until you have confirmed it. Ctrl-C ends it.');
  }
  const { token, person, roles, reach, expiresAt } = await confirmed(url, begun, issuer);
  const { saveToken } = await import('../../runtime/saved-tokens.ts');
  saveToken(url, { token, person, expiresAt });
  if (output.json)
    return output.document({ type: 'signed-in', person, roles, reach, expiresAt }, { follow: true }) as undefined;
  output.line(`Signed in to ${url} as ${visibleLine(person)} until ${timeText(expiresAt)}.`);
  return undefined;
}

/** Asks until the person has confirmed the code. */
async function confirmed(url: string, begun: Begun, issuer: object): Promise<Made> {
  const until = Date.now() + begun.expires_in * 1_000;
  let seconds = begun.interval ?? INTERVAL_S;
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    const sent = { deviceCode: begun.device_code, label: `countersign login on ${hostname()}`, ...issuer };
    const { status, body } = await post(url, 'login/device/token', sent);
    if (status === 200) return body as Made;
    if ((body as { status?: unknown }).status === 'slower') seconds += SLOWER_S;
  }
  throw new CommandFailure(EXIT.failure, 'expired', 'Nobody confirmed the code in time.', { hint: 'Run it again.' });
}

async function logout(output: Output, options: LoginOptions): Promise<undefined> {
  const url = await addressOf(options);
  const { forgetToken, savedToken } = await import('../../runtime/saved-tokens.ts');
  const token = savedToken(url)?.token;
  if (token !== undefined) {
    const headers = { authorization: `Bearer ${token}` };
    const response = await asked(
      url,
      fetch(`${url}/logout`, { method: 'POST', headers, signal: AbortSignal.timeout(TIMEOUT_MS) }),
    );
    // Revoked before is revoked, too.
    if (!response.ok && response.status !== 401) throw refused(url, response.status, undefined);
  }
  const isForgotten = forgetToken(url);
  if (output.json) output.document({ url, revoked: token !== undefined });
  else output.line(isForgotten ? `Signed out of ${url}.` : `You were not signed in to ${url}.`);
  return undefined;
}

async function addressOf({ url }: LoginOptions): Promise<string> {
  const { serverUrl } = await import('../../runtime/opening.ts');
  const address = serverUrl(url === undefined ? {} : { url });
  if (address !== undefined) return address;
  throw usageFailure('Which server?', 'Pass --url https://approvals.example.com, or set COUNTERSIGN_URL');
}

async function post(
  url: string,
  path: string,
  body: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await asked(
    url,
    fetch(`${url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }),
  );
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return { status: response.status, body: answer };
  throw refused(url, response.status, (answer as { detail?: unknown } | undefined)?.detail);
}

async function asked(url: string, response: Promise<Response>): Promise<Response> {
  const { rootReason } = await import('../../backend/unreachable.ts');
  return response.catch((error: unknown) => {
    throw new CommandFailure(EXIT.failure, 'unreachable', `Cannot reach ${url}: ${rootReason(error)}.`, {
      hint: `Is it running? Check with: countersign doctor --url ${url}`,
    });
  });
}

/** A server without `signIn` has no such route. */
function refused(url: string, status: number, detail: unknown): CommandFailure {
  const isMissing = status === 404 && !/issuer|device/.test(String(detail));
  if (isMissing)
    return new CommandFailure(
      EXIT.notFound,
      'not-found',
      `${url} does not sign people in with the account of an organisation.`,
      {
        hint: 'Configure `signIn` there, or use a token: countersign tokens create',
      },
    );
  const message = typeof detail === 'string' ? detail : `${url} answered with ${status}.`;
  return new CommandFailure(status === 404 ? EXIT.notFound : EXIT.failure, 'not-signed-in', message);
}
