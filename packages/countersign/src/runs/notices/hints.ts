// The queue of a channel: hints, which say that a request may have news for the channel, and when to look. A hint is never the truth:
// the entry is. So a repeated or outdated hint does no harm, and a hint is removed only after its request was looked at.
import { isObject } from '../../core/json.ts';
import type { Notes } from '../port/notes.ts';
import { keyPart, timePart } from './key-part.ts';

export type Hint = {
  /** Its key in the store, in the order of `dueAt`, then by person, so that a digest finds its notices together. */
  readonly key: string;
  readonly dueAt: number;
  readonly requestId: string;
  /** Null for the request as a whole: on a shared channel, or until the recipients are known. */
  readonly person: string | null;
  /** What caused it. Hints of different causes have different keys: removing one never removes another. */
  readonly cause: string;
  /** It waits to be told together with others. */
  readonly digest?: true;
};

/** The cause of hints for reminders, which wait for their time. */
export const REMINDER = 'reminder';

export type NewHint = Omit<Hint, 'key'>;

export class Hints {
  readonly #notes: Notes;
  readonly #collection: string;

  constructor(notes: Notes, channel: string) {
    this.#notes = notes;
    this.#collection = `outbox-${channel}`;
  }

  async put(hint: NewHint): Promise<void> {
    const { dueAt, requestId, person, cause, digest } = hint;
    const key = `${timePart(dueAt)}|${keyPart(person ?? '')}|${keyPart(requestId)}|${cause}`;
    await this.#notes.put(this.#collection, key, { dueAt, requestId, person, cause, ...(digest && { digest }) });
  }

  async remove({ key }: Hint): Promise<void> {
    await this.#notes.remove(this.#collection, key);
  }

  /** Another process may have finished it since it was listed. */
  async exists({ key }: Hint): Promise<boolean> {
    return (await this.#notes.get(this.#collection, key)) !== undefined;
  }

  /** A page of hints, the earliest first. */
  async page(
    after: string | undefined,
    limit: number,
  ): Promise<{ readonly hints: readonly Hint[]; readonly cursor: string | null }> {
    const { items, cursor } = await this.#notes.list(this.#collection, {
      limit,
      ...(after !== undefined && { after }),
    });
    const hints = items.flatMap(({ key, value }) => (isObject(value) ? [{ ...(value as NewHint), key }] : []));
    return { hints, cursor };
  }
}
