// The browsers that people asked to be told in. A browser belongs to the person who subscribed last.
import { createHash } from 'node:crypto';
import type { Json } from 'countersign';
import type { Notes } from 'countersign/store';
import { defined } from '../../defined.ts';
import { openSessions } from '../../identity/sessions.ts';

/** What a browser gives for pushes to it. */
export type Subscription = {
  /** The address at the push service. */
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
};

type Device = Subscription & { readonly session?: string };

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
    const open = await openSessions(
      this.#notes,
      all.flatMap(({ session }) => session ?? []),
    );
    return all
      .filter(({ endpoint, session }) => own.has(ownerKey(endpoint)) && (session === undefined || open.has(session)))
      .map(({ session: _session, ...subscription }) => subscription);
  }

  /** `session`: its pushes end with this session, if the person is signed in by one. */
  async add(
    person: string,
    { endpoint, keys: { p256dh, auth } }: Subscription,
    session: string | undefined,
  ): Promise<void> {
    await this.#notes.put(OWNERS, ownerKey(endpoint), person);
    const device = { endpoint, keys: { p256dh, auth }, ...defined({ session }) };
    await this.#change(person, (devices) => [...without(devices, endpoint), device].slice(-MOST_DEVICES));
  }

  async remove(person: string, endpoint: string): Promise<void> {
    await this.#change(person, (devices) => without(devices, endpoint));
    const owner = await this.#notes.get(OWNERS, ownerKey(endpoint));
    if (owner?.value === person) await this.#notes.remove(OWNERS, ownerKey(endpoint));
  }

  async #change(person: string, changed: (devices: readonly Device[]) => readonly Device[]): Promise<void> {
    for (;;) {
      const note = await this.#notes.get(DEVICES, person);
      const devices = changed(devicesIn(note?.value));
      if (await this.#notes.put(DEVICES, person, [...devices], { version: note?.version ?? 0 })) return;
    }
  }
}

const without = (devices: readonly Device[], endpoint: string): readonly Device[] =>
  devices.filter((device) => device.endpoint !== endpoint);

/** Only `add` writes these notes. */
const devicesIn = (value: Json | undefined): readonly Device[] =>
  Array.isArray(value) ? (value as unknown as readonly Device[]) : [];
