// The browsers that people asked to be told in. A browser belongs to the person who subscribed last.
import { createHash } from 'node:crypto';
import type { Json } from 'countersign';
import type { Notes } from 'countersign/store';

/** What a browser gives for pushes to it. */
export type Subscription = {
  /** The address at the push service. */
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
};

/** The subscriptions of a person. */
const DEVICES = 'push-devices';
/** The person whom a subscription belongs to, by its endpoint: two people may use one browser. */
const OWNERS = 'push-owners';
/** Of more, the oldest is dropped. */
const MOST_DEVICES = 20;

const ownerKey = (endpoint: string): string => createHash('sha256').update(endpoint).digest('base64url');

export class Subscriptions {
  readonly #notes: Notes;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  async of(person: string): Promise<readonly Subscription[]> {
    const all = devicesIn((await this.#notes.get(DEVICES, person))?.value);
    if (all.length === 0) return [];
    const owners = await this.#notes.getMany(
      OWNERS,
      all.map(({ endpoint }) => ownerKey(endpoint)),
    );
    const own = new Set(owners.filter(({ value }) => value === person).map(({ key }) => key));
    return all.filter(({ endpoint }) => own.has(ownerKey(endpoint)));
  }

  async add(person: string, { endpoint, keys: { p256dh, auth } }: Subscription): Promise<void> {
    await this.#notes.put(OWNERS, ownerKey(endpoint), person);
    await this.#change(person, (devices) =>
      [...without(devices, endpoint), { endpoint, keys: { p256dh, auth } }].slice(-MOST_DEVICES),
    );
  }

  async remove(person: string, endpoint: string): Promise<void> {
    await this.#change(person, (devices) => without(devices, endpoint));
    const owner = await this.#notes.get(OWNERS, ownerKey(endpoint));
    if (owner?.value === person) await this.#notes.remove(OWNERS, ownerKey(endpoint));
  }

  async #change(person: string, changed: (devices: readonly Subscription[]) => readonly Subscription[]): Promise<void> {
    for (;;) {
      const note = await this.#notes.get(DEVICES, person);
      const devices = changed(devicesIn(note?.value));
      if (await this.#notes.put(DEVICES, person, [...devices], { version: note?.version ?? 0 })) return;
    }
  }
}

const without = (devices: readonly Subscription[], endpoint: string): readonly Subscription[] =>
  devices.filter((device) => device.endpoint !== endpoint);

/** Only `add` writes these notes. */
const devicesIn = (value: Json | undefined): readonly Subscription[] =>
  Array.isArray(value) ? (value as unknown as readonly Subscription[]) : [];
