// When a notice is told: an approval with its outcome, several of a burst together, and as the person prefers.
import { isObject } from '../../core/json.ts';
import type { RequestNotice } from '../../core/request/notice.ts';
import type { Notes } from '../port/notes.ts';
import type { RunRequest } from '../requests/view.ts';
import type { Channel } from './channel.ts';
import type { Entry } from './entries.ts';
import type { Hint } from './hints.ts';
import { keyPart } from './key-part.ts';
import { isOver, toldAfterOutcome } from './plan.ts';
import { gathersBursts, Preferences, type Wanted, wantedAt } from './preferences.ts';

/** The due notice, the request, and what was delivered about it before. */
type Due = { readonly notice: RequestNotice; readonly card: RunRequest; readonly entry: Entry; readonly hint: Hint };

const NOW: Wanted = { when: 'now' };

export class Timing {
  readonly #channel: Channel;
  readonly #now: () => number;
  readonly #preferences: Preferences;
  readonly #bursts: Bursts;

  constructor(channel: Channel, notes: Notes, now: () => number) {
    this.#channel = channel;
    this.#now = now;
    this.#preferences = new Preferences(notes);
    this.#bursts = new Bursts(notes, channel.name);
  }

  async wantedAt({ notice, card, entry, hint }: Due): Promise<Wanted> {
    const { name, all = false } = this.#channel;
    const { person } = entry;
    const now = this.#now();
    const preferences = person === null ? {} : await this.#preferences.of(person);
    const wanted = person === null ? NOW : await wantedAt(preferences, name, card, now, hint.digest === true);
    // A message that is changed later need not wait, and disturbs nobody.
    if (wanted.when === 'never' || entry.again || isUpdate(this.#channel, notice, entry)) return neverOrNow(wanted);
    const decidedAt = all ? undefined : toldAfterOutcome(notice, card, now);
    if (decidedAt !== undefined) return { when: 'later', at: decidedAt, digest: hint.digest === true };
    if (wanted.when === 'later' || person === null || hint.digest) return wanted;
    if (!this.#channel.digest || !gathersBursts(preferences)) return wanted;
    const at = await this.#bursts.endsAt(person, card, now);
    return at === undefined ? NOW : { when: 'later', at, digest: true };
  }

  /** A digest is told now: what comes soon after it waits for the next one. */
  async beginBurst(person: string): Promise<void> {
    await this.#bursts.begin(person, this.#now());
  }
}

const neverOrNow = (wanted: Wanted): Wanted => (wanted.when === 'never' ? wanted : NOW);

/** Whether the notice changes a message that was sent before. */
export const isUpdate = ({ update }: Channel, notice: RequestNotice, { receipt }: Entry): boolean =>
  update !== undefined && receipt !== undefined && isOver(notice);

/** How long notices are gathered after the first one. Short, because a request of high risk may be among them. */
const BURST_MS = 120_000;

/** `requestId`: what the first notice was about; null after a digest. Further news of it comes at once. */
type Burst = { readonly requestId: string | null; readonly endsAt: number };

/** The first notice to a person comes at once. What follows about other requests, within a short time, comes together. */
class Bursts {
  readonly #notes: Notes;
  readonly #collection: string;

  constructor(notes: Notes, channel: string) {
    this.#notes = notes;
    this.#collection = `bursts-${channel}`;
  }

  /** When the notice is told together with others; undefined if it is told now. Then it begins a burst. */
  async endsAt(
    person: string,
    { id, expiresAt, settledAt }: Pick<RunRequest, 'id' | 'expiresAt' | 'settledAt'>,
    now: number,
  ): Promise<number | undefined> {
    for (;;) {
      const note = await this.#notes.get(this.#collection, keyPart(person));
      const burst = note && isObject(note.value) ? (note.value as Burst) : undefined;
      if (burst && burst.endsAt > now) {
        const isTooLate = settledAt === null && expiresAt !== null && expiresAt <= burst.endsAt;
        return burst.requestId === id || isTooLate ? undefined : burst.endsAt;
      }
      // Of several processes, one begins the burst, and the others read it.
      if (await this.#put(person, { requestId: id, endsAt: now + BURST_MS }, note?.version ?? 0)) return undefined;
    }
  }

  /** A digest is told now. */
  async begin(person: string, now: number): Promise<void> {
    await this.#put(person, { requestId: null, endsAt: now + BURST_MS });
  }

  #put(person: string, burst: Burst, version?: number): Promise<boolean> {
    const options = { expiresAt: burst.endsAt, ...(version !== undefined && { version }) };
    return this.#notes.put(this.#collection, keyPart(person), burst, options);
  }
}
