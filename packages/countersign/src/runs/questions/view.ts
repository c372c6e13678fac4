// A run as callers see it: folded from its events.
import { UsageError } from '../../core/errors.ts';
import type { InterruptKind } from '../../core/event.ts';
import { isObject, type Json } from '../../core/json.ts';
import { type Message, type ToolRequestPart, textOf } from '../../core/message.ts';
import { messagesOf, newState } from '../../core/messages/load-messages.ts';
import { fold, type State } from '../../core/state.ts';
import { checkChain } from '../port/chain.ts';
import type { InterruptRecord, LoadedRun, RunRecord, StoredEvent } from '../port/store.ts';
import { digestOf, kindOn, pendingCards, willRun } from './card.ts';
import type { Settlement, Withdrawal } from './decision.ts';

/** A question that waits, or waited, for a person. */
export type RunInterrupt = {
  readonly id: string;
  readonly runId: string;
  /** Who started the run. */
  readonly startedBy: string | null;
  readonly agent: string;
  readonly tool: string;
  readonly kind: InterruptKind;
  /** What would run, defaults of the schema included. */
  readonly input: Json;
  /** What the asker wants shown. */
  readonly payload: Json;
  /** A decision that carries it is refused if it was made on anything else. */
  readonly digest: string;
  /** As in the messages: what `approve(…)` and the like are made on. */
  readonly part: ToolRequestPart;
  readonly risk: 'low' | 'medium' | 'high' | null;
  readonly labels: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly remindAt: number | null;
  /** Null while it waits. */
  readonly settledAt: number | null;
  /** Who decided what, when, through which channel, with which note; or that it was withdrawn. Null while it waits. */
  readonly settlement: Settlement | Withdrawal | null;
};

/** A stored run. */
export type RunView = RunRecord & {
  readonly messages: Message[];
  /** The text of the model's last reply. */
  readonly text: string;
  readonly finishReason: string | null;
  /** Why it stopped, when its status is `failed`. */
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
  /** The ids of the questions that wait. */
  readonly pending: readonly string[];
};

export function stateOf(events: readonly StoredEvent[]): State {
  return events.reduce(fold, newState());
}

/** The state that may be acted on: that of a past which nobody changed. */
export function trustedState(loaded: LoadedRun): State {
  checkChain(loaded);
  return stateOf(loaded.events);
}

export function stateOfRun(loaded: LoadedRun): State {
  return readFrom(loaded, () => stateOf(loaded.events));
}

/** Where the events make no sense because somebody changed them, that is what is said. */
export function readFrom<T>(loaded: LoadedRun, read: () => T): T {
  try {
    return read();
  } catch (error) {
    checkChain(loaded);
    throw error;
  }
}

export function viewOf(loaded: LoadedRun): RunView {
  const { run } = loaded;
  const state = stateOfRun(loaded);
  const outcome = isObject(run.outcome) ? run.outcome : {};
  const messages = messagesOf(state, run.id);
  const said = messages.findLast((message) => message.role === 'model');
  return {
    ...run,
    messages,
    text: textOf(said?.content ?? []),
    finishReason: typeof outcome.finishReason === 'string' ? outcome.finishReason : null,
    error: errorIn(run),
    pending: [...pendingCards(run.id, state).keys()],
  };
}

/** Why the run stopped; null if it did not. */
export function errorIn({ outcome }: RunRecord): RunView['error'] {
  return isObject(outcome) && isObject(outcome.error) ? (outcome.error as RunView['error']) : null;
}

/** Throws if its card is not the one that was asked with. */
export function interruptView(record: InterruptRecord): RunInterrupt {
  const { card, settlement, ...rest } = record;
  const part = isObject(card) ? (card as { readonly part?: unknown }).part : undefined;
  if (digestOf(record.id, card) !== record.digest || !isRequest(part) || !isShownAs(record, part))
    throw new UsageError(
      'outdated-card',
      { interruptId: record.id },
      `The card of ${record.id} was changed in the store.`,
    );
  return {
    ...rest,
    kind: kindOn(part),
    // As this library wrote it; who changes the store changes what is read there.
    settlement: settlement as RunInterrupt['settlement'],
    part,
    input: willRun(part),
    payload: part.metadata?.interrupt as Json,
  };
}

/** The tool and the kind that stand beside the card are those on it: they say what is approved. */
function isShownAs({ tool, kind }: InterruptRecord, part: ToolRequestPart): boolean {
  return tool === part.toolRequest.name && kind === kindOn(part);
}

function isRequest(part: unknown): part is ToolRequestPart {
  return isObject(part) && isObject(part.toolRequest);
}
