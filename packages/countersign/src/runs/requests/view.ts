// Runs and requests as callers see them.

import { ANYONE, type Policies } from '../../core/authority/policy.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { messagesOf, newState } from '../../core/messages/load-messages.ts';
import { type Message, type ToolRequestPart, textOf } from '../../core/messages/message.ts';
import { requestIn } from '../../core/messages/request-metadata.ts';
import { type CallOutcome, outcomeOf } from '../../core/request/outcome.ts';
import { askedAnswer, type Review } from '../../core/request/request.ts';
import { type RequestView, type VotingProgress, viewOfRequest } from '../../core/request/view.ts';
import { drillMark, isDrill, shownAgent } from '../../core/run/drill.ts';
import { fold, type State } from '../../core/run/state.ts';
import { readUsage, type Usage } from '../../core/run/usage.ts';
import type { AskedBy } from '../../loop/tool/definition.ts';
import { checkChain } from '../port/chain.ts';
import { forEachInTurns } from '../port/in-turns.ts';
import type { LoadedRun, RequestRecord, RunRecord, StoredEvent } from '../port/store.ts';
import { digestOf, pendingCards, willRun } from './card.ts';
import type { Ending } from './decision.ts';
import { unvoted } from './progress.ts';

/** A request to a person, pending or settled. Pass its `digest` with the decision: one on another card is refused. */
export type RunRequest = RequestView &
  Pick<RequestRecord, 'runId' | 'startedBy' | 'agent' | 'createdAt' | 'settledAt'> & {
    /** The request as in the messages; `approve(…)` and the like take it. */
    readonly part: ToolRequestPart;
    /** Present on a settled drill: a request that had to be rejected, and could not run. */
    readonly drill?: true;
    /** The votes so far; null for an untouched request without a policy. */
    readonly progress: VotingProgress | null;
    /** Who decided what, when, through which channel, with which note; or a withdrawal, or a grant. Null while pending. */
    readonly settlement: Ending | null;
    /** What came of the call after the decision; null while the request is pending, and for an answer that nothing runs with. */
    readonly outcome: CallOutcome | null;
  };

/** A request of this tool. Its input can be spread into an edit. */
export type RunRequestOf<Input, Output> = Omit<RunRequest, 'input'> &
  AskedBy<Input, Output> & { readonly input: Input extends object ? Input & Extract<Json, object> : Input & Json };

/** A stored run without its events. */
export type ListedRun = RunRecord & {
  /** The recorded tokens of all replies, including those of sub-agents; null if no provider reported any. */
  readonly usage: Usage | null;
  /** How many calls that a person or a grant let run have failed, or ended without anyone knowing how. */
  readonly failures: number;
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
  /** The ids of the pending requests. */
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
    failures: state.failures,
    messages,
    text: textOf(said?.content ?? []),
    finishReason: typeof outcome.finishReason === 'string' ? outcome.finishReason : null,
    error: errorIn(run),
    pending: [...pendingCards(run.id, state).keys()],
  };
}

export function listedRun(run: RunRecord): ListedRun {
  const { usage, failures } = isObject(run.outcome) ? run.outcome : {};
  return { ...shownRun(run), usage: readUsage(usage) ?? null, failures: typeof failures === 'number' ? failures : 0 };
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
export function requestView(record: RequestRecord): RunRequest {
  const { id, runId, startedBy, agent, tool, kind, createdAt, settledAt, settlement, digest, card } = record;
  const part = isObject(card) ? (card as { readonly part?: unknown }).part : undefined;
  const request = isRequest(part) ? requestIn(id, part.metadata ?? {}) : undefined;
  // The tool and the kind in the row are those on the card, which the person approves.
  const isShown = digestOf(id, card) === digest && kind === request?.kind && isRequest(part);
  if (!isShown || tool !== part.toolRequest.name)
    throw new UsageError('outdated-card', { requestId: id }, `The card of ${id} was changed in the store.`);
  const { policies, requesters } = request.authority;
  const input = willRun(part);
  // As this library wrote them; the digest does not cover them. They may be behind the events for a moment, which count.
  const votes = record.progress as VotingProgress | null;
  const about = { id, tool, input, createdAt, digest, policies: votes?.policies ?? policies };
  return {
    ...viewOfRequest(request, about),
    ...(votes?.reviews && { reviews: votes.reviews }),
    ...{ runId, startedBy, agent: shownAgent(agent), createdAt, settledAt, part },
    ...retitled(request.shown.title, settlement),
    ...(settledAt !== null && drillMark(record)),
    progress: votes ?? unvoted(policies, requesters, input),
    settlement: settlement as RunRequest['settlement'],
    outcome: outcomeOf({
      ...{ kind, settledAt, continues: askedAnswer(request) !== undefined },
      settlement: settlement as RunRequest['settlement'],
      recorded: record.outcome as CallOutcome | null,
    }),
  };
}

/** After an edit, people read what ran. */
function retitled(asked: string | undefined, settlement: Json): Partial<Pick<RequestView, 'title' | 'earlierTitle'>> {
  const title = isObject(settlement) ? settlement.title : undefined;
  return typeof title === 'string' && title !== asked ? { title, earlierTitle: asked ?? null } : {};
}

/** What figures count of a settled request. */
export type SettledFacts = Pick<
  RunRequest,
  'tool' | 'policies' | 'createdAt' | 'settledAt' | 'settlement' | 'drill'
> & {
  /** A review had warned of it. */
  readonly warned?: true;
};

/** Does not verify the card: of that, only the names of its policies count. */
export function settledFacts(record: RequestRecord): SettledFacts {
  const { tool, createdAt, settledAt, settlement, card } = record;
  const part = isObject(card) ? (card as { readonly part?: unknown }).part : undefined;
  const own = isRequest(part) ? (part.metadata?.policies as Policies | undefined) : undefined;
  const { policies = own ?? ANYONE, reviews = isRequest(part) ? part.metadata?.reviews : undefined } =
    (record.progress as VotingProgress | null) ?? {};
  const warned = ((reviews ?? []) as readonly Review[]).some(({ findings }) =>
    findings.some(({ level }) => level === 'warning'),
  );
  return {
    ...(warned && { warned }),
    ...{ tool, policies, createdAt, settledAt, settlement: settlement as RunRequest['settlement'] },
    ...drillMark(record),
  };
}

function isRequest(part: unknown): part is ToolRequestPart {
  return isObject(part) && isObject(part.toolRequest);
}
