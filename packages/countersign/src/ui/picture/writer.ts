// Writes the chunks that bring a browser up to date with the picture.
import { isObject, sameJson } from '../../core/json.ts';
import type { Picture } from './picture.ts';
import { hasEnded, lastCard, type ShownCall, type ShownPart, type ShownText } from './shown-part.ts';
import { type ChatChunk, type ChatMessage, type ChatPart, isToolPart, requestsByCall } from './ui-message.ts';

/** The major version of `ai` in the browser. A chunk that the client does not know breaks its stream. */
export type ClientVersion = 5 | 6 | 7;

export type WriterOptions = {
  readonly client: ClientVersion;
  /** `output`: approvals are calls without a result that the user decides with `addToolOutput`, as in AI SDK 5. */
  readonly approvals: 'native' | 'output';
};

/** What the browser has of a part. */
type Sent = { length: number; begun: boolean; ended: boolean };
type SentCall = {
  state: string;
  approvalId: string | undefined;
  inputLength: number;
  input: unknown;
  readonly cards: Map<string, unknown>;
};

export class ChatWriter {
  readonly #picture: Picture;
  readonly #options: WriterOptions;
  readonly #sent = new Map<ShownText, Sent>();
  readonly #sentCalls = new Map<string, SentCall>();
  readonly #sentFiles = new Set<ShownPart>();
  /** The text and files of each step that the browser has and that were not matched yet. */
  readonly #known: readonly KnownStep[];
  #steps: number;
  #stepIsOpen = false;

  /** `known` is the message as the browser has it. It only decides what need not be sent again. */
  constructor(picture: Picture, options: WriterOptions, known?: ChatMessage) {
    this.#picture = picture;
    this.#options = options;
    this.#known = known ? stepsOf(known) : [];
    this.#steps = this.#known.length;
    const parts = known?.parts ?? [];
    const questions = requestsByCall(parts);
    for (const part of parts) {
      const { toolCallId: id } = part;
      if (isToolPart(part) && typeof id === 'string') this.#sentCalls.set(id, sentCall(part, questions.get(id) ?? []));
    }
  }

  begin(): ChatChunk {
    return { type: 'start', messageId: this.#picture.messageId };
  }

  *changes(): Generator<ChatChunk> {
    for (const [part, step] of this.#picture.takeChanges()) {
      if (step < 0) continue;
      yield* this.#stepTo(step);
      yield* this.#part(part, step);
    }
    yield* this.#stepTo((this.#picture.current?.steps.length ?? 0) - 1);
  }

  /**
   * Ends the stream. A client that posts automatically must not find every call of the last step answered, so a step with
   * an inert part follows: clients ignore an empty step.
   */
  *end(finishReason: string): Generator<ChatChunk> {
    const last = this.#picture.current?.steps.at(-1);
    const tools = last?.filter((part) => part.type === 'tool') ?? [];
    if (tools.length > 0 && tools.every(({ status }) => hasEnded(status))) {
      if (this.#stepIsOpen) yield { type: 'finish-step' };
      yield { type: 'start-step' };
      this.#stepIsOpen = true;
      yield endOf(finishReason);
    } else if (last?.every(isEmptyText)) yield endOf(finishReason);
    if (this.#stepIsOpen) yield { type: 'finish-step' };
    this.#stepIsOpen = false;
    yield { type: 'finish', ...(this.#options.client > 5 && { finishReason }) };
  }

  *#stepTo(step: number): Generator<ChatChunk> {
    while (this.#steps <= step) {
      if (this.#stepIsOpen) yield { type: 'finish-step' };
      yield { type: 'start-step' };
      this.#stepIsOpen = true;
      this.#steps += 1;
    }
  }

  *#part(part: ShownPart, step: number): Generator<ChatChunk> {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        yield* this.#text(part, step);
        return;
      case 'file':
        if (this.#sentFiles.has(part) || step < this.#known.length - 1) return;
        this.#sentFiles.add(part);
        if (!this.#known[step]?.files.delete(part.url))
          yield { type: 'file', url: part.url, mediaType: part.mediaType };
        return;
      case 'tool':
        yield* this.#call(part);
    }
  }

  *#text(part: ShownText, step: number): Generator<ChatChunk> {
    const sent = this.#sent.get(part) ?? { length: this.#knownLength(part, step), begun: false, ended: false };
    this.#sent.set(part, sent);
    const { type, id } = part;
    if (sent.length < part.text.length) {
      if (!sent.begun) yield { type: `${type}-start`, id };
      yield { type: `${type}-delta`, id, delta: unsent(part, sent.length) };
      sent.begun = true;
      sent.length = part.text.length;
    }
    if (part.done && sent.begun && !sent.ended) {
      yield { type: `${type}-end`, id };
      sent.ended = true;
    }
  }

  /** How much of the text the browser has, if it lost its connection in the middle. */
  #knownLength(part: ShownText, step: number): number {
    const known = this.#known[step];
    if (!known) return 0;
    const text = known[part.type];
    const length = text.startsWith(part.text) ? part.text.length : part.text.startsWith(text) ? text.length : 0;
    known[part.type] = text.slice(length);
    return length;
  }

  *#call(call: ShownCall): Generator<ChatChunk> {
    const { id: toolCallId, name: toolName, status, cards } = call;
    const native = this.#options.approvals === 'native';
    const known = this.#sentCalls.get(toolCallId);
    const sent = known ?? { state: '', approvalId: undefined, inputLength: 0, input: undefined, cards: new Map() };
    this.#sentCalls.set(toolCallId, sent);
    if (status.state === 'input-streaming') return yield* this.#streamInput(call, sent);
    const available = { type: 'tool-input-available', toolCallId, toolName, input: call.input };
    const isNew = sent.state === '' || sent.state === 'input-streaming';
    const isEdited = !isNew && !sameJson(sent.input, call.input);
    // The browser shows an answer that the server refused, or that was for an earlier request.
    const asksAgain = cards.size > 1 && [...cards.keys()].some((key) => !sent.cards.has(key));
    const isRefused = waitsForAnswer(call, native) && (isAnswered(sent.state) || asksAgain);
    if (isNew || isEdited || isRefused) {
      yield available;
      sent.state = 'input-available';
      sent.approvalId = undefined;
    }
    sent.input = call.input;
    for (const [key, card] of cards)
      if (sent.cards.get(key) !== card) {
        sent.cards.set(key, card);
        yield { type: 'data-request', id: key, data: card };
      }
    yield* this.#status(call, sent, native);
  }

  *#streamInput({ id: toolCallId, name: toolName, inputText }: ShownCall, sent: SentCall): Generator<ChatChunk> {
    if (sent.state === '') yield { type: 'tool-input-start', toolCallId, toolName };
    sent.state = 'input-streaming';
    if (inputText.length === sent.inputLength) return;
    yield { type: 'tool-input-delta', toolCallId, inputTextDelta: inputText.slice(sent.inputLength) };
    sent.inputLength = inputText.length;
  }

  *#status(call: ShownCall, sent: SentCall, native: boolean): Generator<ChatChunk> {
    const { id: toolCallId, status, approvalId } = call;
    switch (status.state) {
      case 'asked':
        if (native && !(sent.state === 'approval-requested' && sent.approvalId === approvalId))
          yield this.#request(call, sent);
        return;
      case 'decided':
        if (native && this.#options.client >= 7 && sent.state === 'approval-requested')
          yield { type: 'tool-approval-response', approvalId: sent.approvalId, approved: true };
        return;
      case 'output':
        // Replaces whatever output the browser shows.
        if (sent.state !== 'sent-output') yield { type: 'tool-output-available', toolCallId, output: status.output };
        sent.state = 'sent-output';
        return;
      case 'error':
        if (sent.state !== 'sent-error') yield { type: 'tool-output-error', toolCallId, errorText: status.text };
        sent.state = 'sent-error';
        return;
      case 'denied': {
        if (sent.state === 'sent-denied') return;
        if (!native) yield { type: 'tool-output-error', toolCallId, errorText: deniedText(call) };
        else {
          // A browser that shows it as approved gets the request again first.
          if (sent.approvalId !== approvalId || sent.state === 'approval-approved') yield this.#request(call, sent);
          yield { type: 'tool-output-denied', toolCallId };
        }
        sent.state = 'sent-denied';
        return;
      }
      case 'input-streaming':
      case 'input':
      case 'question':
    }
  }

  #request({ id: toolCallId, approvalId }: ShownCall, sent: SentCall): ChatChunk {
    sent.state = 'approval-requested';
    sent.approvalId = approvalId;
    return { type: 'tool-approval-request', approvalId, toolCallId };
  }
}

/** A slice of the whole text would copy it for each piece that the model writes. */
function unsent({ text, added }: ShownText, sent: number): string {
  return sent + added.length === text.length ? added : text.slice(sent);
}

const endOf = (finishReason: string): ChatChunk => ({ type: 'data-end', id: 'end', data: { finishReason } });

const isEmptyText = (part: ShownPart): boolean => 'text' in part && part.text === '';

/** For clients without a state for denied calls. */
function deniedText(call: ShownCall): string {
  const reason = lastCard(call)?.decision?.reason;
  return `${call.name} was rejected and did not run.${reason === undefined ? '' : ` Reason: ${reason}`}`;
}

function waitsForAnswer({ status }: ShownCall, native: boolean): boolean {
  return status.state === 'question' || (status.state === 'asked' && !native);
}

const isAnswered = (state: string): boolean => state === 'output-available' || state === 'output-error';

type KnownStep = { text: string; reasoning: string; readonly files: Set<string> };

function stepsOf({ parts }: ChatMessage): KnownStep[] {
  const steps: KnownStep[] = [];
  for (const part of parts) {
    if (part.type === 'step-start' || steps.length === 0) steps.push({ text: '', reasoning: '', files: new Set() });
    const step = steps.at(-1);
    if (!step) continue;
    if ((part.type === 'text' || part.type === 'reasoning') && typeof part.text === 'string')
      step[part.type] += part.text;
    if (part.type === 'file' && typeof part.url === 'string') step.files.add(part.url);
  }
  return steps;
}

function sentCall({ state, approval, input }: ChatPart, questions: readonly string[]): SentCall {
  const { id, approved }: Record<string, unknown> = isObject(approval) ? approval : {};
  const shown = state === 'approval-responded' && approved === true ? 'approval-approved' : state;
  return {
    state: typeof shown === 'string' ? shown : 'input-available',
    approvalId: typeof id === 'string' ? id : undefined,
    inputLength: 0,
    input,
    cards: new Map(questions.map((key) => [key, undefined])),
  };
}
