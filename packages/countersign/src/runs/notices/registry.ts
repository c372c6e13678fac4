// The channels that exist, in the store: a process puts hints for all of them, also for those that it does not have.
import { isObject, type Json } from '../../core/json.ts';
import type { Notes } from '../port/notes.ts';
import type { Channel } from './channel.ts';

/** A channel as the store knows it. */
export type RegisteredChannel = {
  readonly name: string;
  readonly audience: 'person' | 'shared';
  readonly all: boolean;
  /** Requests that were settled before are not announced. */
  readonly since: number;
  /** When a process had it last, to within an hour. */
  readonly lastSeenAt: number;
  /** How far the requests that were pending at `since` are announced; null if all are. */
  readonly announcing: { readonly after: string | null } | null;
};

const COLLECTION = 'channels';
/** More channels than this are a mistake. */
const MOST = 200;
const SEEN_EVERY_MS = 3_600_000;
/** A channel that no process has had for so long gets no more hints. If it comes back, it is new. */
const GONE_AFTER_MS = 30 * 24 * 3_600_000;

export class Registry {
  readonly #notes: Notes;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** The channels that a process has had lately. */
  async list(now: number): Promise<readonly RegisteredChannel[]> {
    const { items } = await this.#notes.list(COLLECTION, { limit: MOST });
    return items.flatMap(({ value }) => channelIn(value) ?? []).filter((channel) => !isGone(channel, now));
  }

  /** Says that a process has these channels. */
  async register(channels: readonly Channel[], now: number): Promise<void> {
    for (const { name, audience = 'shared', all = false } of channels) {
      const note = await this.#notes.get(COLLECTION, name);
      const known = note && channelIn(note.value);
      const { since, announcing } = known && !isGone(known, now) ? known : { since: now, announcing: { after: null } };
      const isSame = known && since === known.since && known.audience === audience && known.all === all;
      if (isSame && now - known.lastSeenAt < SEEN_EVERY_MS) continue;
      // If another process registers it at the same time, that counts.
      await this.#put({ name, audience, all, since, lastSeenAt: now, announcing }, note?.version ?? 0);
    }
  }

  /** Returns false if someone else changed the channel meanwhile. */
  async announced(channel: RegisteredChannel, after: string | null): Promise<boolean> {
    const note = await this.#notes.get(COLLECTION, channel.name);
    const known = note && channelIn(note.value);
    if (known?.announcing?.after !== channel.announcing?.after) return false;
    return this.#put(
      { ...known, announcing: after === null ? null : { after } } as RegisteredChannel,
      note?.version ?? 0,
    );
  }

  async remove(name: string): Promise<boolean> {
    return this.#notes.remove(COLLECTION, name);
  }

  #put(channel: RegisteredChannel, version: number): Promise<boolean> {
    return this.#notes.put(COLLECTION, channel.name, channel as unknown as Json, { version });
  }
}

const isGone = ({ lastSeenAt }: RegisteredChannel, now: number): boolean => now - lastSeenAt > GONE_AFTER_MS;

const channelIn = (value: Json): RegisteredChannel | undefined =>
  isObject(value) ? (value as unknown as RegisteredChannel) : undefined;
