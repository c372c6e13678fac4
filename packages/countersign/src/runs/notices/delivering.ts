// Delivery: looks at the request of a hint, delivers the missing notices, and records each.
//
// What stays true, so that a crash at any step loses nothing:
// - The entry is the truth about delivered notices. It is changed only with its lease, and each notice is recorded on its own.
// - A hint is removed only after the request was looked at, and after every hint that replaces it was put.
// - Every step can be repeated: a notice that was delivered but not recorded is delivered again, with the same key.
import { isObject, type Json } from '../../core/json.ts';
import { noticesOf, type RequestNotice } from '../../core/request/notice.ts';
import { untilAborted } from '../../models/abort.ts';
import type { Store } from '../port/store.ts';
import { type RunRequest, requestView } from '../requests/view.ts';
import type { Channel, Notice } from './channel.ts';
import { type Composing, noticeFor } from './compose.ts';
import { afterSending, type Kept, type Told } from './entries.ts';
import { type Hint, REMINDER } from './hints.ts';
import { type Leased, Outcomes, type OutcomesOptions, Stopped, Unanswered } from './outcomes.ts';
import { concerns, hearsOf, isOver, nextReminderOf, type Plan, planFor, undelivered } from './plan.ts';
import { type Asked, reasonFor, recipientsOf, toldOfEnd } from './recipients.ts';
import { isUpdate, Timing } from './timing.ts';

export type DelivererOptions = Asked & Omit<Composing, 'channel'> & OutcomesOptions & { readonly store: Store };

/** How long a delivery may take if its channel does not say otherwise. */
const TIMEOUT_MS = 10_000;
/** How much longer an entry is leased, for reading and recording. */
const LEASE_MARGIN_MS = 20_000;
/** In a digest, so much more for each of its notices. */
const READING_MS = 100;

type Ready = Leased & {
  readonly card: RunRequest;
  /** The reason of each notice for this person; empty on a shared channel. */
  readonly told: readonly Told[];
};

const NOTHING: Plan = { send: [], skip: [] };

export class Deliverer {
  readonly #channel: Channel;
  readonly #options: DelivererOptions;
  readonly #outcomes: Outcomes;
  readonly #timing: Timing;
  readonly #timeoutMs: number;

  constructor(channel: Channel, options: DelivererOptions) {
    const { notes } = options.store;
    this.#channel = channel;
    this.#options = options;
    this.#outcomes = new Outcomes(notes, channel.name, options);
    this.#timing = new Timing(channel, notes, options.now);
    this.#timeoutMs = channel.timeoutMs ?? TIMEOUT_MS;
  }

  /** Delivers what these hints are about; several hints are a digest for one person. Rejects if the store fails. */
  async deliver(hints: readonly Hint[], stopping: AbortSignal): Promise<void> {
    const ready: Ready[] = [];
    const leaseMs = this.#timeoutMs + LEASE_MARGIN_MS + hints.length * READING_MS;
    for (const hint of hints) {
      const one = await this.#prepare(hint, leaseMs, stopping);
      if (one) ready.push(one);
    }
    const digest = this.#channel.digest?.bind(this.#channel);
    const [first] = ready;
    // What comes soon after a digest waits for the next one.
    if (first?.hint.digest && first.hint.person !== null) await this.#timing.beginBurst(first.hint.person);
    if (digest && ready.length > 1) return this.#sendTogether(ready, digest, stopping);
    for (const one of ready) await this.#send(one, stopping);
  }

  /** Leases the entry and returns the due notices. Undefined if none is due, or if another process works on it. */
  async #prepare(hint: Hint, leaseMs: number, stopping: AbortSignal): Promise<Ready | undefined> {
    const { hints } = this.#outcomes;
    const held = await this.#hold(hint, leaseMs);
    if (!held) return undefined;
    const record = await this.#options.store.request(hint.requestId);
    if (!record) {
      await this.#outcomes.forget(hint);
      return undefined;
    }
    try {
      const card = requestView(record);
      const remindAt = hint.person === null ? nextReminderOf(card, this.#options.now()) : undefined;
      // First, so that people are reminded even if the notices that are due now fail.
      if (remindAt !== undefined)
        await hints.put({ dueAt: remindAt, requestId: card.id, person: null, cause: REMINDER });
      const isPersonal = this.#channel.audience === 'person';
      if (hint.person !== null || !isPersonal) return await this.#dueFor(hint, held, card, stopping);
      await this.#expand(hint, held, card, stopping);
    } catch (error) {
      await this.#outcomes.fail([{ hint, held, plan: NOTHING }], error, 0);
    }
    return undefined;
  }

  async #hold(hint: Hint, leaseMs: number): Promise<Kept | undefined> {
    const { hints, entries } = this.#outcomes;
    const kept = await entries.find(hint.requestId, hint.person);
    const now = this.#options.now();
    const { nextAt } = kept.entry;
    if (nextAt === undefined || now >= nextAt)
      return (await hints.exists(hint)) ? entries.hold(kept, now, leaseMs) : undefined;
    // The hint of the next attempt looks at everything.
    if (hint.dueAt < nextAt) await hints.remove(hint);
    return undefined;
  }

  /** Finds the recipients, records them, and puts a hint for each. */
  async #expand(hint: Hint, held: Kept, card: RunRequest, stopping: AbortSignal): Promise<void> {
    const { entry } = held;
    const { hints, entries } = this.#outcomes;
    const notices = noticesOf(card, this.#options.now());
    const missing = undelivered(notices, entry);
    const over = notices.some(isOver);
    // While it is open, people may join: by a role, a policy that was applied again, or because it is no longer assigned.
    const asked = over ? missing : [...new Set([...notices.slice(0, 1), ...missing])];
    const known = entry.recipients ?? [];
    const hear = async (notice: RequestNotice) =>
      over && !this.#channel.all ? toldOfEnd(notice, card) : recipientsOf(notice, card, this.#options);
    const recipients = () => Promise.all(asked.map(hear));
    const found = (await this.#inTime(stopping, recipients)).flat();
    const added = found.filter(({ person, key }) => !known.some((told) => told.person === person && told.key === key));
    const all = [...known, ...added];
    const written = await entries.write(held, { ...entry, recipients: all, hinting: true });
    if (!written) return;
    const isForAll = missing.some(isOver) || entry.hinting;
    const people = new Set((isForAll ? all : added).map(({ person }) => person));
    // Each time with its own cause: another process may be working on the hints of an earlier time.
    const cause = `${hint.cause}-${entry.lease?.token ?? ''}`;
    await Promise.all([...people].map((person) => hints.put({ ...hint, person, cause })));
    await this.#outcomes.finish({ hint, held: written, plan: { send: [], skip: missing } }, over);
  }

  async #dueFor(hint: Hint, held: Kept, card: RunRequest, stopping: AbortSignal): Promise<Ready | undefined> {
    const { entry } = held;
    const { person } = entry;
    const told = person === null ? [] : await this.#toldTo(entry.requestId, person);
    const notices = noticesOf(card, this.#options.now());
    const concerning = notices.filter((notice) => concerns(notice, card, person, told));
    const hears = (notice: RequestNotice) => hearsOf(notice, card, person, told);
    const plan = planFor(concerning, entry, this.#channel.all ?? false, hears);
    const ready: Ready = { hint, held, card, plan, told };
    const [next] = plan.send;
    const isDead = [...plan.send, ...plan.skip].every(({ key }) => entry.dead?.includes(key));
    if (next && !isDead) return (await this.#isDueNow(ready, next, stopping)) ? ready : undefined;
    await this.#outcomes.finish({ ...ready, plan: { ...plan, send: [] } }, card.settledAt !== null);
    return undefined;
  }

  async #toldTo(requestId: string, person: string): Promise<readonly Told[]> {
    const { entry } = await this.#outcomes.entries.find(requestId, null);
    return (entry.recipients ?? []).filter((told) => told.person === person);
  }

  /** Whether the notice is told now. If the person may not read the request or does not want it, a later notice asks again. */
  async #isDueNow(ready: Ready, notice: RequestNotice, stopping: AbortSignal): Promise<boolean> {
    const { hint, held, card } = ready;
    const { entry } = held;
    const { person } = entry;
    const mayRead = person === null || (await this.#inTime(stopping, async () => this.#mayRead(card, person)));
    const wanted = await this.#timing.wantedAt({ notice, card, entry, hint });
    if (mayRead && wanted.when === 'now') return true;
    if (mayRead && wanted.when === 'later') await this.#outcomes.postpone(ready, wanted.at, wanted.digest);
    else {
      await this.#outcomes.finish({ ...ready, plan: NOTHING }, card.settledAt !== null);
      await this.#outcomes.log(notice, entry, mayRead ? 'off' : 'refused', 0);
    }
    return false;
  }

  async #mayRead(card: RunRequest, person: string): Promise<boolean> {
    const { mayRead } = this.#options.host;
    return mayRead === undefined || (await mayRead(card, person)) === true;
  }

  /** Sends the notices one after the other, and records each. */
  async #send(ready: Ready, stopping: AbortSignal): Promise<void> {
    for (let current: Ready | undefined = ready; current; ) {
      const [notice, ...send]: readonly RequestNotice[] = current.plan.send;
      if (!notice) return;
      const { entry } = current.held;
      const started = performance.now();
      let receipt: Json | undefined;
      try {
        receipt = await this.#tell(notice, current, stopping);
      } catch (error) {
        return this.#fail([{ ...current, notice }], error, performance.now() - started);
      }
      const ms = performance.now() - started;
      current = await this.#record({ ...current, plan: { ...current.plan, send } }, notice, receipt);
      await this.#outcomes.log(notice, entry, 'delivered', ms);
    }
  }

  /** Undefined after the last notice, or if another process took over because this one was too slow. */
  async #record(ready: Ready, notice: RequestNotice, receipt: Json | undefined): Promise<Ready | undefined> {
    const { held, card } = ready;
    const now = this.#options.now();
    const entry = afterSending(held.entry, notice, receipt, now);
    await this.#outcomes.revive(held.entry);
    if (ready.plan.send.length === 0) {
      await this.#outcomes.finish({ ...ready, held: { ...held, entry } }, card.settledAt !== null);
      return undefined;
    }
    const until = now + this.#timeoutMs + LEASE_MARGIN_MS;
    const written = await this.#outcomes.entries.write(held, entry, until);
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
      await this.#inTime(stopping, async (signal) => {
        const notices = await Promise.all(last.map((ready) => this.#compose(ready.notice, ready)));
        return digest(notices, { signal });
      });
    } catch (error) {
      return this.#fail(last, error, performance.now() - started);
    }
    const ms = performance.now() - started;
    for (const ready of last) {
      const { notice, plan, held } = ready;
      const skip = [...plan.skip, ...plan.send.filter((other) => other !== notice)];
      await this.#record({ ...ready, plan: { send: [], skip } }, notice, undefined);
      await this.#outcomes.log(notice, held.entry, 'delivered', ms);
    }
  }

  /** Somebody who only asked for a call need not have an address: it may be a program. */
  async #fail(all: readonly (Ready & { readonly notice: RequestNotice })[], error: unknown, ms: number): Promise<void> {
    const isAsker = ({ told, notice }: (typeof all)[number]) =>
      told.some(({ key, why }) => key === notice.key && why === 'requester');
    if (!isObject(error) || error.unreachable !== true || !all.every(isAsker))
      return this.#outcomes.fail(all, error, ms);
    for (const { plan, notice, card, ...ready } of all) {
      await this.#outcomes.finish({ ...ready, plan: { send: [], skip: [...plan.skip, ...plan.send] } }, true);
      await this.#outcomes.log(notice, ready.held.entry, 'unreachable', ms);
    }
  }

  async #tell(notice: RequestNotice, ready: Ready, stopping: AbortSignal): Promise<Json | undefined> {
    const { receipt } = ready.held.entry;
    const changes = isUpdate(this.#channel, notice, ready.held.entry);
    const sent = await this.#inTime(stopping, async (signal): Promise<unknown> => {
      const composed = await this.#compose(notice, ready);
      const delivering = { signal, ...(receipt !== undefined && { sent: receipt }) };
      if (changes && this.#channel.update) return this.#channel.update(composed, receipt as Json, delivering);
      return this.#channel.deliver(composed, delivering);
    });
    return (sent === undefined ? receipt : sent) as Json | undefined;
  }

  async #compose(notice: RequestNotice, { card, held: { entry }, told }: Ready): Promise<Notice> {
    const { person, attempts } = entry;
    const to = person === null ? await recipientsOf(notice, card, this.#options) : [reasonFor(notice, person, told)];
    return noticeFor(notice, card, person, to, attempts + 1, { channel: this.#channel.name, ...this.#options });
  }

  /** Rejects after the time that the channel has, or if this process stops, even if the work ignores the signal. */
  async #inTime<T>(stopping: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const stop = () => abort.abort(new Stopped('The process stops.'));
    const late = () => abort.abort(new Unanswered(`The delivery took longer than ${this.#timeoutMs} ms.`));
    if (stopping.aborted) stop();
    stopping.addEventListener('abort', stop, { once: true });
    const timer = setTimeout(late, this.#timeoutMs);
    try {
      return await untilAborted((async () => work(abort.signal))(), abort.signal);
    } finally {
      clearTimeout(timer);
      stopping.removeEventListener('abort', stop);
    }
  }
}
