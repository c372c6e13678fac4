// The picture of a conversation as a browser shows it, kept up to date event by event.

import { type VoteRights, type Voter, voteRights } from '../../core/authority/may-decide.ts';
import { isPlain } from '../../core/authority/policy.ts';
import type { Json } from '../../core/json.ts';
import { newState } from '../../core/messages/load-messages.ts';
import type { Message, ToolResponsePart } from '../../core/messages/message.ts';
import { type CallOutcome, outcomeOf } from '../../core/request/outcome.ts';
import { callOf } from '../../core/run/call.ts';
import type { Result, RunEvent } from '../../core/run/event.ts';
import { requestIdOf } from '../../core/run/made.ts';
import { fold, type State } from '../../core/run/state.ts';
import { subAgentEvents, subAgentState } from '../../core/run/sub-agents.ts';
import type { WhilePending } from '../../loop/options.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';
import { outcomesOf, type PendingCard, pendingCards, requestKey } from '../../runs/requests/card.ts';
import { isLeftToOthers } from '../../runs/requests/left-to-others.ts';
import { ballotOf, policiesOn, progressOn } from '../../runs/requests/progress.ts';
import type { CardDecision, Problem, RequestCard } from './card.ts';
import { decisionOn, retitled, settledBy } from './card-decision.ts';
import { ALLOWS, cardOf, progressOf, type Tools } from './cards.ts';
import {
  type AssistantMessage,
  type CallStatus,
  endStatus,
  hasEnded,
  lastCard,
  type ShownCall,
  type ShownMessage,
  type ShownPart,
} from './shown-part.ts';
import { Transcript } from './transcript.ts';
import { toolCallIdAt } from './ui-message.ts';

export type PictureOptions = {
  readonly chatId: string;
  /** The conversation before the first event. Default: none. */
  readonly state?: State;
  /** The id of the model's message. Default: it names the event with which the user last spoke. */
  readonly messageId?: string;
  readonly tools: () => Tools;
  /** Who looks at the picture: `watcher` decides nothing. Without it, cards show no votes. */
  readonly reader?: Reader | 'watcher';
  /** What a message of the reader does to pending requests. Without it, cards do not say. */
  readonly whilePending?: WhilePending;
};

export type Reader = {
  readonly id: string;
  /** The person with their roles, and those whom they stand in for. Asked for cards that have a policy. */
  readonly voters: () => Promise<readonly Voter[]>;
};

/** In the metadata of a user message: the id that the browser gave it. */
export const MESSAGE_ID = 'messageId';
/** In the metadata of a user message: it repeats an earlier one, to generate its reply again. */
export const REGENERATES = 'regenerates';

export class Picture {
  readonly #options: PictureOptions;
  readonly #transcript: Transcript;
  /** The `toolCallId` in the browser, by the id of the call. */
  readonly #toolCallIds = new Map<string, string>();
  /** The call of each request, by the key of the request. */
  readonly #callOf = new Map<string, ShownCall>();
  readonly #decisions = new Map<string, RunEvent>();
  /** The cards that the policy was not asked about yet. */
  readonly #unchecked = new Map<string, ShownCall>();
  #state: State;
  #seq = 0;
  /** The event with which the user last spoke. */
  #spokenAt = 0;

  constructor(options: PictureOptions) {
    this.#options = options;
    this.#state = options.state ?? newState();
    this.#transcript = new Transcript(() => this.messageId);
  }

  get state(): State {
    return this.#state;
  }

  get seq(): number {
    return this.#seq;
  }

  get messages(): readonly ShownMessage[] {
    return this.#transcript.messages;
  }

  /** The message that the model is writing, or wrote last, since the user spoke. */
  get current(): AssistantMessage | undefined {
    return this.#transcript.current;
  }

  /** The id that this message has or will have. */
  get messageId(): string {
    const { messageId, chatId } = this.#options;
    return this.current?.id ?? messageId ?? `${chatId}.${this.#spokenAt}`;
  }

  /** Counts the messages before the next reply, as live chunks do. An open turn counts as one. */
  get nextReply(): number {
    const { history, turn } = this.#state;
    return history.length + (turn ? 1 : 0);
  }

  /** Returns the parts that changed since the last time, with the index of their step. */
  takeChanges(): readonly (readonly [ShownPart, number])[] {
    const { changed } = this.#transcript;
    const changes = [...changed];
    changed.clear();
    return changes;
  }

  /** Starts from messages instead of events: those of the model since the user spoke. */
  restore(messages: readonly Message[]): void {
    for (const message of messages)
      if (message.role === 'model') this.#transcript.addReply(message.content);
      else if (message.role === 'tool')
        for (const part of message.content) if ('toolResponse' in part) this.#restoreResult(part);
    for (const call of this.#state.turn?.calls ?? []) {
      const id = toolCallIdAt([], call.ref);
      this.#toolCallIds.set(call.id, id);
      if (call.phase.at === 'settled') this.#setResult(this.#transcript.call(id), call.phase.result);
    }
    for (const [key, card] of pendingCards(this.#options.chatId, this.#state)) this.#ask(key, card, undefined);
  }

  apply(event: RunEvent): void {
    const { chatId } = this.#options;
    const callId = changedCallId(event);
    const before = pendingCards(chatId, this.#state, callId);
    const outcomes = outcomesOf(chatId, this.#state, [event]);
    this.#state = fold(this.#state, event);
    const after = pendingCards(chatId, this.#state, callId);
    this.#seq += 1;
    if (event.type === 'user-spoke') this.#addSpoken(event.messages);
    if (event.type === 'model-replied') {
      for (const { id, ref } of event.calls) this.#toolCallIds.set(id, toolCallIdAt([], ref));
      this.#transcript.addReply(event.content);
    }
    // A rejection or an answer is recorded first; the result that follows ends the waiting.
    for (const made of decisionsIn(event)) this.#decisions.set(requestKey(chatId, made.requestId), made);
    for (const [key, card] of before) if (!after.has(key)) this.#decide(key, card, event);
    for (const [key, outcome] of outcomes) this.#tell(key, outcome);
    for (const [key, card] of after) {
      const known = before.get(key);
      if (!known) this.#ask(key, card, event.at);
      else if (known.progress !== card.progress) this.#count(key, card);
    }
    if (event.type === 'decision-made') this.#showInputThatRuns(event.callId);
    if (event.type === 'call-settled') this.#end(event.callId, event.result);
    for (const { callId, result } of settledInside(event)) this.#end(callId, result);
  }

  addLive(chunk: Chunk): void {
    this.#transcript.addLive(chunk, (ref) => this.#state.refs.has(ref));
  }

  /** Asks the policy about the cards that were added since. Await it before the picture is read; undefined if there are none. */
  askPolicy(): Promise<void> | undefined {
    return this.#unchecked.size > 0 ? this.#askPolicy() : undefined;
  }

  async #askPolicy(): Promise<void> {
    const unchecked = [...this.#unchecked];
    this.#unchecked.clear();
    const pending = pendingCards(this.#options.chatId, this.#state);
    await Promise.all(
      unchecked.map(async ([key, call]) => {
        const asked = pending.get(key);
        if (call.cards.get(key)?.status !== 'pending') return;
        const onMessage = await this.#onMessage(asked);
        const { mayVote, mayApprove } = await this.#rightsOn(asked);
        const card = call.cards.get(key);
        if (card?.status !== 'pending') return;
        const allows = mayApprove ? card.allows : card.allows.filter((verb) => verb !== 'approve');
        if (mayVote) this.#setCard(call, { ...card, ...onMessage, allows, mayDecide: true });
        else if (card.onMessage !== onMessage.onMessage) this.#setCard(call, { ...card, ...onMessage });
      }),
    );
  }

  /** What the policy of a request lets the reader do. */
  async #rightsOn(pending: PendingCard | undefined): Promise<VoteRights> {
    const { reader } = this.#options;
    if (reader === 'watcher') return { mayVote: false, mayApprove: false };
    if (!pending || !reader) return { mayVote: true, mayApprove: true };
    const policies = policiesOn(pending);
    // The directory of people is asked only where it matters who the reader is.
    if (isPlain(policies)) return { mayVote: true, mayApprove: true };
    return voteRights(policies, ballotOf(pending), await reader.voters());
  }

  /** What a message of the reader does while this request is pending. */
  async #onMessage(pending: PendingCard | undefined): Promise<Pick<RequestCard, 'onMessage'>> {
    const { reader, whilePending } = this.#options;
    if (!pending || !reader || whilePending === undefined) return {};
    if (whilePending !== 'auto') return { onMessage: ON_MESSAGE[whilePending] };
    if (reader === 'watcher') return { onMessage: 'waits' };
    const voters = isPlain(policiesOn(pending)) ? [{ by: reader.id }] : await reader.voters();
    return { onMessage: isLeftToOthers(pending, reader.id, voters) ? 'waits' : 'withdraws' };
  }

  refuse(problems: ReadonlyMap<string, readonly Problem[]>): void {
    for (const [key, found] of problems) {
      const call = this.#callOf.get(key);
      const card = call?.cards.get(key);
      if (call && card) this.#setCard(call, { ...card, problems: found });
    }
  }

  #addSpoken(messages: readonly Message[]): void {
    const spoken = messages.filter(({ role }) => role === 'user' || role === 'model');
    if (spoken.length === 0) return;
    const regenerates = spoken.at(-1)?.metadata?.[REGENERATES] === true;
    const { messages: shown, current } = this.#transcript;
    // Said during a turn: it is heard when the turn closes, and the model's message continues with the reply to it.
    if (this.#state.turn) {
      if (!regenerates) shown.splice(shown.length - (current ? 1 : 0), 0, ...this.#shownMessages(spoken));
      this.#markHeld();
      return;
    }
    this.#transcript.endMessage();
    this.#spokenAt = this.#seq;
    if (regenerates && shown.at(-1)?.role === 'assistant') shown.pop();
    else shown.push(...this.#shownMessages(spoken));
  }

  /** The pending requests have a message of the user wait. */
  #markHeld(): void {
    for (const key of pendingCards(this.#options.chatId, this.#state).keys()) {
      const call = this.#callOf.get(key);
      const card = call?.cards.get(key);
      if (call && card && !card.holdsMessage) this.#setCard(call, { ...card, holdsMessage: true });
    }
  }

  #shownMessages(messages: readonly Message[]): readonly ShownMessage[] {
    return messages.map(({ role, content, metadata }, index) => {
      const ownId = `${this.#options.chatId}.${this.#seq}.${index}`;
      const browserId = metadata?.[MESSAGE_ID];
      const id = typeof browserId === 'string' ? browserId : ownId;
      if (role === 'user') return this.#transcript.addUser(id, content, `${ownId}.before`);
      return this.#transcript.addAssistant(id, content);
    });
  }

  #ask(key: string, pending: PendingCard, at: number | undefined): void {
    const holds = this.#state.queued.length > 0 && { holdsMessage: true as const };
    const card = { ...cardOf(key, pending, at, this.#options.tools()), ...this.#votesOn(pending), ...holds };
    // The call shows the input on the card: a page may show the call alone and let the user approve it.
    const { toolCallId, tool, input } = card;
    const call = this.#transcript.ensureCall(toolCallId, tool, input);
    call.cards.set(key, card);
    this.#callOf.set(key, call);
    this.#unchecked.set(key, call);
    const { callId } = pending.part.metadata ?? {};
    if (typeof callId === 'string') this.#toolCallIds.set(callId, toolCallId);
    const isQuestion = card.kind === 'question';
    this.#transcript.change(call, {
      input,
      status: { state: isQuestion ? 'question' : 'asked' },
      approvalId: isQuestion ? undefined : key,
    });
  }

  /** Someone has voted, or it was assigned or escalated, which may change who may decide. */
  #count(key: string, pending: PendingCard): void {
    const call = this.#callOf.get(key);
    const card = call?.cards.get(key);
    if (!call || !card) return;
    this.#setCard(call, { ...card, ...this.#votesOn(pending), allows: ALLOWS[card.kind], mayDecide: false });
    this.#unchecked.set(key, call);
  }

  #votesOn(pending: PendingCard): Partial<Pick<RequestCard, 'policies' | 'progress'>> {
    const { reader } = this.#options;
    if (!reader || reader === 'watcher') return {};
    return { policies: policiesOn(pending), progress: progressOf(progressOn(pending), reader.id) };
  }

  #decide(key: string, pending: PendingCard, event: RunEvent): void {
    const call = this.#callOf.get(key);
    const card = call?.cards.get(key);
    if (!call || !card) return;
    const { chatId } = this.#options;
    const settled = settledInside(event).find(({ callId }) => callId === pending.part.metadata?.callId);
    const ownKey = requestKey(chatId, requestIdOf(pending.part) ?? pending.part.toolRequest.ref);
    const made = this.#decisions.get(key) ?? this.#decisions.get(ownKey) ?? settled ?? event;
    const decision = decisionOn(pending, made);
    const progress = card.progress && { ...card.progress, missing: [] };
    const outcome = outcomeOf(settledBy(made, pending));
    const decided = { ...card, ...retitled(card, made), decision, outcome, progress };
    call.cards.set(key, { ...decided, status: 'decided', mayDecide: false, problems: [] });
    this.#transcript.change(call, { status: this.#statusAfter(call, pending, decision, event) });
  }

  /** What came of the call of a decided request. */
  #tell(key: string, outcome: CallOutcome): void {
    const call = this.#callOf.get(key);
    const card = call?.cards.get(key);
    if (call && card?.status === 'decided') this.#setCard(call, { ...card, outcome });
  }

  #statusAfter(call: ShownCall, pending: PendingCard, decision: CardDecision, event: RunEvent): CallStatus {
    if (event.type === 'run-ended') return { state: 'error', text: 'The run ended before this was decided.' };
    const isEnd = !hasEnded(call.status) && this.#isEndedBy(pending, decision);
    return isEnd ? statusDecided(call, decision) : { state: 'decided' };
  }

  /** Inside another call, the result may never be recorded on its own: then the decision ends the call here. */
  #isEndedBy({ part: { metadata } }: PendingCard, { type }: CardDecision): boolean {
    const path = metadata?.path;
    if (!Array.isArray(path)) return false;
    return ENDS.has(type) || !isRecorded(this.#state, path);
  }

  #end(callId: string, result: Result): void {
    const call = this.#transcript.call(this.#toolCallIds.get(callId));
    if (!call) return;
    this.#setResult(call, result);
    // Decided calls inside it that never got a result end with it.
    for (const inside of this.#transcript.callsInside(call.id)) {
      const decision = lastCard(inside)?.decision;
      if (inside.status.state === 'decided' && decision)
        this.#transcript.change(inside, { status: statusDecided(inside, decision) });
    }
  }

  #showInputThatRuns(callId: string): void {
    const shown = this.#transcript.call(this.#toolCallIds.get(callId));
    const call = callOf(this.#state, callId);
    if (shown && call) this.#transcript.change(shown, { input: call.runsWith ?? call.input });
  }

  #restoreResult({ toolResponse, metadata }: ToolResponsePart): void {
    const outcome = metadata?.outcome;
    const output = toolResponse.output as Json;
    const text = typeof output === 'string' ? output : JSON.stringify(output);
    const isRefused = outcome === 'rejected' || outcome === 'cancelled' || outcome === 'error';
    const result: Result = isRefused ? { type: outcome, text } : { type: 'output', output };
    this.#setResult(this.#transcript.call(toolCallIdAt([], toolResponse.ref)), result);
  }

  #setResult(call: ShownCall | undefined, result: Result): void {
    if (call) this.#transcript.change(call, { status: endStatus(call, result) });
  }

  #setCard(call: ShownCall, card: RequestCard): void {
    call.cards.set(card.id, card);
    this.#transcript.markChanged(call);
  }
}

const ON_MESSAGE = { cancel: 'withdraws', queue: 'waits', refuse: 'refused' } as const;

export function sinceUserSpoke(messages: readonly Message[]): readonly Message[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
}

/** The only call of the open turn that an event can change; undefined if it can change every call. */
function changedCallId(event: RunEvent): string | undefined {
  if (event.type === 'call-ended-late') return event.path?.[0] ?? event.callId;
  return 'callId' in event ? event.callId : undefined;
}

type Settled = RunEvent & { type: 'call-settled' };

/** The results of calls inside a call that an event reports. */
function settledInside(event: RunEvent): readonly Settled[] {
  if (event.type !== 'call-went-on') return [];
  return event.inside.flatMap((inner) => (inner.type === 'call-settled' ? [inner] : settledInside(inner)));
}

/** The decisions that an event reports, on its call or inside it. */
function decisionsIn(event: RunEvent): readonly (RunEvent & { type: 'decision-made' })[] {
  if (event.type === 'decision-made') return [event];
  return event.type === 'call-went-on' ? subAgentEvents(event).flatMap(decisionsIn) : [];
}

/** Whether all conversations on the way to a call inside another are recorded as they happen. */
function isRecorded(state: State, path: readonly unknown[]): boolean {
  const [ref, ...rest] = path;
  if (ref === undefined) return true;
  const call = state.turn?.calls.find((call) => call.ref === ref);
  return call?.subAgent?.recorded !== undefined && isRecorded(subAgentState(call), rest);
}

/** Decisions after which nothing runs. */
const ENDS: ReadonlySet<CardDecision['type']> = new Set(['reject', 'cancel', 'revise']);

function statusDecided(call: ShownCall, { type, reason, comment, output }: CardDecision): CallStatus {
  return ENDS.has(type)
    ? endStatus(call, { type: 'rejected', text: comment ?? reason ?? 'It was rejected.' })
    : { state: 'output', output: output === undefined ? { decision: type } : output };
}
