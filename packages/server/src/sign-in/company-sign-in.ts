// Signs people in with the company's account. What one sign-in must remember is made of the server's secret and a random text in a
// cookie, so strangers who begin sign-ins write nothing to the store.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { type Countersign, UsageError } from 'countersign';
import type { Notes } from 'countersign/store';
import { defined } from '../defined.ts';
import type { Identified } from '../identity/person.ts';
import { companySession, endSession, type SignedInBy, startSession } from '../identity/sessions.ts';
import { makeToken, type TokenRecord } from '../identity/tokens.ts';
import { createSecrets } from '../links/token.ts';
import type { AppOptions } from '../options.ts';
import { checkedIssuers, type Issuer, type SignInIssuer } from './issuers.ts';
import { bindSubject, isSignedOut } from './known-subjects.ts';
import { personOfClaims } from './person-of-claims.ts';
import { Provider, type Said, type Secrets } from './provider.ts';
import { confirmedNow } from './recheck.ts';
import { seal, unseal } from './sealed.ts';

type Options = {
  readonly notes: Notes;
  readonly signIn: readonly SignInIssuer[];
  readonly linkSecret: string | readonly string[] | undefined;
  /** Throws if this person may not sign in. */
  readonly admit: (person: string) => Promise<void>;
};

export type CompanySignIn = ReturnType<typeof createCompanySignIn>;

/** Undefined if no issuer is configured. Throws `invalid-options`. */
export function companySignInOf(ai: Countersign, options: AppOptions): CompanySignIn | undefined {
  const { signIn = [], publicUrl, hosts, linkSecret } = options;
  if (signIn.length === 0) return undefined;
  if (publicUrl === undefined && hosts !== 'loopback') {
    const message =
      '`signIn` needs `publicUrl`: issuers send people back to that address, such as https://approvals.example.com.';
    throw new UsageError('invalid-options', { option: 'signIn' }, message);
  }
  return createCompanySignIn({
    notes: ai.runs.notes,
    signIn,
    linkSecret,
    admit: (person) => ai.people.refuseRemoved(person),
  });
}

/** How long a person may take at the issuer. */
export const SIGN_IN_MS = 10 * 60_000;
const PURPOSE = 'countersign company sign-in 1';
const USED = 'sign-in-used';
const COOKIE = /^([\w.-]{1,50})!(\d{13})!([\w-]{43})$/;

export function createCompanySignIn({ notes, signIn, linkSecret, admit }: Options) {
  const providers = new Map(checkedIssuers(signIn).map((issuer) => [issuer.name, new Provider(issuer)]));
  const secrets = createSecrets(notes, linkSecret);

  function provider(name: string | undefined): Provider {
    const only = name === undefined && providers.size === 1 ? [...providers.keys()][0] : name;
    const found = providers.get(only ?? '');
    if (found) return found;
    const message = `There is no issuer ${name ?? 'without a name'}. There are: ${[...providers.keys()].join(', ')}.`;
    throw new UsageError('not-found', { status: 404 }, message);
  }

  /** The person whom the issuer names, if they may sign in now. */
  async function named({ issuer }: Provider, { claims, info }: Said) {
    const person = personOfClaims(issuer, claims, info);
    const sid = typeof claims.sid === 'string' ? claims.sid : undefined;
    const signedInBy: SignedInBy = { issuer: issuer.issuer, sub: claims.sub, ...defined({ sid }) };
    await bindSubject(notes, signedInBy, person.id);
    await admit(person.id);
    return { person, signedInBy };
  }

  /** Ends what was just made if the issuer, or an operator, has ended the sign-in meanwhile. */
  async function unlessEnded(person: string, by: SignedInBy, { claims }: Said, end: () => Promise<unknown>) {
    try {
      await admit(person);
      if (await isSignedOut(notes, by, Number(claims.iat)))
        throw new UsageError('not-allowed', { status: 403 }, 'The issuer has signed you out meanwhile.');
    } catch (error) {
      await end();
      throw error;
    }
  }

  return {
    issuers: [...providers.values()].map(({ issuer: { name, label } }) => ({ name, label })),
    provider,
    find: (name: string) => providers.get(name),

    /** Where the person goes, and the cookie that their browser keeps meanwhile. */
    async begin(name: string, redirectUri: string): Promise<{ readonly location: string; readonly cookie: string }> {
      const asked = provider(name);
      const cookie = `${name}!${Date.now() + SIGN_IN_MS}!${randomBytes(32).toString('base64url')}`;
      const [secret = ''] = await secrets();
      return { location: await asked.begin(redirectUri, secretsOf(secret, cookie)), cookie };
    },

    /** Takes the answer of the issuer, once. Returns the secret of the new session. Throws if anything is not as it was begun. */
    async finish(name: string, answer: URL, cookie: string | undefined) {
      const asked = provider(name);
      const [, begunWith, until = 0] = COOKIE.exec(cookie ?? '') ?? [];
      const own = (await secrets()).map((secret) => secretsOf(secret, cookie ?? ''));
      const begun = own.find(({ state }) => state === answer.searchParams.get('state'));
      if (begunWith !== name || !begun || Number(until) < Date.now()) throw notBegun();
      const said = await asked.finish(answer, begun);
      const used = createHash('sha256').update(begun.state).digest('hex');
      if (!(await notes.put(USED, used, true, { version: 0, expiresAt: Number(until) + SIGN_IN_MS }))) throw notBegun();
      const { person, signedInBy } = await named(asked, said);
      const { sessionMs, idleMs } = asked.issuer;
      const secret = await startSession(notes, person, (own) => ({
        ...{ signedInBy, confirmation: confirmedNow(asked.issuer, own, said.refreshToken) },
        ...{ idToken: seal(own, said.idToken), endsAt: Date.now() + sessionMs, idleMs },
      }));
      await unlessEnded(person.id, signedInBy, said, () => endSession(notes, secret));
      return { secret, sessionMs, person: person.id };
    },

    /** A token of the person who has confirmed the code of a device. */
    async finishDevice(
      name: string | undefined,
      deviceCode: string,
      label: string,
    ): Promise<'pending' | 'slower' | { readonly token: string; readonly record: TokenRecord }> {
      const asked = provider(name);
      const said = await asked.finishDevice(deviceCode);
      if (typeof said === 'string') return said;
      const { person, signedInBy } = await named(asked, said);
      const made = await makeToken(notes, tokenFor(person, label, asked.issuer), (own) => ({
        ...{ signedInBy, confirmation: confirmedNow(asked.issuer, own, said.refreshToken) },
      }));
      await unlessEnded(person.id, signedInBy, said, () => notes.remove('tokens', made.record.id));
      return made;
    },

    /** Where the session of this secret ends at its issuer; undefined if it has no such session, or the issuer cannot. */
    async endSessionUrl(secret: string | undefined, returnTo: string) {
      const session = secret === undefined ? undefined : await companySession(notes, secret);
      const found = session && providers.get(session.confirmation?.via);
      if (!session || !found || secret === undefined) return undefined;
      const address = await found.endSessionUrl(unseal(secret, session.idToken), returnTo);
      return address === undefined ? undefined : { address, label: found.issuer.label };
    },
  };
}

/** The state proves that this server began the sign-in, in this browser, with this issuer, until this time. */
function secretsOf(secret: string, cookie: string): Secrets {
  const make = (what: string) =>
    createHmac('sha256', secret).update(`${PURPOSE}\n${what}\n${cookie}`).digest('base64url');
  return { verifier: make('verifier'), state: make('state'), nonce: make('nonce') };
}

const tokenFor = ({ id, roles, reach }: Omit<Identified, 'context'>, label: string, { sessionMs }: Issuer) => ({
  ...{ person: id, label, expiresInMs: sessionMs },
  ...defined({ roles, reach }),
});

const notBegun = (): UsageError =>
  new UsageError(
    'not-allowed',
    { status: 403 },
    'This sign-in was not begun in this browser, took too long, or is over.',
  );
