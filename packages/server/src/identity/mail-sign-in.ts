// Signs a person in by a link in a mail. The answer and its time are the same for people whom the server knows and for others.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Countersign } from 'countersign';
import { internalsOf } from 'countersign/store';
import type { ServerChannel } from '../channels/server-channel.ts';
import { createSecrets } from '../links/token.ts';
import type { Log } from '../log.ts';
import type { AppOptions } from '../options.ts';
import { type Identified, isPersonId, type Person } from './person.ts';
import { createLoginToken, personOfLogin, takeLogin } from './sessions.ts';

export type MailSignIn = {
  /** Sends a link if this is the id or the address of one person. Returns at once and never throws. */
  ask(name: string): void;
  /** The person whom the link signs in; undefined if it was used, has expired, or was not made here. */
  personOf(token: string): Promise<Person | undefined>;
  /** Uses the link up, and returns the secret of a new session. */
  take(token: string): Promise<string | undefined>;
};

type Options = Pick<AppOptions, 'channels' | 'identify' | 'identifyPerson' | 'linkSecret' | 'mailSignIn' | 'signIn'> & {
  readonly publicUrl?: string | undefined;
  readonly basePath: string;
  readonly log: Log;
};

type Mailing = Required<Pick<ServerChannel, 'signIn'>>;

/** So that a signature under the same secret for another purpose signs nobody in. */
const PURPOSE = 'countersign sign-in link 1';
const TOKEN = /^([\w-]{43})\.([\w-]{43})$/;
/** A person gets so many mails in this period, and all people together so many from this process. */
const MOST_FOR_ONE = 3;
const MOST_FOR_ALL = 300;
/** A directory is asked about so many names at once, whoever sends them. */
const MOST_AT_ONCE = 100;
const PERIOD_MS = 10 * 60_000;
const SENDING_MS = 30_000;

/** Undefined if no channel can send the link, or a proxy or your own login signs people in. */
export function mailSignIn(ai: Countersign, options: Options): MailSignIn | undefined {
  const { channels = [], publicUrl, basePath, log } = options;
  // A link in a mail must not be a way around the sign-in of the organisation.
  const isOn = options.mailSignIn ?? (options.identify === undefined && (options.signIn ?? []).length === 0);
  const channel = channels.find((one): one is ServerChannel & Mailing => one.signIn !== undefined);
  // The address of a request could be anyone's, and the mail would carry the link there.
  if (!isOn || !channel || publicUrl === undefined) return undefined;
  const { notes } = ai.runs;
  const secrets = createSecrets(notes, options.linkSecret);
  /** When mails were sent. Names that nobody has do not count: a stranger who sends them keeps nobody else out. */
  let mailed: readonly number[] = [];
  let sending = 0;

  /** The link signs this person in, and nobody else. */
  const signatureOf = (secret: string, token: string, person: string): Buffer =>
    createHmac('sha256', secret).update(`${PURPOSE}\n${token}\n${person}`).digest();

  async function send(name: string): Promise<void> {
    const [found, ...others] = isPersonId(name) ? await internalsOf(ai).peopleCalled(name) : [];
    // An address of several people says nobody.
    if (!found || others.length > 0) return;
    const person = await rightsOf(found.person);
    const now = performance.now();
    mailed = mailed.filter((at) => now - at < PERIOD_MS);
    if (!person || mailed.length >= MOST_FOR_ALL || !(await mayMail(found.person))) return;
    mailed = [...mailed, now];
    const { name: called } = found.contact;
    const token = await createLoginToken(notes, { ...(called !== undefined && { name: called }), ...person }, KIND);
    const [secret = ''] = await secrets();
    const signed = `${token}.${signatureOf(secret, token, person.id).toString('base64url')}`;
    const link = `${publicUrl?.replace(/\/$/, '')}${basePath}/login/mail/${signed}`;
    await channel?.signIn(
      { person: person.id, contact: found.contact, link },
      { signal: AbortSignal.timeout(SENDING_MS) },
    );
    log('info', 'sign-in', { person: person.id, message: 'A sign-in link was mailed.' });
  }

  async function rightsOf(id: string): Promise<Omit<Identified, 'context'> | undefined> {
    const identified = options.identifyPerson ? await options.identifyPerson(id) : { id };
    if (!identified || identified.id !== id) return undefined;
    const { context: _context, ...rights } = identified;
    return rights;
  }

  /** Counted in the store, so that it holds for all processes. */
  async function mayMail(person: string): Promise<boolean> {
    const key = createHash('sha256').update(person).digest('hex');
    const note = await notes.get(SENT, key);
    const now = Date.now();
    const sent = ((note?.value ?? []) as readonly number[]).filter((at) => now - at < PERIOD_MS);
    if (sent.length >= MOST_FOR_ONE) return false;
    return notes.put(SENT, key, [...sent, now], { version: note?.version ?? 0, expiresAt: now + PERIOD_MS });
  }

  /** The token and its person, if it was made here for them, and they still have rights. */
  async function opened(given: string): Promise<{ readonly token: string; readonly person: Person } | undefined> {
    const [, token = '', signature = ''] = TOKEN.exec(given) ?? [];
    const person = await personOfLogin(notes, token, KIND);
    if (!person) return undefined;
    const sent = Buffer.from(signature, 'base64url');
    const own = (await secrets()).map((secret) => signatureOf(secret, token, person.id));
    const isOwn = own.map((one) => one.length === sent.length && timingSafeEqual(one, sent)).includes(true);
    return isOwn && (await rightsOf(person.id)) ? { token, person } : undefined;
  }

  return {
    ask(name) {
      if (sending >= MOST_AT_ONCE) return;
      sending += 1;
      // After the answer, whose time then says nothing about the name.
      setImmediate(() =>
        send(name.trim())
          .catch((error: unknown) => log('error', 'sign-in', { error }))
          .finally(() => {
            sending -= 1;
          }),
      );
    },
    personOf: async (given) => (await opened(given))?.person,
    take: async (given) => {
      const found = await opened(given);
      return found && takeLogin(notes, found.token, KIND);
    },
  };
}

const SENT = 'login-mails';
const KIND = 'login-links-mailed';
