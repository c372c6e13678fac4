// Records the outcome of a hint: finished, postponed, failed, given up. The order of the writes survives every crash:
// the hints that replace this one come first, then the entry, then the hint is removed.
import { messageOf } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { RequestNotice } from '../../core/request/notice.ts';
import type { Notes } from '../port/notes.ts';
import { type Attempted, DeadLetters, DeliveryLog } from './delivery-log.ts';
import { Entries, type Entry, KEPT_MS, type Kept } from './entries.ts';
import { type Hint, Hints } from './hints.ts';
import type { Plan } from './plan.ts';

/** A hint whose entry this process has leased, with the due notices. */
export type Leased = { readonly hint: Hint; readonly held: Kept; readonly plan: Plan };

/** `notice`: the one that failed; absent if it failed before it was known what to tell. */
export type Failed = Leased & { readonly notice?: RequestNotice };

export type OutcomesOptions = {
  /** The store's time. */
  readonly now: () => number;
  readonly random: () => number;
  readonly newToken: () => string;
  /** Called with failed deliveries. Must not throw. */
  readonly onFailed: (failed: Attempted, cause: unknown) => void;
};

/** The channel did not answer: the notice may have been sent. */
export class Unanswered extends Error {}
/** The process stops, which is not a failure. */
export class Stopped extends Unanswered {}

export class Outcomes {
  readonly hints: Hints;
  readonly entries: Entries;
  readonly #channel: string;
  readonly #dead: DeadLetters;
  readonly #log: DeliveryLog;
  readonly #options: OutcomesOptions;

  constructor(notes: Notes, channel: string, options: OutcomesOptions) {
    this.#channel = channel;
    this.#options = options;
    this.hints = new Hints(notes, channel);
    this.entries = new Entries(notes, channel, options.newToken);
    this.#dead = new DeadLetters(notes, channel);
    this.#log = new DeliveryLog(notes);
  }

  /** Nothing more is due. */
  async finish({ hint, held, plan }: Leased, isOver: boolean): Promise<void> {
    const now = this.#options.now();
    const { nextAt: _nextAt, again: _again, hinting: _hinting, ...entry } = held.entry;
    const skipped = plan.skip.map(({ key }) => ({ key, at: now }));
    const finished: Entry = { ...entry, delivered: [...entry.delivered, ...skipped] };
    if (await this.entries.release(held, finished, isOver ? now + KEPT_MS : null)) await this.hints.remove(hint);
  }

  /** The request was deleted with its run. */
  async forget({ requestId, person, ...hint }: Hint): Promise<void> {
    await Promise.all([this.entries.remove(requestId, person), this.#dead.remove(requestId, person)]);
    await this.hints.remove({ requestId, person, ...hint });
  }

  async postpone({ hint, held }: Leased, dueAt: number, digest: boolean): Promise<void> {
    const { digest: _waited, ...later } = hint;
    await this.hints.put({ ...later, dueAt, ...(digest && { digest }) });
    if (await this.entries.release(held, held.entry)) await this.hints.remove(hint);
  }

  /** A notice was sent: earlier failures no longer count. */
  async revive({ requestId, person, attempts, dead }: Entry): Promise<void> {
    if (attempts > 0 || dead) await this.#dead.remove(requestId, person);
  }

  /** Tries again later, or gives up. The hints of a digest stay together. */
  async fail(all: readonly Failed[], error: unknown, ms: number): Promise<void> {
    // The hints stay, so that another process continues at once.
    if (error instanceof Stopped)
      for (const { held } of all) await this.entries.release(held, { ...held.entry, sent: true });
    else await this.#retry(all, error, ms);
  }

  log(notice: RequestNotice, entry: Entry, outcome: Attempted['outcome'], ms: number): Promise<void> {
    return this.#log.add(this.#delivery(notice, entry, outcome, ms, null));
  }

  async #retry(all: readonly Failed[], error: unknown, ms: number): Promise<void> {
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
      await (isLast ? this.#giveUp(hint, held, entry, plan) : this.#tryLater(hint, held, { ...entry, nextAt }));
      const failed = this.#delivery(notice, held.entry, isLast ? 'given-up' : 'failed', ms, messageOf(error));
      await this.#log.add(failed);
      onFailed(failed, error);
    }
  }

  async #tryLater(hint: Hint, held: Kept, entry: Entry & { readonly nextAt: number }): Promise<void> {
    await this.hints.put({ ...hint, dueAt: entry.nextAt, cause: `r${entry.attempts}` });
    if (await this.entries.release(held, entry)) await this.hints.remove(hint);
  }

  async #giveUp(hint: Hint, held: Kept, entry: Entry, plan: Plan): Promise<void> {
    const { nextAt: _nextAt, again: _again, ...rest } = entry;
    const { requestId, person, attempts, lastError = '' } = rest;
    const types = plan.send.map(({ type }) => type);
    await this.#dead.put({ requestId, person, types, attempts, error: lastError, at: this.#options.now() });
    const dead = [...plan.send, ...plan.skip].map(({ key }) => key);
    if (await this.entries.release(held, { ...rest, attempts: 0, dead })) await this.hints.remove(hint);
  }

  #delivery(
    notice: RequestNotice | undefined,
    { requestId, person, attempts }: Entry,
    outcome: Attempted['outcome'],
    ms: number,
    error: string | null,
  ): Attempted {
    const { type = null, number = 0 } = notice ?? {};
    const about = { channel: this.#channel, type, number, requestId, person };
    return { ...about, outcome, attempt: attempts + 1, error, ms: Math.round(ms), at: this.#options.now() };
  }
}

const FIRST_MS = 30_000;
const LONGEST_MS = 3_600_000;
/** With these pauses, the last attempt comes about half a day after the first. */
export const MOST_ATTEMPTS = 18;

/** The pause after so many failures: doubling, up to an hour, with a fifth more or less by chance. */
export function pauseAfter(failures: number, random: number, retryAfterMs = 0): number {
  const pause = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 20));
  return Math.ceil(Math.max(pause * (0.8 + 0.4 * random), retryAfterMs));
}
