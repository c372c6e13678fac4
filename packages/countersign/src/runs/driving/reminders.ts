// Reminders: the hook is called once the time of a question has come, and what it has seen to is struck off.
import { messageOf, UsageError } from '../../core/errors.ts';
import type { Store, TakenReminder } from '../port/store.ts';
import { interruptView, type RunInterrupt } from '../questions/view.ts';

/** What is known of a reminder beside its question. */
export type Reminder = {
  /** 1, and more where it was tried before: the hook failed, or its process died on the way. */
  readonly attempt: number;
  /** Aborted when the hook has taken too long, or its worker stops: then it is tried again. */
  readonly signal: AbortSignal;
};

/** Reminds people of a question that waits. Resolve once it is done; what throws is tried again. */
export type OnReminder = (interrupt: RunInterrupt, reminder: Reminder) => unknown;

export type RemindersOptions = {
  readonly onReminder: OnReminder;
  /** How long a hook may take, and how long a reminder is left alone after the first try. */
  readonly leaseMs: number;
};

/** A hook has this many times as long as a worker may be silent: mail takes its time. */
export const LEASES_PER_REMINDER = 4;

/** How many hooks are called at once. */
const AT_ONCE = 8;
/** How long a worker that stops waits for hooks. */
const STOP_MS = 5_000;

type Call = { readonly done: Promise<void>; readonly giveUp: () => void };

/** What the worker brings. */
type Work = {
  readonly pollMs: number;
  /** Hears of hooks that failed. */
  readonly onError: ((error: unknown) => void) | undefined;
  /** Called when there is room for another hook. */
  readonly onFreed: () => void;
};

export class Reminders {
  readonly #store: Store;
  readonly #options: RemindersOptions;
  readonly #work: Work;
  readonly #calls = new Set<Call>();
  #lookAgainAt = 0;

  constructor(store: Store, options: RemindersOptions, work: Work) {
    this.#store = store;
    this.#options = options;
    this.#work = work;
  }

  /**
   * Takes what is due, as far as there is room, and calls the hook without waiting for it. A worker is woken by every
   * append, which makes no reminder due; so the store is asked once in a while only, however often this is called.
   */
  async look(): Promise<void> {
    const room = AT_ONCE - this.#calls.size;
    const now = performance.now();
    if (room <= 0 || now < this.#lookAgainAt) return;
    // Half, since a timer may be a little early, and would then be a whole turn late.
    this.#lookAgainAt = now + this.#work.pollMs / 2;
    const taken = await this.#store.takeReminders(room, this.#options.leaseMs);
    // There may be more, for when there is room again.
    if (taken.length === room) this.#lookAgainAt = 0;
    for (const reminder of taken) this.#begin(reminder);
  }

  /** Waits for the hooks that were called, but not for long: what they have not done by then is tried again. */
  async stop(): Promise<void> {
    const calls = [...this.#calls];
    const timer = setTimeout(() => {
      for (const { giveUp } of calls) giveUp();
    }, STOP_MS);
    await Promise.all(calls.map(({ done }) => done));
    clearTimeout(timer);
  }

  #begin(reminder: TakenReminder): void {
    const abort = new AbortController();
    const { promise: over, resolve, reject } = Promise.withResolvers<void>();
    const tooLong = setTimeout(() => {
      reject(new Error(`It took longer than ${this.#options.leaseMs} ms.`));
      abort.abort();
    }, this.#options.leaseMs);
    const done = Promise.race([this.#call(reminder, abort.signal), over])
      .catch((error: unknown) => this.#tell(failedReminder(reminder, error)))
      .finally(() => {
        clearTimeout(tooLong);
        this.#calls.delete(call);
        this.#work.onFreed();
      });
    const giveUp = () => {
      resolve();
      abort.abort();
    };
    const call: Call = { done, giveUp };
    this.#calls.add(call);
  }

  /** A hook that is done late has reminded somebody after all: that is struck off as well. */
  async #call({ interrupt, attempt }: TakenReminder, signal: AbortSignal): Promise<void> {
    await this.#options.onReminder(interruptView(interrupt), { attempt, signal });
    await this.#store.reminded(interrupt.id);
  }

  #tell(error: unknown): void {
    try {
      this.#work.onError?.(error);
    } catch {
      // Whoever listens has failed as well; the other reminders go on.
    }
  }
}

function failedReminder({ interrupt: { id }, attempt }: TakenReminder, cause: unknown): UsageError {
  return new UsageError(
    'reminder-failed',
    { interruptId: id, attempt },
    `The reminder of ${id} failed, and is tried again later: ${messageOf(cause)}`,
    { cause },
  );
}
