// Delivery: looks at the request of a hint, tells what was not told yet, and records it.
//
// What stays true, so that a crash at any step loses nothing:
// - The entry is the truth about what was delivered. It is changed only with its lease, and each notice is recorded on its own.
// - A hint is removed only after the request was looked at, and after every hint that replaces it was put.
// - Every step can be repeated: a notice that was delivered but not recorded is delivered again, with the same key.
import { messageOf } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { noticesOf, type QuestionNotice } from '../../core/notice.ts';
import { untilAborted } from '../../models/abort.ts';
import type { Store } from '../port/store.ts';
import { interruptView, type RunInterrupt } from '../questions/view.ts';
import { MOST_ATTEMPTS, pauseAfter } from './backoff.ts';
import type { Channel, Notice } from './channel.ts';
import { type Composing, noticeFor } from './compose.ts';
import { DeadLetters } from './dead-letters.ts';
import { type Delivery, DeliveryLog } from './delivery-log.ts';
import { Entries, type Entry, type Kept, type Told } from './entries.ts';
import { type Hint, Hints, REMINDER } from './hints.ts';
import { isOver, nextReminderOf, type Plan, planFor, stillConcerns, undelivered } from './plan.ts';
import { Preferences, wantedAt } from './preferences.ts';
import { type Asked, recipientsOf } from './recipients.ts';

export type DelivererOptions = Asked &
  Omit<Composing, 'channel'> & {
    readonly store: Store;
    /** The store's time. */
    readonly now: () => number;
    readonly random: () => number;
    readonly newToken: () => string;
    /** Called with failed deliveries. Must not throw. */
    readonly onFailed: (failed: Delivery, cause: unknown) => void;
  };

/** How long a delivery may take if its channel does not say otherwise. */
const TIMEOUT_MS = 10_000;
/** How much longer an entry is leased, for reading and recording. */
const LEASE_MARGIN_MS = 20_000;
/** How long the entry of a request that is over is kept. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** A hint whose entry this process has leased, with what is due. */
type Ready = {
  readonly hint: Hint;
  readonly held: Kept;
  readonly card: RunInterrupt;
  readonly plan: Plan;
  /** Why this person is told each notice; empty on a shared channel. */
  readonly told: readonly Told[];
};

/** The channel did not answer: the notice may have been sent. */
class Unanswered extends Error {}
/** The process stops, which is not a failure. */
class Stopped extends Unanswered {}

export class Deliverer {
  readonly #channel: Channel;
  readonly #options: DelivererOptions;
  readonly #hints: Hints;
  readonly #entries: Entries;
  readonly #dead: DeadLetters;
  readonly #log: DeliveryLog;
  readonly #preferences: Preferences;
  readonly #timeoutMs: number;
  readonly #leaseMs: number;

  constructor(channel: Channel, options: DelivererOptions) {
    const { notes } = options.store;
    this.#channel = channel;
    this.#options = options;
    this.#hints = new Hints(notes, channel.name);
    this.#entries = new Entries(notes, channel.name, options.newToken);
    this.#dead = new DeadLetters(notes, channel.name);
    this.#log = new DeliveryLog(notes);
    this.#preferences = new Preferences(notes);
    this.#timeoutMs = channel.timeoutMs ?? TIMEOUT_MS;
    this.#leaseMs = this.#timeoutMs + LEASE_MARGIN_MS;
  }

  /** Delivers what these hints are about; several hints are a digest for one person. Rejects if the store fails. */
  async deliver(hints: readonly Hint[], stopping: AbortSignal): Promise<void> {
    const ready: Ready[] = [];
    for (const hint of hints) {
      const one = await this.#prepare(hint);
      if (one) ready.push(one);
    }
    const digest = this.#channel.digest?.bind(this.#channel);
    if (digest && ready.length > 1) return this.#sendTogether(ready, digest, stopping);
    for (const one of ready) await this.#send(one, stopping);
  }

  /** Leases the entry and finds out what is due. Undefined if nothing is, or if another process works on it. */
  async #prepare(hint: Hint): Promise<Ready | undefined> {
    const { requestId, person } = hint;
    const { now } = this.#options;
    const kept = await this.#entries.find(requestId, person);
    const { nextAt } = kept.entry;
    if (nextAt !== undefined && now() < nextAt) {
      if (hint.dueAt < nextAt) await this.#hints.remove(hint);
      return undefined;
    }
    if (!(await this.#hints.exists(hint))) return undefined;
    const held = await this.#entries.hold(kept, now(), this.#leaseMs);
    if (!held) return undefined;
    const record = await this.#options.store.interrupt(requestId);
    if (!record) {
      await Promise.all([this.#entries.remove(requestId, person), this.#dead.remove(requestId, person)]);
      await this.#hints.remove(hint);
      return undefined;
    }
    try {
      const card = interruptView(record);
      if (person === null) await this.#awaitReminder(card);
      const isRequest = person === null && this.#channel.audience === 'person';
      if (isRequest) await this.#expand(hint, held, card);
      return isRequest ? undefined : await this.#dueFor(hint, held, card);
    } catch (error) {
      await this.#failed([{ hint, held, plan: NOTHING }], error, 0);
      return undefined;
    }
  }

  /** Looks again when the next reminder is due, whatever happens to what is due now. */
  async #awaitReminder(card: RunInterrupt): Promise<void> {
    const dueAt = nextReminderOf(card, this.#options.now());
    if (dueAt !== undefined) await this.#hints.put({ dueAt, requestId: card.id, person: null, cause: REMINDER });
  }

  /** Finds out who is told, and puts a hint for each of them. Who is told is recorded before. */
  async #expand(hint: Hint, held: Kept, card: RunInterrupt): Promise<void> {
    const { entry } = held;
    const missing = undelivered(noticesOf(card, this.#options.now()), entry);
    const over = missing.some(isOver);
    const asked = over && !this.#channel.all ? [] : missing;
    const known = entry.recipients ?? [];
    const found = (await Promise.all(asked.map((notice) => recipientsOf(notice, card, this.#options)))).flat();
    const isKnown = ({ person, key }: Told) => known.some((told) => told.person === person && told.key === key);
    const recipients = [...known, ...found.filter((told) => !isKnown(told))];
    const written = await this.#entries.write(held, { ...entry, recipients });
    if (!written) return;
    const people = new Set((over ? recipients : found).map(({ person }) => person));
    await Promise.all([...people].map((person) => this.#hints.put({ ...hint, person })));
    await this.#finish({ hint, held: written, card, plan: { send: [], skip: missing }, told: [] });
  }

  async #dueFor(hint: Hint, held: Kept, card: RunInterrupt): Promise<Ready | undefined> {
    const { entry } = held;
    const { name, all = false } = this.#channel;
    const { now, host } = this.#options;
    const { person } = entry;
    const notices = noticesOf(card, now());
    const told = person === null ? [] : await this.#toldTo(entry.requestId, person);
    const plan = planFor(
      notices.filter((notice) => concerns(notice, card, person, told)),
      entry,
      all,
    );
    const ready: Ready = { hint, held, card, plan, told };
    const [next] = plan.send;
    const isDead = [...plan.send, ...plan.skip].every(({ key }) => entry.dead?.includes(key));
    if (!next || isDead) {
      await this.#finish({ ...ready, plan: { ...plan, send: [] } });
      return undefined;
    }
    if (person === null) return ready;
    if ((await host.mayRead?.(card, person)) === false) {
      await this.#leaveOut(ready, next, 'refused');
      return undefined;
    }
    // An update changes a message that is there already, and disturbs nobody.
    const isUpdate = this.#updates(next, entry);
    const preferences = await this.#preferences.of(person);
    const wanted = await wantedAt(preferences, name, card, now(), hint.digest === true);
    if (wanted.when === 'never') {
      await this.#leaveOut(ready, next, 'off');
      return undefined;
    }
    if (wanted.when === 'now' || isUpdate || entry.again) return ready;
    const { at: dueAt, digest } = wanted;
    const { digest: _waited, ...later } = hint;
    await this.#hints.put({ ...later, dueAt, ...(digest && { digest }) });
    if (await this.#entries.release(held, entry)) await this.#hints.remove(hint);
    return undefined;
  }

  async #toldTo(requestId: string, person: string): Promise<readonly Told[]> {
    const { entry } = await this.#entries.find(requestId, null);
    return (entry.recipients ?? []).filter((told) => told.person === person);
  }

  #updates(notice: QuestionNotice, { receipt }: Entry): boolean {
    return this.#channel.update !== undefined && receipt !== undefined && isOver(notice);
  }

  /** Sends the notices one after the other, and records each. */
  async #send(ready: Ready, stopping: AbortSignal): Promise<void> {
    const last = ready.plan.send.at(-1);
    for (let current: Ready | undefined = ready; current; ) {
      const [notice, ...send]: readonly QuestionNotice[] = current.plan.send;
      if (!notice) return;
      const started = performance.now();
      let receipt: Json | undefined;
      try {
        receipt = await this.#tell(notice, current, stopping);
      } catch (error) {
        return this.#failed([{ ...current, notice }], error, performance.now() - started);
      }
      const delivery = this.#deliveryOf(notice, current.held.entry, performance.now() - started);
      current = await this.#record({ ...current, plan: { ...current.plan, send } }, notice, receipt, notice === last);
      await this.#log.add(delivery);
    }
  }

  /** Undefined after the last notice, or if another process took over because this one was too slow. */
  async #record(
    ready: Ready,
    notice: QuestionNotice,
    receipt: Json | undefined,
    isLast: boolean,
  ): Promise<Ready | undefined> {
    const { held } = ready;
    const { now } = this.#options;
    const { requestId, person, attempts, dead } = held.entry;
    if (attempts > 0 || dead) await this.#dead.remove(requestId, person);
    const entry = afterSending(held.entry, notice, receipt, now());
    if (isLast) {
      await this.#finish({ ...ready, held: { ...held, entry } });
      return undefined;
    }
    const written = await this.#entries.write(held, entry, now() + this.#leaseMs);
    return written && { ...ready, held: written };
  }

  /** One message about several requests. Of each request it has the last notice. */
  async #sendTogether(
    all: readonly Ready[],
    digest: NonNullable<Channel['digest']>,
    stopping: AbortSignal,
  ): Promise<void> {
    const started = performance.now();
    const last = all.flatMap((ready) => ready.plan.send.slice(-1).map((notice) => ({ ...ready, notice })));
    try {
      const notices = await Promise.all(last.map((ready) => this.#compose(ready.notice, ready)));
      await this.#inTime(stopping, (signal) => digest(notices, { signal }));
    } catch (error) {
      return this.#failed(last, error, performance.now() - started);
    }
    const ms = performance.now() - started;
    for (const ready of last) {
      const { notice, plan, held } = ready;
      const skip = [...plan.skip, ...plan.send.filter((other) => other !== notice)];
      await this.#record({ ...ready, plan: { send: [], skip } }, notice, undefined, true);
      await this.#log.add(this.#deliveryOf(notice, held.entry, ms));
    }
  }

  async #tell(notice: QuestionNotice, ready: Ready, stopping: AbortSignal): Promise<Json | undefined> {
    const composed = await this.#compose(notice, ready);
    const { receipt } = ready.held.entry;
    const isUpdate = this.#updates(notice, ready.held.entry);
    const sent = await this.#inTime(stopping, (signal): Promise<unknown> => {
      const delivering = { signal };
      if (isUpdate && this.#channel.update) return this.#channel.update(composed, receipt as Json, delivering);
      return this.#channel.deliver(composed, delivering);
    });
    return (sent === undefined ? receipt : sent) as Json | undefined;
  }

  async #compose(
    notice: QuestionNotice,
    { card, held: { entry }, told }: Omit<Ready, 'plan' | 'hint'>,
  ): Promise<Notice> {
    const { person, attempts } = entry;
    const to = person === null ? await recipientsOf(notice, card, this.#options) : [reasonFor(notice, person, told)];
    return noticeFor(notice, card, person, to, attempts + 1, { channel: this.#channel.name, ...this.#options });
  }

  /** Rejects after the time that the channel has, or if this process stops, even if the channel ignores the signal. */
  async #inTime<T>(stopping: AbortSignal, deliver: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const stop = () => abort.abort(new Stopped('The process stops.'));
    const late = () => abort.abort(new Unanswered(`The delivery took longer than ${this.#timeoutMs} ms.`));
    if (stopping.aborted) stop();
    stopping.addEventListener('abort', stop, { once: true });
    const timer = setTimeout(late, this.#timeoutMs);
    try {
      return await untilAborted((async () => deliver(abort.signal))(), abort.signal);
    } finally {
      clearTimeout(timer);
      stopping.removeEventListener('abort', stop);
    }
  }

  /** Records that nothing more is due. */
  async #finish({ hint, held, card, plan }: Ready): Promise<void> {
    const { now } = this.#options;
    const { nextAt: _nextAt, again: _again, ...entry } = held.entry;
    const skipped = plan.skip.map(({ key }) => ({ key, at: now() }));
    const finished: Entry = { ...entry, delivered: [...entry.delivered, ...skipped] };
    const expiresAt = card.settledAt === null ? null : now() + KEPT_MS;
    if (await this.#entries.release(held, finished, expiresAt)) await this.#hints.remove(hint);
  }

  /** The person is not told. A later notice asks again. */
  async #leaveOut(ready: Ready, notice: QuestionNotice, outcome: 'refused' | 'off'): Promise<void> {
    await this.#finish({ ...ready, plan: NOTHING });
    await this.#log.add({ ...this.#deliveryOf(notice, ready.held.entry, 0), outcome });
  }

  /** Tries again later, or gives up. The hints of a digest stay together. */
  async #failed(all: readonly Failed[], error: unknown, ms: number): Promise<void> {
    if (error instanceof Stopped) {
      // The hints stay, so that another process continues at once.
      for (const { held } of all) await this.#entries.release(held, { ...held.entry, sent: true });
      return;
    }
    const { now, random, onFailed } = this.#options;
    const { retryable, retryAfterMs } = (isObject(error) ? error : {}) as {
      readonly retryable?: unknown;
      readonly retryAfterMs?: unknown;
    };
    const failures = Math.max(...all.map(({ held }) => held.entry.attempts)) + 1;
    const nextAt = now() + pauseAfter(failures, random(), typeof retryAfterMs === 'number' ? retryAfterMs : 0);
    for (const { hint, held, plan, notice } of all) {
      const attempts = held.entry.attempts + 1;
      const maybeSent = error instanceof Unanswered && ({ sent: true } as const);
      const entry: Entry = { ...held.entry, ...maybeSent, attempts, lastError: messageOf(error) };
      const isLast = retryable === false || attempts >= MOST_ATTEMPTS;
      const failed: Delivery = {
        ...this.#deliveryOf(notice, held.entry, ms),
        outcome: isLast ? 'given-up' : 'failed',
        error: messageOf(error),
      };
      await (isLast ? this.#giveUp(hint, held, entry, plan) : this.#tryLater(hint, held, { ...entry, nextAt }));
      await this.#log.add(failed);
      onFailed(failed, error);
    }
  }

  async #tryLater(hint: Hint, held: Kept, entry: Entry & { readonly nextAt: number }): Promise<void> {
    await this.#hints.put({ ...hint, dueAt: entry.nextAt, cause: `r${entry.attempts}` });
    if (await this.#entries.release(held, entry)) await this.#hints.remove(hint);
  }

  async #giveUp(hint: Hint, held: Kept, entry: Entry, plan: Plan): Promise<void> {
    const { nextAt: _nextAt, again: _again, ...rest } = entry;
    const { requestId, person, attempts, lastError = '' } = rest;
    const types = plan.send.map(({ type }) => type);
    await this.#dead.put({ requestId, person, types, attempts, error: lastError, at: this.#options.now() });
    const dead = [...plan.send, ...plan.skip].map(({ key }) => key);
    if (await this.#entries.release(held, { ...rest, attempts: 0, dead })) await this.#hints.remove(hint);
  }

  #deliveryOf(notice: QuestionNotice | undefined, { requestId, person, attempts }: Entry, ms: number): Delivery {
    return {
      channel: this.#channel.name,
      type: notice?.type ?? null,
      number: notice?.number ?? 0,
      requestId,
      person,
      outcome: 'delivered',
      attempt: attempts + 1,
      error: null,
      ms: Math.round(ms),
      at: this.#options.now(),
    };
  }
}

type Failed = Pick<Ready, 'hint' | 'held' | 'plan'> & { readonly notice?: QuestionNotice };

const NOTHING: Plan = { send: [], skip: [] };

function afterSending(before: Entry, { key }: QuestionNotice, receipt: Json | undefined, at: number): Entry {
  const { lastError: _error, nextAt: _nextAt, dead: _dead, again: _again, ...entry } = before;
  const delivered = [...before.delivered.filter((other) => other.key !== key), { key, at }];
  return { ...entry, delivered, sent: true, attempts: 0, ...(receipt !== undefined && { receipt }) };
}

function concerns(notice: QuestionNotice, card: RunInterrupt, person: string | null, told: readonly Told[]): boolean {
  if (person === null || isOver(notice)) return true;
  const mine = told.find(({ key }) => key === notice.key);
  return mine !== undefined && stillConcerns(notice, card, person, mine.onBehalfOf);
}

/** A person who was told before learns that the request is over. */
function reasonFor({ key }: QuestionNotice, person: string, told: readonly Told[]): Told {
  return told.find((one) => one.key === key) ?? { person, key, why: 'told-before' };
}
