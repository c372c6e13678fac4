// Reminders: calls a hook when the reminder of a question is due, or after it was escalated, and marks that as delivered.

import type { Who } from '../../core/authority/policy.ts';
import { messageOf, UsageError } from '../../core/errors.ts';
import { waitOf } from '../../core/messages/turn-messages.ts';
import type { Escalation, Interrupt } from '../../core/run/event.ts';
import type { Store, TakenReminder } from '../port/store.ts';
import { interruptView, type RunInterrupt } from '../requests/view.ts';

/** One attempt to deliver a reminder. */
export type Reminder = {
  /** Which of the reminders of the question it is, from 1. */
  readonly number: number;
  /** How many reminders the question has. */
  readonly of: number;
  /** 1 at first; higher after the hook failed or its process died. */
  readonly attempt: number;
  /** Aborts when the hook takes too long or its worker stops; the reminder is then retried. */
  readonly signal: AbortSignal;
};

/** Reminds people of a pending question. Resolve once done; an error is retried. */
export type OnReminder = (interrupt: RunInterrupt, reminder: Reminder) => unknown;

/** One attempt to tell people of an escalation. */
export type EscalationNotice = Reminder & {
  /** These people can decide too from now on. */
  readonly to: Who;
};

/** Tells people that they may decide a question too. Resolve once done; an error is retried. */
export type OnEscalation = (interrupt: RunInterrupt, escalation: EscalationNotice) => unknown;

export type RemindersOptions = {
  readonly onReminder?: OnReminder | undefined;
  readonly onEscalation?: OnEscalation | undefined;
  /** How long a hook may take, and how long after the first attempt a reminder is retried. */
  readonly leaseMs: number;
};

/** How many leases of a worker a hook may take: mail is slow. */
export const LEASES_PER_REMINDER = 8;

/** How many hooks are called at once. */
const AT_ONCE = 8;
/** How long a worker that stops waits for hooks. */
const STOP_MS = 5_000;

type Call = { readonly done: Promise<void>; readonly giveUp: () => void };

/** Options from the worker. */
type Work = {
  readonly pollMs: number;
  /** Called with errors of hooks. Must not throw. */
  readonly onError: (error: unknown) => void;
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

  /** Takes due reminders and calls the hook without awaiting it. Every append wakes the worker, so this skips most looks. */
  async look(): Promise<void> {
    const room = AT_ONCE - this.#calls.size;
    const now = performance.now();
    if (room <= 0 || now < this.#lookAgainAt) return;
    // Half, because a timer may fire slightly early and would then be a whole interval late.
    this.#lookAgainAt = now + this.#work.pollMs / 2;
    const taken = await this.#store.takeReminders(room, this.#options.leaseMs);
    // There may be more, for when there is room again.
    if (taken.length === room) this.#lookAgainAt = 0;
    for (const reminder of taken) this.#begin(reminder);
  }

  /** Waits briefly for running hooks. Unfinished reminders are retried. */
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
      .catch((error: unknown) => this.#work.onError(failedReminder(reminder, error)))
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

  /** A hook that finishes late has still reminded a person: mark that as delivered too. */
  async #call({ interrupt, attempt }: TakenReminder, signal: AbortSignal): Promise<void> {
    const view = interruptView(interrupt);
    const { remindAt } = view;
    const { reminders, escalate } = timesOf(view);
    const number = reminders.filter((at) => at <= (remindAt ?? 0)).length;
    const escalated = escalate.slice(0, view.progress?.escalatedTo.length ?? 0).filter(({ at }) => at === remindAt);
    for (const escalation of escalated) {
      const index = escalate.indexOf(escalation);
      const to = view.progress?.escalatedTo[index] ?? {};
      await this.#options.onEscalation?.(view, { to, number: index + 1, of: escalate.length, attempt, signal });
    }
    if (escalated.length === 0)
      await this.#options.onReminder?.(view, { number, of: reminders.length, attempt, signal });
    await this.#store.reminded(interrupt.id, reminders[number] ?? null, remindAt);
  }
}

type Times = { readonly reminders: readonly number[]; readonly escalate: readonly Escalation[] };

/** When people are reminded of the question, and when more of them are asked. */
function timesOf({ part: { metadata = {} } }: RunInterrupt): Times {
  const { reminders, remindAt, escalate = [] } = waitOf(metadata as Partial<Interrupt>);
  return { reminders: reminders ?? (remindAt === undefined ? [] : [remindAt]), escalate };
}

function failedReminder({ interrupt: { id }, attempt }: TakenReminder, cause: unknown): UsageError {
  return new UsageError(
    'reminder-failed',
    { interruptId: id, attempt },
    `The reminder of ${id} failed, and is tried again later: ${messageOf(cause)}`,
    { cause },
  );
}
