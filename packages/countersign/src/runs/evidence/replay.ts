// Replays the events of a run: the questions that it asked, how they were settled, and calls that started without a decision.
import { callOf } from '../../core/call.ts';
import { matchDecisions, readResume, recordedBound } from '../../core/decide.ts';
import { messageOf } from '../../core/errors.ts';
import { type Decision, isByDeadline, type RunEvent } from '../../core/event.ts';
import { defined, type Json } from '../../core/json.ts';
import type { ToolRequestPart } from '../../core/message.ts';
import { newState } from '../../core/messages/load-messages.ts';
import { fold, type State } from '../../core/state.ts';
import { refsOf, subAgentEvents, subAgentState } from '../../core/sub-agents.ts';
import type { RunRecord, StoredEvent } from '../port/store.ts';
import { digestOf, type PendingCard, pendingCards } from '../questions/card.ts';

/** Something that does not hold, and where: a place in the document, such as `events[3]`. */
export type EvidenceProblem = { readonly where: string; readonly problem: string };

/** A question as the events tell it. Numbers of events start at 1. */
export type ReplayedQuestion = {
  readonly id: string;
  readonly tool: string;
  readonly kind: string;
  /** The event that asked it. */
  readonly asked: number;
  /** The request as in the messages: the card is made of it. */
  readonly part: ToolRequestPart;
  readonly digest: string;
  /** Null while it is pending. Without a decision it was withdrawn. */
  readonly settled: { readonly event: number; readonly at: number; readonly decision: Decision | null } | null;
};

export type Replay = {
  readonly questions: readonly ReplayedQuestion[];
  readonly problems: readonly EvidenceProblem[];
};

/** Never throws: events that cannot be followed are a problem, and the replay ends there. */
export function replay(run: Pick<RunRecord, 'id'>, events: readonly StoredEvent[]): Replay {
  const questions = new Map<string, ReplayedQuestion>();
  const problems: EvidenceProblem[] = [];
  let state = newState();
  for (const [index, event] of events.entries()) {
    const where = `events[${index}]`;
    try {
      for (const problem of startProblems(state, event)) problems.push({ where, problem });
      const decided = event.type === 'decision-made' ? decisionsIn(run.id, state, event) : NO_DECISIONS;
      for (const { card, decision } of decided.values())
        for (const problem of deadlineProblems(card, decision, event.at)) problems.push({ where, problem });
      state = fold(state, event);
      take(questions, pendingCards(run.id, state), decided, { event: index + 1, at: event.at });
    } catch (error) {
      problems.push({ where, problem: `It does not fit the events before it. ${messageOf(error)}` });
      break;
    }
  }
  return { questions: [...questions.values()], problems };
}

type Made = { readonly card: PendingCard; readonly decision: Decision };
const NO_DECISIONS: ReadonlyMap<string, Made> = new Map();

/** Adds the new questions, and settles those that are no longer pending. */
function take(
  questions: Map<string, ReplayedQuestion>,
  pending: ReadonlyMap<string, PendingCard>,
  decided: ReadonlyMap<string, Made>,
  now: { readonly event: number; readonly at: number },
): void {
  for (const [id, question] of questions) {
    const { decision = null } = decided.get(id) ?? {};
    // A rejected call is pending until its result, which is the next event.
    if (question.settled || (pending.has(id) && !decision)) continue;
    questions.set(id, { ...question, settled: { ...now, decision } });
  }
  for (const [id, { part, tool, kind }] of pending) {
    if (questions.has(id)) continue;
    const digest = digestOf(id, { part } as unknown as Json);
    questions.set(id, { id, tool, kind, asked: now.event, part, digest, settled: null });
  }
}

/** The decisions of one event, by the id of their question. A decision on a sub-agent holds those on its questions. */
function decisionsIn(
  runId: string,
  state: State,
  { callId, interruptId, decision }: StoredEvent & { type: 'decision-made' },
): ReadonlyMap<string, Made> {
  const cards = [...pendingCards(runId, state, callId)];
  if (decision.type !== 'inside')
    return new Map(cards.flatMap(([id, card]) => (card.id === interruptId ? [[id, { card, decision }]] : [])));
  const { ref = '' } = callOf(state, callId) ?? {};
  const { entries, ...rest } = readResume(decision.resume as never);
  const outer = entries.map((entry) => ({ ...entry, part: inside(ref, entry.part as ToolRequestPart) }));
  const { leaves } = matchDecisions(state.turn, { ...rest, entries: outer }, () => false, recordedBound);
  const byRefs = new Map(cards.map(([id, card]) => [refsOf(card.part), { id, card }]));
  return new Map(
    leaves.flatMap(({ path, call, decision }) => {
      const found = byRefs.get(JSON.stringify([...path, call].map((one) => one.ref)));
      return found ? [[found.id, { card: found.card, decision }] as const] : [];
    }),
  );
}

function inside(ref: string, part: ToolRequestPart): ToolRequestPart {
  const { path } = part.metadata ?? {};
  return { ...part, metadata: { ...part.metadata, path: [ref, ...(Array.isArray(path) ? path : [])] } };
}

/** A call that starts while its question is pending, or after it has its result, was not allowed to. */
function startProblems(state: State, event: RunEvent): readonly string[] {
  if (event.type === 'call-went-on') return startsInside(state, event);
  if (event.type !== 'call-started') return [];
  const call = callOf(state, event.callId);
  const at = call?.phase.at;
  if (at === 'waiting') return [`${call?.name} (${event.callId}) starts without a decision on its question.`];
  return at === 'settled' ? [`${call?.name} (${event.callId}) starts after it has its result.`] : [];
}

function startsInside(state: State, event: RunEvent & { type: 'call-went-on' }): readonly string[] {
  const call = callOf(state, event.callId);
  if (!call) return [];
  let inner = subAgentState(call);
  return subAgentEvents(event).flatMap((step) => {
    const problems = startProblems(inner, step);
    inner = fold(inner, step);
    return problems;
  });
}

/** A deadline decides as its question says, and not before its time. */
function deadlineProblems({ interrupt }: PendingCard, decision: Decision, at: number): readonly string[] {
  if (decision.type === 'inside' || !isByDeadline(decision)) return [];
  const { id, expiresAt, onExpiry = 'reject', kind } = interrupt;
  const type = onExpiry === 'approve' && kind === 'question' ? 'cancel' : onExpiry;
  if (expiresAt === undefined) return [`A deadline decides ${id}, which has none.`];
  if (at < expiresAt) return [`The deadline of ${id} decides before its time.`];
  return decision.type === type ? [] : [`The deadline of ${id} decides ${decision.type}; its question says ${type}.`];
}

/** The decision as a person made it: `{ type: 'approve', edit }`, without who and when. */
export function saidIn(decision: Decision): Json {
  const { type } = decision;
  switch (decision.type) {
    case 'respond':
      return { type, output: decision.output };
    case 'restart':
      return { type, resumed: decision.resumed, ...defined({ replaceInput: decision.input }) };
    case 'approve':
      return { type, ...defined({ edit: decision.input }) };
    case 'reject':
    case 'cancel':
      return { type, ...defined({ reason: decision.reason }) };
    case 'inside':
      return { type, decided: decision.decided };
  }
}
