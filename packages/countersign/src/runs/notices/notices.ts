// Notices about requests. Channels are added here, and their deliveries read, repeated and set up.

import type { Who } from '../../core/authority/policy.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { aFunction, aString, aWholeNumber, checkOptions, checkValue, type OptionTable } from '../../core/options.ts';
import type { Drives } from '../driving/driving.ts';
import { type KnownPerson, peopleCalled } from '../people.ts';
import type { Page } from '../port/page.ts';
import { unknownRequest } from '../port/run-id.ts';
import type { Store } from '../port/store.ts';
import type { Channel } from './channel.ts';
import type { NoticeHost } from './compose.ts';
import { type DeadLetter, DeadLetters, type Delivery, DeliveryLog } from './delivery-log.ts';
import { Entries, type Entry } from './entries.ts';
import type { TellingStore } from './fan-out.ts';
import { Hints, REMINDER } from './hints.ts';
import { Outbox } from './outbox.ts';
import { type NoticePreferences, Preferences } from './preferences.ts';
import { type RegisteredChannel, Registry } from './registry.ts';

/** The recipients of notices. */
export type NotifyOptions = {
  /** The recipients if the policy of a request names no people: people by their ids, or people and roles. None by default. */
  readonly everyone?: Who | readonly string[];
};

/** A channel and its deliveries. */
export type ChannelStatus = Pick<RegisteredChannel, 'name' | 'audience' | 'all' | 'lastSeenAt'> & {
  /** How many notices wait to be delivered. 1,000 means 1,000 or more, as for `dead`. */
  readonly waiting: number;
  /** How many notices were given up. */
  readonly dead: number;
  /** Null if nothing was delivered lately. */
  readonly lastDeliveredAt: number | null;
  /** The last failure since the last delivery; null if there is none. */
  readonly lastError: string | null;
};

/** Selects a page of dead letters or deliveries; 50 by default. */
export type DeliveryListOptions = {
  readonly channel?: string;
  /** The cursor of the page before. */
  readonly cursor?: string;
  readonly limit?: number;
};

const LIST_OPTIONS: OptionTable<DeliveryListOptions> = { channel: aString, cursor: aString, limit: aWholeNumber };

const MOST_COUNTED = 1_000;

/** Notices about requests; `ai.notices`. */
export class Notices {
  readonly #drives: Pick<Drives, 'store' | 'people' | 'time'>;
  readonly #everyone: Who;
  readonly #channels = new Map<string, Channel>();
  #host: NoticeHost = {};
  #isWorking = false;

  constructor(drives: Pick<Drives, 'store' | 'people' | 'time'>, { everyone = {} }: NotifyOptions = {}) {
    this.#drives = drives;
    this.#everyone = Array.isArray(everyone) ? { people: everyone } : (everyone as Who);
  }

  /** Adds a channel, before the first worker of this process starts. */
  add(channel: Channel): void {
    checkChannel(channel);
    const { name } = channel;
    if (this.#channels.has(name))
      throw new UsageError(
        'invalid-options',
        { channel: name },
        `A channel ${name} exists already. Give it another name.`,
      );
    if (this.#isWorking) {
      const message = `The channel ${name} was added after a worker had started. Add it before.`;
      throw new UsageError('invalid-options', { channel: name }, message);
    }
    tellingStore(this.#drives.store);
    this.#channels.set(name, channel);
  }

  /** Says where requests are shown and who may read them. A server calls it before its worker starts. */
  host(host: NoticeHost): void {
    checkOptions('`host`', host, {
      links: aFunction,
      describe: aFunction,
      mayRead: aFunction,
      isForEveryone: aFunction,
    });
    this.#host = host;
  }

  /** The channels of this process, by name. */
  get here(): ReadonlyMap<string, Channel> {
    return this.#channels;
  }

  /** The channels that some process has, with what waits and what failed. */
  async channels(): Promise<readonly ChannelStatus[]> {
    return Promise.all((await this.#registered()).map((channel) => this.#statusOf(channel)));
  }

  /** Lists notices that were given up, by channel. */
  async dead(options: DeliveryListOptions = {}): Promise<Page<DeadLetter>> {
    checkOptions('`dead`', options, LIST_OPTIONS);
    const { channel, cursor, limit = 50 } = options;
    const names = await this.#names(channel);
    // A cursor names the channel that the page before ended in.
    const [start = '', after] = cursor === undefined ? [] : splitCursor(cursor);
    const items: DeadLetter[] = [];
    for (const name of names.filter((other) => other >= start)) {
      const left = limit - items.length;
      if (left <= 0) return { items, cursor: `${name}/` };
      const page = await new DeadLetters(this.#notes, name).list(left, name === start && after ? after : undefined);
      items.push(...page.items);
      if (page.cursor !== null) return { items, cursor: `${name}/${page.cursor}` };
    }
    return { items, cursor: null };
  }

  /** Tries to deliver a dead letter again. Returns false if it does not exist. */
  async retry(channel: string, id: string): Promise<boolean> {
    const letters = new DeadLetters(this.#notes, channel);
    const letter = await letters.find(id);
    if (!letter) return false;
    const { requestId, person } = letter;
    await this.#lookAgain(channel, requestId, person, ({ dead: _dead, nextAt: _nextAt, ...entry }) => ({
      ...entry,
      attempts: 0,
    }));
    await letters.remove(requestId, person);
    return true;
  }

  /** Lists deliveries of the last seven days, newest first. */
  async log(options: DeliveryListOptions = {}): Promise<Page<Delivery>> {
    checkOptions('`log`', options, LIST_OPTIONS);
    const { channel, cursor, limit = 50 } = options;
    return new DeliveryLog(this.#notes).list(await this.#names(channel), limit, cursor);
  }

  /** Delivers the last notice about a request once more, with the same key, to all its recipients. */
  async resend(channel: string, requestId: string): Promise<void> {
    if (!(await this.#drives.store.request(requestId))) throw unknownRequest(requestId);
    const { entry } = await this.#entries(channel).find(requestId, null);
    const again = ({ dead: _dead, nextAt: _nextAt, ...rest }: Entry): Entry => ({ ...rest, attempts: 0, again: true });
    const people = entry.recipients && [...new Set(entry.recipients.map(({ person }) => person))];
    for (const person of people ?? [null]) await this.#lookAgain(channel, requestId, person, again);
  }

  /**
   * The people whom this id or mail address may mean, for a sign-in.
   * @internal
   */
  peopleCalled(name: string): Promise<readonly KnownPerson[]> {
    const { people } = this.#drives;
    return peopleCalled(name, { people, notes: this.#notes, everyone: this.#everyone });
  }

  /** The notices that a person wants. */
  preferencesOf(person: string): Promise<NoticePreferences> {
    checkPerson(person);
    return new Preferences(this.#notes).of(person);
  }

  /** Replaces the preferences of a person. Check first that the caller may do this. */
  setPreferences(person: string, preferences: NoticePreferences): Promise<void> {
    checkPerson(person);
    return new Preferences(this.#notes).set(person, preferences);
  }

  /** Removes a channel that no process has any more, so that nothing is kept for it. */
  async forget(channel: string): Promise<boolean> {
    return new Registry(this.#notes).remove(channel);
  }

  /** Closes the channels of this process. */
  async close(): Promise<void> {
    await Promise.all([...this.#channels.values()].map((channel) => channel.close?.()));
  }

  /** For a worker. Undefined if this process has no channels. */
  outbox(work: ConstructorParameters<typeof Outbox>[1]): Outbox | undefined {
    if (this.#channels.size === 0) return undefined;
    this.#isWorking = true;
    const { store, people, time } = this.#drives;
    const channels = [...this.#channels.values()];
    const options = { store: tellingStore(store), people, time, channels, everyone: this.#everyone, host: this.#host };
    return new Outbox(options, work);
  }

  get #notes() {
    return this.#drives.store.notes;
  }

  #entries(channel: string): Entries {
    return new Entries(this.#notes, channel, () => '');
  }

  async #registered(): Promise<readonly RegisteredChannel[]> {
    return new Registry(this.#notes).list(await this.#drives.store.now());
  }

  async #names(channel: string | undefined): Promise<readonly string[]> {
    return channel === undefined ? (await this.#registered()).map(({ name }) => name) : [channel];
  }

  /** The entry is changed first: a hint for a dead entry would have no effect. */
  async #lookAgain(
    channel: string,
    requestId: string,
    person: string | null,
    changed: (entry: Entry) => Entry,
  ): Promise<void> {
    await this.#entries(channel).change(requestId, person, changed);
    const dueAt = await this.#drives.store.now();
    await new Hints(this.#notes, channel).put({ dueAt, requestId, person, cause: 'asked' });
  }

  async #statusOf({ name, audience, all, lastSeenAt }: RegisteredChannel): Promise<ChannelStatus> {
    const notes = this.#notes;
    const [hints, dead, log] = await Promise.all([
      new Hints(notes, name).page(undefined, MOST_COUNTED),
      new DeadLetters(notes, name).list(MOST_COUNTED, undefined),
      new DeliveryLog(notes).list([name], 100, undefined),
    ]);
    const delivered = log.items.findIndex(({ outcome }) => outcome === 'delivered');
    const since = delivered < 0 ? log.items : log.items.slice(0, delivered);
    return {
      name,
      audience,
      all,
      lastSeenAt,
      waiting: hints.hints.filter(({ cause }) => cause !== REMINDER).length,
      dead: dead.items.length,
      lastDeliveredAt: log.items[delivered]?.at ?? null,
      lastError: since.find(({ error }) => error !== null)?.error ?? null,
    };
  }
}

/** Names the channel, and the letter in it after which the next page begins. */
function splitCursor(cursor: string): readonly [channel: string, after: string] {
  const slash = cursor.indexOf('/');
  return [cursor.slice(0, slash), cursor.slice(slash + 1)];
}

/** Throws if the store does not say which requests have news. */
function tellingStore(store: Store): TellingStore {
  if (store.takeUntold && store.told) return store as TellingStore;
  const message = 'Channels need a store with `takeUntold` and `told`, and this one does not have them.';
  throw new UsageError('invalid-options', { field: 'channels' }, message);
}

function checkChannel(channel: unknown): void {
  const { name, deliver } = (isObject(channel) ? channel : {}) as {
    readonly name?: unknown;
    readonly deliver?: unknown;
  };
  const isNamed = typeof name === 'string' && /^[A-Za-z0-9-]{1,64}$/.test(name);
  if (isNamed && typeof deliver === 'function') return;
  const problem = isNamed
    ? `The channel ${name} has no function \`deliver\`.`
    : `${JSON.stringify(name)} is not the name of a channel.`;
  const message = `${problem} A channel has a \`name\` of letters, digits and dashes, and a function \`deliver\`.`;
  throw new UsageError('invalid-options', { field: 'channels' }, message);
}

function checkPerson(person: unknown): void {
  checkValue('person', person, {
    is: 'the id of a person, of 1 to 200 characters',
    fits: (value) => typeof value === 'string' && value.length > 0 && value.length <= 200,
  });
}
