// Runs and questions as callers see them.

import { ANYONE, type Policies } from '../../core/authority/policy.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { messagesOf, newState } from '../../core/messages/load-messages.ts';
import { type Message, type ToolRequestPart, textOf } from '../../core/messages/message.ts';
import { waitOf } from '../../core/messages/turn-messages.ts';
import { drillMark, isDrill, shownAgent } from '../../core/run/drill.ts';
import type { Interrupt, InterruptKind, Preview, Reversibility } from '../../core/run/event.ts';
import { fold, type State } from '../../core/run/state.ts';
import { readUsage, type Usage } from '../../core/run/usage.ts';
import type { AskedBy } from '../../loop/tool/definition.ts';
import { checkChain } from '../port/chain.ts';
import { forEachInTurns } from '../port/in-turns.ts';
import type { InterruptRecord, LoadedRun, RunRecord, StoredEvent } from '../port/store.ts';
import { classOn, digestOf, kindOn, noticeOn, pendingCards, titleOn, willRun } from './card.ts';
import type { Settlement, Withdrawal } from './decision.ts';
import { unvoted, type VotingProgress } from './progress.ts';

/** A question to a person, pending or settled. Pass its `digest` with the decision: one on another card is refused. */
export type RunInterrupt = Omit<InterruptRecord, 'kind' | 'card' | 'deciders' | 'progress' | 'settlement'> & {
  readonly kind: InterruptKind;
  /** The headline of the request, such as `Pay €950 to ACME`; null if its tool gave none. `input` says exactly what would run. */
  readonly title: string | null;
  /** The input that would run, with the defaults of the schema. */
  readonly input: Json;
  /** What the tool wants the person to see. */
  readonly payload: Json;
  /** Whether the effect can be undone, as the tool says; null if it does not say. */
  readonly reversibility: Reversibility | null;
  /** What the tool says would happen, or why that could not be computed; null if it has no `preview`. */
  readonly preview: Preview | null;
  /** The preview that was approved before, if it has changed since. */
  readonly earlierPreview: Preview | null;
  /** `title-only` if its tool keeps the rest out of notices; null if it does not. */
  readonly notice: 'title-only' | null;
  /** The request as in the messages; `approve(…)` and the like take it. */
  readonly part: ToolRequestPart;
  /** Present on a settled drill: a request that had to be rejected, and could not run. */
  readonly drill?: true;
  /** Who must decide. All of them must be satisfied. */
  readonly policies: Policies;
  /** Who took part before the request: the starter of the run, the author of the message, and editors. */
  readonly requesters: readonly string[];
  /** The votes so far; null for an untouched question without a policy. */
  readonly progress: VotingProgress | null;
  /** Who decided what, when, through which channel, with which note; or a withdrawal. Null while pending. */
  readonly settlement: Settlement | Withdrawal | null;
};

/** A question of this tool. Its input can be spread into an edit. */
export type RunInterruptOf<Input, Output> = Omit<RunInterrupt, 'input'> &
  AskedBy<Input, Output> & { readonly input: Input extends object ? Input & Extract<Json, object> : Input & Json };

/** A stored run without its events. */
export type ListedRun = RunRecord & {
  /** The recorded tokens of all replies, including those of sub-agents; null if no provider reported any. */
  readonly usage: Usage | null;
  /** Present on the ended run of a drill. */
  readonly drill?: true;
};

/** A stored run. */
export type RunView = ListedRun & {
  readonly messages: Message[];
  /** The text of the model's last reply. */
  readonly text: string;
  readonly finishReason: string | null;
  /** The error of a run whose status is `failed`. */
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
  /** The ids of the pending questions. */
  readonly pending: readonly string[];
};

export function stateOf(events: readonly StoredEvent[]): State {
  return events.reduce(fold, newState());
}

/** The state of a run whose record verifies, which may be acted on. */
export async function trustedState(loaded: LoadedRun): Promise<State> {
  await checkChain(loaded);
  return stateOfRun(loaded);
}

export async function stateOfRun(loaded: LoadedRun): Promise<State> {
  let state = newState();
  await applyEvents(loaded, (event) => {
    state = fold(state, event);
  });
  return state;
}

/** Calls `apply` with each event. If that fails because the events were changed, throws `tampered-run` instead. */
export async function applyEvents(loaded: LoadedRun, apply: (event: StoredEvent) => void): Promise<void> {
  try {
    await forEachInTurns(loaded.events, apply);
  } catch (error) {
    await checkChain(loaded);
    throw error;
  }
}

export async function viewOf(loaded: LoadedRun): Promise<RunView> {
  const { run } = loaded;
  const state = await stateOfRun(loaded);
  const outcome = isObject(run.outcome) ? run.outcome : {};
  const messages = messagesOf(state, run.id);
  const said = messages.findLast((message) => message.role === 'model');
  return {
    ...shownRun(run),
    usage: state.usage ?? null,
    messages,
    text: textOf(said?.content ?? []),
    finishReason: typeof outcome.finishReason === 'string' ? outcome.finishReason : null,
    error: errorIn(run),
    pending: [...pendingCards(run.id, state).keys()],
  };
}

export function listedRun(run: RunRecord): ListedRun {
  return { ...shownRun(run), usage: (isObject(run.outcome) && readUsage(run.outcome.usage)) || null };
}

/** People learn that a run is a drill when it has ended. */
function shownRun(run: RunRecord): RunRecord & Pick<ListedRun, 'drill'> {
  if (!isDrill(run)) return run;
  const isOver = run.status !== 'running' && run.status !== 'waiting';
  return { ...run, agent: shownAgent(run.agent), ...(isOver && drillMark(run)) };
}

/** The error that the run stopped with, or null. */
export function errorIn({ outcome }: RunRecord): RunView['error'] {
  return isObject(outcome) && isObject(outcome.error) ? (outcome.error as RunView['error']) : null;
}

/** Throws if the card was changed after it was recorded. */
export function interruptView(record: InterruptRecord): RunInterrupt {
  const { card, deciders: _deciders, progress, settlement, ...rest } = record;
  const part = isObject(card) ? (card as { readonly part?: unknown }).part : undefined;
  if (digestOf(record.id, card) !== record.digest || !isRequest(part) || !isShownAs(record, part))
    throw new UsageError(
      'outdated-card',
      { interruptId: record.id },
      `The card of ${record.id} was changed in the store.`,
    );
  return {
    ...rest,
    agent: shownAgent(rest.agent),
    ...(rest.settledAt !== null && drillMark(rest)),
    ...votingOn(record, part),
    kind: kindOn(part),
    title: titleOn(part),
    // As this library wrote it; the digest does not cover it.
    settlement: settlement as RunInterrupt['settlement'],
    part,
    input: willRun(part),
    payload: part.metadata?.interrupt as Json,
    ...classOn(part),
    notice: noticeOn(part),
  };
}

/** The policy that counts, and the votes. The store's row may be behind the events for a moment, which count. */
function votingOn(
  { progress }: InterruptRecord,
  part: ToolRequestPart,
): Pick<RunInterrupt, 'policies' | 'requesters' | 'progress'> {
  const { policies = ANYONE, requesters = [] } = waitOf((part.metadata ?? {}) as Partial<Interrupt>);
  // As this library wrote it; the digest does not cover it.
  const votes = progress as VotingProgress | null;
  return {
    policies: votes?.policies ?? policies,
    requesters,
    progress: votes ?? unvoted(policies, requesters, willRun(part)),
  };
}

/** The tool and the kind in the row are those on the card, which the person approves. */
function isShownAs({ tool, kind }: InterruptRecord, part: ToolRequestPart): boolean {
  return tool === part.toolRequest.name && kind === kindOn(part);
}

function isRequest(part: unknown): part is ToolRequestPart {
  return isObject(part) && isObject(part.toolRequest);
}
