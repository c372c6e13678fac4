// The log of deliveries: notices, their recipients, and failures. For people; nothing depends on it. Kept for a week.
import { randomUUID } from 'node:crypto';
import type { Json } from '../../core/json.ts';
import type { NoticeType } from '../../core/request/notice.ts';
import type { Notes } from '../port/notes.ts';
import type { Page } from '../port/page.ts';
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
  /** `given-up`: it failed, and is not tried again. `refused`: the person may not read the request. `off`: they do not want it. */
  readonly outcome: 'delivered' | 'failed' | 'given-up' | 'refused' | 'off';
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
