// The picture of a conversation as a browser shows it, kept up to date event by event.
import { callOf } from '../../core/call.ts';
import { interruptIdOf } from '../../core/decide.ts';
import type { Result, RunEvent } from '../../core/event.ts';
import type { Json } from '../../core/json.ts';
import { isToolRequest, type Message, type Part, type ToolResponsePart } from '../../core/message.ts';
import { fold, type State } from '../../core/state.ts';
import { subAgentEvents, subAgentState } from '../../core/sub-agents.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';
import { interruptKey, type PendingCard, pendingCards } from '../../runs/questions/card.ts';
import type { CardDecision, InterruptCard, Problem } from './card.ts';
import { decisionOn } from './card-decision.ts';
import {
  type AssistantMessage,
  endOf,
  filePiece,
  isEnded,
  type PictureMessage,
  type Piece,
  type TextPiece,
  type ToolPiece,
  toolPiece,
} from './piece.ts';
import { toolCallIdAt } from './ui-message.ts';

export type PictureOptions = {
  readonly chatId: string;
  /** The conversation before the first event. */
  readonly state: State;
  /** The id of the message that answers what the user said with this event. */
  readonly messageId: (seq: number) => string;
  /** Makes the card that a person is shown. */
  readonly card: (key: string, card: PendingCard, at: number | undefined) => InterruptCard;
  /** Whether that person may decide it. */
  readonly mayDecide: (card: InterruptCard) => Promise<boolean>;
};

/** In the metadata of what the user says: the id that the browser gave it. */
export const MESSAGE_ID = 'messageId';
/** In the metadata of what the user says: it was said before, and the reply to it is to be made anew. */
export const REGENERATES = 'regenerates';

export class Picture {
  readonly messages: PictureMessage[] = [];
  /** The pieces that changed since somebody last looked, with the index of their step; in their order. */
  readonly changed = new Map<Piece, number>();
  readonly #options: PictureOptions;
  readonly #tools = new Map<string, ToolPiece>();
  /** The piece of each question, by its key. */
  readonly #askedBy = new Map<string, ToolPiece>();
  /** The pieces of the calls directly or indirectly inside a call, by the id of the outer piece. */
  readonly #inside = new Map<string, ToolPiece[]>();
  /** The step of the current message that a piece belongs to. */
  readonly #stepOf = new Map<Piece, number>();
  /** The latest user message under each id. */
  readonly #userMessages = new Map<string, { id: string }>();
  /** The id under which the browser knows each call. */
  readonly #ids = new Map<string, string>();
  readonly #decisions = new Map<string, RunEvent>();
  /** The cards of which nobody knows yet whether they may be decided. */
  readonly #asked = new Map<string, ToolPiece>();
  #state: State;
  #pending: ReadonlyMap<string, PendingCard>;
  #seq = 0;
  #current: AssistantMessage | undefined;
  /** The event with which the user last spoke. */
  #spokenAt = 0;
  /** The last step is of a reply that is not on record yet. */
  #saying = false;

  constructor(options: PictureOptions) {
    this.#options = options;
    this.#state = options.state;
    this.#pending = pendingCards(options.chatId, options.state);
  }

  get state(): State {
    return this.#state;
  }

  /** The message that the model is writing, or wrote last, since the user spoke. */
  get current(): AssistantMessage | undefined {
    return this.#current;
  }

  /** The id that this message has or will have. */
  get messageId(): string {
    return this.#current?.id ?? this.#options.messageId(this.#spokenAt);
  }

  /** How many messages the next reply is to, at least: while calls are open, their reply is on record, and they are not. */
  get nextReply(): number {
    const { history, turn } = this.#state;
    return history.length + (turn ? 1 : 0);
  }

  /** Begins in the middle: with what the model said since the user spoke. */
  restore(said: readonly Message[]): void {
    for (const message of said)
      if (message.role === 'model') this.#reply(message.content);
      else if (message.role === 'tool')
        for (const part of message.content) if ('toolResponse' in part) this.#answered(part);
    for (const call of this.#state.turn?.calls ?? []) {
      const id = toolCallIdAt([], call.ref);
      this.#ids.set(call.id, id);
      const piece = this.#tools.get(id);
      if (piece && call.phase.at === 'settled') this.#change(piece, { at: endOf(piece, call.phase.result) });
    }
    for (const [key, card] of this.#pending) this.#ask(key, card, undefined);
  }

  apply(event: RunEvent): void {
    const { chatId } = this.#options;
    const before = this.#pending;
    this.#state = fold(this.#state, event);
    this.#seq += 1;
    if (event.type === 'user-spoke') this.#hear(event.messages);
    if (event.type === 'model-replied') {
      for (const { id, ref } of event.calls) this.#ids.set(id, toolCallIdAt([], ref));
      this.#reply(event.content);
    }
    // A refusal and an answer are said first, and end the waiting with the result that follows.
    for (const made of decisionsIn(event)) this.#decisions.set(interruptKey(chatId, made.interruptId), made);
    const after = pendingCards(chatId, this.#state);
    this.#pending = after;
    for (const [key, card] of before) if (!after.has(key)) this.#decided(key, card, event);
    for (const [key, card] of after) if (!before.has(key)) this.#ask(key, card, event.at);
    if (event.type === 'decision-made' || event.type === 'call-settled') this.#follow(event);
    for (const { callId, result } of settledInside(event)) this.#end(this.#ids.get(callId), result);
  }

  /** A piece of a reply that is being said. */
  say(chunk: Chunk): void {
    if (chunk.type !== 'text' && chunk.type !== 'reasoning' && chunk.type !== 'tool-input') return;
    if (!this.#saying) this.#begin();
    this.#saying = true;
    const step = this.#lastStep();
    if (chunk.type !== 'tool-input') {
      const piece = this.#open(step, chunk.type);
      piece.text += chunk.type === 'text' ? chunk.text : chunk.reasoning;
      return this.#note(piece);
    }
    // An id that was used before is replaced by one of ours, which only the record tells.
    if (this.#state.refs.has(chunk.ref)) return;
    this.#close(step);
    const id = toolCallIdAt([], chunk.ref);
    const piece = this.#tools.get(id) ?? this.#add(toolPiece(id, chunk.name, null, 'input-streaming'));
    piece.inputText += chunk.delta;
    this.#note(piece);
  }

  /** Finds out who may decide what was asked since; to be awaited before anybody looks. */
  async admit(): Promise<void> {
    const asked = [...this.#asked];
    this.#asked.clear();
    await Promise.all(
      asked.map(async ([key, piece]) => {
        const card = piece.cards.get(key);
        if (card?.status !== 'pending' || !(await this.#options.mayDecide(card))) return;
        piece.cards.set(key, { ...card, mayDecide: true });
        this.#note(piece);
      }),
    );
  }

  /** Why decisions of this client were refused; on a card that is decided, because somebody else was first. */
  refuse(problems: ReadonlyMap<string, readonly Problem[]>): void {
    for (const [key, found] of problems) {
      const piece = this.#askedBy.get(key);
      const card = piece?.cards.get(key);
      if (!piece || !card) continue;
      piece.cards.set(key, { ...card, problems: found });
      this.#note(piece);
    }
  }

  #hear(messages: readonly Message[]): void {
    const said = messages.filter(({ role }) => role === 'user' || role === 'model');
    if (said.length === 0) return;
    const isSaidAgain = said.at(-1)?.metadata?.[REGENERATES] === true;
    // What is said while a turn is open is heard when it closes, and the message of the model goes on with the answer to it.
    if (this.#state.turn) {
      if (!isSaidAgain) this.messages.splice(this.messages.length - (this.#current ? 1 : 0), 0, ...this.#shown(said));
      return;
    }
    this.#current = undefined;
    this.#stepOf.clear();
    // What was left to say of the message before is not said any more: a stream is of one message.
    this.changed.clear();
    this.#spokenAt = this.#seq;
    if (isSaidAgain && this.messages.at(-1)?.role === 'assistant') this.messages.pop();
    else this.messages.push(...this.#shown(said));
  }

  #shown(said: readonly Message[]): readonly PictureMessage[] {
    return said.map(({ role, content, metadata }, index): PictureMessage => {
      const given = metadata?.[MESSAGE_ID];
      const own = `${this.#options.chatId}.${this.#seq}.${index}`;
      const id = typeof given === 'string' ? given : own;
      // Who edits a message says other words under its id, and a page takes messages of one id for the same.
      const edited = this.#userMessages.get(id);
      if (edited) edited.id = `${own}.before`;
      if (role === 'user') {
        const shown = { role, id, content };
        this.#userMessages.set(id, shown);
        return shown;
      }
      const step: Piece[] = [];
      this.#complete(step, content);
      return { role: 'assistant', id, steps: [step] };
    });
  }

  #reply(content: readonly Part[]): void {
    if (!this.#saying) this.#begin();
    this.#saying = false;
    this.#complete(this.#lastStep(), content);
  }

  /** The whole of what was said in a step; what was said of it live is not said again. */
  #complete(step: Piece[], content: readonly Part[]): void {
    const heard = { text: saidIn(step, 'text'), reasoning: saidIn(step, 'reasoning') };
    const more = (type: TextPiece['type'], text: string) => {
      const known = commonLength(heard[type], text);
      heard[type] = heard[type].slice(known);
      if (known === text.length) return;
      const piece = this.#open(step, type);
      piece.text += text.slice(known);
      this.#note(piece);
    };
    for (const part of content) {
      if ('text' in part) more('text', part.text);
      else if ('reasoning' in part) more('reasoning', part.reasoning);
      else if ('media' in part) this.#add(filePiece(part.media), step);
      else if (isToolRequest(part)) {
        const { ref, name, input } = part.toolRequest;
        this.#close(step);
        const id = toolCallIdAt([], ref);
        const piece = this.#tools.get(id) ?? this.#add(toolPiece(id, name, input, 'input'), step);
        this.#change(piece, { input, at: { state: 'input' } });
      }
    }
    this.#close(step);
    for (const piece of step)
      if (piece.type === 'tool' && piece.at.state === 'input-streaming')
        this.#change(piece, { at: { state: 'error', text: 'The model did not make this call in the end.' } });
  }

  #ask(key: string, pending: PendingCard, at: number | undefined): void {
    const card = this.#options.card(key, pending, at);
    if (!this.#current) this.#begin();
    // What would run, as on the card: a page may show the call itself and let it be approved.
    const { toolCallId, tool, input } = card;
    const piece = this.#tools.get(toolCallId) ?? this.#add(toolPiece(toolCallId, tool, input, 'input'));
    piece.cards.set(key, card);
    this.#askedBy.set(key, piece);
    this.#asked.set(key, piece);
    const { callId } = pending.part.metadata ?? {};
    if (typeof callId === 'string') this.#ids.set(callId, toolCallId);
    const isQuestion = pending.kind === 'question';
    this.#change(piece, {
      input,
      at: { state: isQuestion ? 'question' : 'asked' },
      approvalId: isQuestion ? undefined : key,
    });
  }

  #decided(key: string, pending: PendingCard, event: RunEvent): void {
    const piece = this.#askedBy.get(key);
    const card = piece?.cards.get(key);
    if (!piece || !card) return;
    const inside = settledInside(event).find(({ callId }) => callId === pending.part.metadata?.callId);
    const own = interruptKey(this.#options.chatId, interruptIdOf(pending.part) ?? pending.part.toolRequest.ref);
    const decision = decisionOn(pending, this.#decisions.get(key) ?? this.#decisions.get(own) ?? inside ?? event);
    piece.cards.set(key, { ...card, status: 'decided', mayDecide: false, decision, problems: [] });
    if (event.type === 'run-ended')
      this.#change(piece, { at: { state: 'error', text: 'The run was ended before this was decided.' } });
    else if (!isEnded(piece.at) && this.#isEndedBy(pending, decision))
      this.#change(piece, { at: decidedEnd(piece, decision) });
    else this.#change(piece, { at: { state: 'decided' } });
  }

  /** Inside a call, what comes of a decision may not be on record as it happens: then here the decision ends it. */
  #isEndedBy({ part: { metadata } }: PendingCard, { type }: CardDecision): boolean {
    const path = metadata?.path;
    if (!Array.isArray(path)) return false;
    const isRefused = type === 'reject' || type === 'cancel';
    return isRefused || !isRecorded(this.#state, path);
  }

  #end(id: string | undefined, result: Result): void {
    const piece = this.#tools.get(id ?? '');
    if (!piece) return;
    this.#change(piece, { at: endOf(piece, result) });
    // What it says of a call inside it came before; of one that it holds by itself, nothing does.
    for (const inside of this.#inside.get(piece.id) ?? []) {
      const decision = [...inside.cards.values()].at(-1)?.decision;
      if (inside.at.state === 'decided' && decision) this.#change(inside, { at: decidedEnd(inside, decision) });
    }
  }

  #follow(event: RunEvent & { type: 'decision-made' | 'call-settled' }): void {
    const piece = this.#tools.get(this.#ids.get(event.callId) ?? '');
    if (!piece) return;
    if (event.type === 'call-settled') return this.#end(piece.id, event.result);
    const call = callOf(this.#state, event.callId);
    if (!call) return;
    const { runsWith = call.input } = call;
    this.#change(piece, { input: runsWith });
  }

  #answered({ toolResponse, metadata }: ToolResponsePart): void {
    const piece = this.#tools.get(toolCallIdAt([], toolResponse.ref));
    if (!piece) return;
    const outcome = metadata?.outcome;
    const output = toolResponse.output as Json;
    const text = typeof output === 'string' ? output : JSON.stringify(output);
    const refused = outcome === 'rejected' || outcome === 'cancelled' || outcome === 'error';
    this.#change(piece, { at: endOf(piece, refused ? { type: outcome, text } : { type: 'output', output }) });
  }

  #begin(): void {
    if (!this.#current) {
      this.#current = { role: 'assistant', id: this.messageId, steps: [] };
      this.messages.push(this.#current);
    }
    this.#current.steps.push([]);
  }

  #lastStep(): Piece[] {
    return this.#current?.steps.at(-1) ?? [];
  }

  #open(step: Piece[], type: TextPiece['type']): TextPiece {
    const last = step.at(-1);
    if (last?.type === type && !last.done) return last;
    return this.#add({ type, id: `${this.#current?.steps.length ?? 0}.${step.length}`, text: '', done: false }, step);
  }

  #add<P extends Piece>(piece: P, step: Piece[] = this.#lastStep()): P {
    this.#close(step);
    step.push(piece);
    if (this.#current?.steps.at(-1) === step) this.#stepOf.set(piece, this.#current.steps.length - 1);
    if (piece.type === 'tool') {
      this.#tools.set(piece.id, piece);
      for (const outer of outerIds(piece.id)) {
        const inside = this.#inside.get(outer);
        if (inside) inside.push(piece);
        else this.#inside.set(outer, [piece]);
      }
    }
    this.#note(piece);
    return piece;
  }

  #close(step: Piece[]): void {
    const last = step.at(-1);
    if (!last || last.type === 'file' || last.type === 'tool' || last.done) return;
    last.done = true;
    this.#note(last);
  }

  #change(piece: ToolPiece, change: Partial<Pick<ToolPiece, 'input' | 'at' | 'approvalId'>>): void {
    Object.assign(piece, change);
    this.#note(piece);
  }

  #note(piece: Piece): void {
    if (this.changed.has(piece)) return;
    this.changed.set(piece, this.#stepOf.get(piece) ?? -1);
  }
}

/** The ids of the tool parts around a tool part. */
function outerIds(id: string): readonly string[] {
  const refs = id.split('/');
  return refs.slice(1).map((_, index) => refs.slice(0, index + 1).join('/'));
}

/** What the model said and did since the user last spoke. */
export function sinceSpoken(messages: readonly Message[]): readonly Message[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
}

function saidIn(step: readonly Piece[], type: TextPiece['type']): string {
  return step.map((piece) => (piece.type === type ? piece.text : '')).join('');
}

/** How much of `text` was heard already: all of it, or all that was heard. */
function commonLength(heard: string, text: string): number {
  if (heard.startsWith(text)) return text.length;
  return text.startsWith(heard) ? heard.length : 0;
}

type Settled = RunEvent & { type: 'call-settled' };

/** The results of calls inside a call that an event tells of. */
function settledInside(event: RunEvent): readonly Settled[] {
  if (event.type !== 'call-went-on') return [];
  return event.inside.flatMap((inner) => (inner.type === 'call-settled' ? [inner] : settledInside(inner)));
}

/** The decisions that an event tells of, on its call or inside it. Those inside were recorded when it was. */
function decisionsIn(event: RunEvent): readonly (RunEvent & { type: 'decision-made' })[] {
  if (event.type === 'decision-made') return [event];
  return event.type === 'call-went-on' ? subAgentEvents(event).flatMap(decisionsIn) : [];
}

/** All conversations on the way to a call inside are on record as they happen. */
function isRecorded(state: State, path: readonly unknown[]): boolean {
  const [ref, ...rest] = path;
  if (ref === undefined) return true;
  const call = state.turn?.calls.find((call) => call.ref === ref);
  return call?.subAgent?.recorded !== undefined && isRecorded(subAgentState(call), rest);
}

function decidedEnd(piece: ToolPiece, { type, reason, output }: CardDecision): ToolPiece['at'] {
  return type === 'reject' || type === 'cancel'
    ? endOf(piece, { type: 'rejected', text: reason ?? 'It was rejected.' })
    : { state: 'output', output: output === undefined ? { decision: type } : output };
}
