// What became of notices, for people: a log of the deliveries of a week, and dead letters, the notices that were given up.
//
// Nothing depends on the log. A dead letter stays for a month, or until someone tries it again.
import { randomUUID } from 'node:crypto';
import type { Json } from '../../core/json.ts';
import type { NoticeType } from '../../core/request/notice.ts';
import type { Notes } from '../port/notes.ts';
import type { Page } from '../port/page.ts';
import { entryKey } from './entries.ts';
import { newestFirst } from './key-part.ts';

/** One attempt to deliver a notice. */
export type Delivery = Attempted & { readonly id: string };

export type Attempted = {
  readonly channel: string;
  /** Null if it failed before it was known what to tell. */
  readonly type: NoticeType | null;
  /** Which reminder or escalation it is, from 1; 0 for other notices. */
  readonly number: number;
  readonly requestId: string;
  /** Null on a shared channel. */
  readonly person: string | null;
  /**
   * `given-up`: it failed, and is not tried again. `refused`: the person may not read the request. `off`: they do not want it.
   * `unreachable`: the person who asked for the call has no address on this channel.
   */
  readonly outcome: 'delivered' | 'failed' | 'given-up' | 'refused' | 'off' | 'unreachable';
  readonly attempt: number;
  readonly error: string | null;
  /** How long it took. */
  readonly ms: number;
  readonly at: number;
};

const KEPT_MS = 7 * 24 * 3_600_000;

const collectionOf = (channel: string): string => `delivery-log-${channel}`;

export class DeliveryLog {
  readonly #notes: Notes;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  async add(delivery: Attempted): Promise<void> {
    const { channel, at } = delivery;
    const key = `${newestFirst(at)}|${randomUUID().slice(0, 8)}`;
    await this.#notes.put(collectionOf(channel), key, delivery as Json, { expiresAt: at + KEPT_MS });
  }

  /** Newest first. The keys of all channels have one order, so one cursor is enough for all of them. */
  async list(channels: readonly string[], limit: number, after: string | undefined): Promise<Page<Delivery>> {
    const query = { limit, ...(after !== undefined && { after }) };
    const pages = await Promise.all(channels.map((channel) => this.#notes.list(collectionOf(channel), query)));
    const found = pages.flatMap(({ items }) => items).sort((a, b) => (a.key < b.key ? -1 : 1));
    const items = found.slice(0, limit);
    const isMore = found.length > limit || pages.some(({ cursor }) => cursor !== null);
    return {
      items: items.map(({ key, value }) => ({ id: key, ...(value as unknown as Attempted) })),
      cursor: isMore ? (items.at(-1)?.key ?? null) : null,
    };
  }
}

/** Notices about one request that a channel could not deliver. */
export type DeadLetter = {
  /** Pass it to `ai.notices.retry`. */
  readonly id: string;
  readonly channel: string;
  readonly requestId: string;
  /** Null on a shared channel. */
  readonly person: string | null;
  readonly types: readonly NoticeType[];
  readonly attempts: number;
  readonly error: string;
  /** When it was given up. */
  readonly at: number;
};

const LETTERS_KEPT_MS = 30 * 24 * 3_600_000;

export class DeadLetters {
  readonly #notes: Notes;
  readonly #channel: string;

  constructor(notes: Notes, channel: string) {
    this.#notes = notes;
    this.#channel = channel;
  }

  async put(letter: Omit<DeadLetter, 'id' | 'channel'>): Promise<void> {
    const id = entryKey(letter.requestId, letter.person);
    const value = { id, channel: this.#channel, ...letter };
    await this.#notes.put(this.#collection, id, value as Json, { expiresAt: letter.at + LETTERS_KEPT_MS });
  }

  async find(id: string): Promise<DeadLetter | undefined> {
    return (await this.#notes.get(this.#collection, id))?.value as unknown as DeadLetter | undefined;
  }

  async remove(requestId: string, person: string | null): Promise<void> {
    await this.#notes.remove(this.#collection, entryKey(requestId, person));
  }

  async list(limit: number, after: string | undefined): Promise<Page<DeadLetter>> {
    const page = await this.#notes.list(this.#collection, { limit, ...(after !== undefined && { after }) });
    return { ...page, items: page.items.map(({ value }) => value as unknown as DeadLetter) };
  }

  get #collection(): string {
    return `dead-${this.#channel}`;
  }
}
