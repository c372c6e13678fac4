// Asks the issuer again about people whom it has signed in: what it took away counts here no longer, without a new sign-in.
import { setTimeout as delay } from 'node:timers/promises';
import { type Json, UsageError } from 'countersign';
import type { Note, Notes } from 'countersign/store';
import type { Identified } from '../identity/person.ts';
import type { Confirmation, FromIssuer, Recheck } from '../identity/sessions.ts';
import type { Log } from '../log.ts';
import type { Issuer } from './issuers.ts';
import { personOfClaims } from './person-of-claims.ts';
import type { Provider } from './provider.ts';
import { seal, unseal } from './sealed.ts';

type Options = {
  readonly notes: Notes;
  readonly log: Log;
  /** The issuer with this name in the settings. */
  readonly find: (name: string) => Provider | undefined;
};

type Rights = Pick<Identified, 'roles' | 'reach'>;

/** `gone`: the issuer no longer vouches for the person. `silent`: it could not be asked. */
type Answer = { readonly refreshToken?: string | undefined } & (
  | { readonly says: 'gone' | 'silent' }
  | { readonly says: 'rights'; readonly rights: Rights }
);

/** Longer than all requests of one question may take. After it, another process may ask. */
const ASKING_MS = 60_000;
const POLL_MS = 100;
/** An issuer that could not be asked is left alone for so long. */
const RETRY_MS = 30_000;

/** What the issuer has just said, and when it is asked again. `secret`: of the session or the token that keeps this. */
export function confirmedNow(issuer: Issuer, secret: string, refreshToken: string | undefined): Confirmation {
  const { name: via, recheckMs, unconfirmedMs } = issuer;
  const at = Date.now();
  // Without a refresh token it cannot be asked, so the person signs in again.
  if (refreshToken === undefined) return { via, at, againAt: at + unconfirmedMs };
  return { via, at, againAt: at + Math.min(recheckMs, unconfirmedMs), refreshToken: seal(secret, refreshToken) };
}

export function createRecheck({ notes, log, find }: Options): Recheck {
  return async ({ collection, person, secret }, given) => {
    for (let note: Note | undefined = given; note; note = await notes.get(collection, note.key)) {
      const { signedInBy, confirmation } = note.value as Partial<FromIssuer>;
      if (signedInBy === undefined) return note;
      const provider = confirmation && find(confirmation.via);
      // An issuer that is configured no longer says nothing about anyone.
      if (!confirmation || provider?.issuer.issuer !== signedInBy.issuer) return undefined;
      const now = Date.now();
      if (now < confirmation.againAt) return note;
      if (now < (confirmation.askingUntil ?? 0)) {
        await delay(POLL_MS);
        continue;
      }
      // One process asks, because a refresh token that is used twice ends the sign-in at many issuers.
      const isClaimed = await write(collection, note, {
        confirmation: { ...confirmation, askingUntil: now + ASKING_MS },
      });
      const claimed = isClaimed ? await notes.get(collection, note.key) : undefined;
      if (!claimed) continue;
      const answer = await ask(provider, signedInBy.sub, person, confirmation, secret);
      const { unconfirmedMs } = provider.issuer;
      if (answer.says === 'gone' || (answer.says === 'silent' && now - confirmation.at >= unconfirmedMs)) {
        await notes.remove(collection, note.key);
        const why =
          answer.says === 'gone' ? 'does not vouch for this sign-in any longer' : 'could not be asked for too long';
        log('info', 'sign-in', { person, message: `Signed out: ${provider.issuer.name} ${why}.` });
        return undefined;
      }
      const { refreshToken } = answer;
      const next =
        answer.says === 'rights'
          ? { ...answer.rights, confirmation: confirmedNow(provider.issuer, secret, refreshToken) }
          : { confirmation: later(confirmation, now, unconfirmedMs, refreshToken && seal(secret, refreshToken)) };
      // A session that was ended meanwhile has no such version, and stays ended.
      return (await write(collection, claimed, next)) ? notes.get(collection, note.key) : undefined;
    }
    return undefined;
  };

  function write(collection: string, { key, value, version, expiresAt }: Note, changed: Partial<FromIssuer> & Rights) {
    return notes.put(collection, key, { ...(value as object), ...changed } as Json, { version, expiresAt });
  }

  async function ask(
    provider: Provider,
    sub: string,
    person: string,
    { refreshToken: sealed }: Confirmation,
    secret: string,
  ): Promise<Answer> {
    let refreshToken = sealed === undefined ? undefined : unseal(secret, sealed);
    if (refreshToken === undefined) return { says: 'silent' };
    try {
      const renewed = await provider.renew(refreshToken);
      if (renewed === 'gone') return { says: 'gone' };
      // Kept whatever comes next: the one before it may be of no use now.
      ({ refreshToken } = renewed);
      const { claims, info } = await renewed.said();
      const { id, roles, reach } = personOfClaims(provider.issuer, claims, info);
      if (claims.sub !== sub || id !== person) return { says: 'gone' };
      return { says: 'rights', rights: { roles, reach } as Rights, refreshToken };
    } catch (error) {
      log('warn', 'sign-in', { person, error });
      return { says: error instanceof UsageError ? 'gone' : 'silent', refreshToken };
    }
  }
}

/** At the latest when the person must sign in again. */
function later(
  { via, at, refreshToken }: Confirmation,
  now: number,
  unconfirmedMs: number,
  newest: string | undefined,
): Confirmation {
  const kept = newest ?? refreshToken;
  const againAt = Math.min(now + RETRY_MS, at + unconfirmedMs);
  return { via, at, againAt, ...(kept !== undefined && { refreshToken: kept }) };
}
