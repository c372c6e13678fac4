// Dead letters: notices that were given up. They stay for a month, or until someone tries them again.
import type { Json } from '../../core/json.ts';
import type { NoticeType } from '../../core/request/notice.ts';
import type { Notes } from '../port/notes.ts';
import type { Page } from '../port/page.ts';
import { entryKey } from './entries.ts';

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

const KEPT_MS = 30 * 24 * 3_600_000;

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
    await this.#notes.put(this.#collection, id, value as Json, { expiresAt: letter.at + KEPT_MS });
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
