// From the picture to the wire: the chunks that bring a browser from what it has to what is.
import { sameJson } from '../../core/json.ts';
import type { Picture } from './picture.ts';
import type { Piece, TextPiece, ToolPiece } from './piece.ts';
import { isEnded } from './piece.ts';
import { type ChatChunk, type ChatMessage, type ChatPart, isToolPart, questionsByCall } from './ui-message.ts';

/** The major version of `ai` in the browser: what a client does not know, breaks its stream. */
export type ClientVersion = 5 | 6 | 7;

export type WriterOptions = {
  readonly client: ClientVersion;
  /** `output`: approvals are shown as calls without a result, and decided with `addToolOutput`, as AI SDK 5 does it. */
  readonly approvals: 'native' | 'output';
};

/** What the browser has of a piece. */
type Sent = { length: number; begun: boolean; ended: boolean };
type SentTool = {
  state: string;
  approvalId: string | undefined;
  inputLength: number;
  input: unknown;
  readonly cards: Map<string, unknown>;
};

export class ChatWriter {
  readonly #picture: Picture;
  readonly #options: WriterOptions;
  readonly #sent = new Map<TextPiece, Sent>();
  readonly #sentTools = new Map<string, SentTool>();
  readonly #sentFiles = new Set<Piece>();
  /** What the browser has of the text of each step, until it is seen to be the same. */
  readonly #known: readonly KnownStep[];
  #steps: number;
  #stepIsOpen = false;

  /** `known` is the message as the browser has it. It is believed for what need not be sent again, and for nothing else. */
  constructor(picture: Picture, options: WriterOptions, known?: ChatMessage) {
    this.#picture = picture;
    this.#options = options;
    this.#known = known ? stepsOf(known) : [];
    this.#steps = this.#known.length;
    const parts = known?.parts ?? [];
    const questions = questionsByCall(parts);
    for (const part of parts) {
      const { toolCallId: id } = part;
      if (isToolPart(part) && typeof id === 'string') this.#sentTools.set(id, sentTool(part, questions.get(id) ?? []));
    }
  }

  begin(): ChatChunk {
    return { type: 'start', messageId: this.#picture.messageId };
  }

  /** Everything that changed since the last time. */
  *news(): Generator<ChatChunk> {
    const { changed, current } = this.#picture;
    const pieces = [...changed];
    changed.clear();
    for (const [piece, step] of pieces) {
      if (step < 0) continue;
      yield* this.#stepTo(step);
      yield* this.#piece(piece, step);
    }
    yield* this.#stepTo((current?.steps.length ?? 0) - 1);
  }

  /**
   * The end of the stream; a client that posts by itself must not find every call of the last step answered. A step in which
   * nothing comes is not noticed by any client.
   */
  *end(finishReason: string): Generator<ChatChunk> {
    const last = this.#picture.current?.steps.at(-1);
    const tools = last?.filter((piece) => piece.type === 'tool') ?? [];
    if (tools.length > 0 && tools.every(({ at }) => isEnded(at))) {
      if (this.#stepIsOpen) yield { type: 'finish-step' };
      yield { type: 'start-step' };
      this.#stepIsOpen = true;
      yield endOf(finishReason);
    } else if (last?.every(isSilent)) yield endOf(finishReason);
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

  *#piece(piece: Piece, step: number): Generator<ChatChunk> {
    switch (piece.type) {
      case 'text':
      case 'reasoning':
        yield* this.#text(piece, step);
        return;
      case 'file':
        if (this.#sentFiles.has(piece) || step < this.#known.length - 1) return;
        this.#sentFiles.add(piece);
        if (!this.#known[step]?.files.delete(piece.url))
          yield { type: 'file', url: piece.url, mediaType: piece.mediaType };
        return;
      case 'tool':
        yield* this.#tool(piece);
    }
  }

  *#text(piece: TextPiece, step: number): Generator<ChatChunk> {
    const sent = this.#sent.get(piece) ?? { length: this.#had(piece, step), begun: false, ended: false };
    this.#sent.set(piece, sent);
    const { type, id } = piece;
    if (sent.length < piece.text.length) {
      if (!sent.begun) yield { type: `${type}-start`, id };
      yield { type: `${type}-delta`, id, delta: piece.text.slice(sent.length) };
      sent.begun = true;
      sent.length = piece.text.length;
    }
    if (piece.done && sent.begun && !sent.ended) {
      yield { type: `${type}-end`, id };
      sent.ended = true;
    }
  }

  /** How much of the text the browser has, where it lost its connection in the middle. */
  #had(piece: TextPiece, step: number): number {
    const known = this.#known[step];
    if (!known) return 0;
    const had = known[piece.type];
    const length = had.startsWith(piece.text) ? piece.text.length : piece.text.startsWith(had) ? had.length : 0;
    known[piece.type] = had.slice(length);
    return length;
  }

  *#tool(piece: ToolPiece): Generator<ChatChunk> {
    const { id: toolCallId, name: toolName, at, cards } = piece;
    const native = this.#options.approvals === 'native';
    const known = this.#sentTools.get(toolCallId);
    const sent = known ?? { state: '', approvalId: undefined, inputLength: 0, input: undefined, cards: new Map() };
    this.#sentTools.set(toolCallId, sent);
    if (at.state === 'input-streaming') return yield* this.#streamInput(piece, sent);
    const available = { type: 'tool-input-available', toolCallId, toolName, input: piece.input };
    const isNew = sent.state === '' || sent.state === 'input-streaming';
    const isEdited = !isNew && !sameJson(sent.input, piece.input);
    // The browser takes its answer for given, and the server did not take it, or it was to the question before this one.
    const asksAgain = cards.size > 1 && [...cards.keys()].some((key) => !sent.cards.has(key));
    const isRefused = waitsForAnswer(piece, native) && (isAnswered(sent.state) || asksAgain);
    if (isNew || isEdited || isRefused) {
      yield available;
      sent.state = 'input-available';
      sent.approvalId = undefined;
    }
    sent.input = piece.input;
    for (const [key, card] of cards)
      if (sent.cards.get(key) !== card) {
        sent.cards.set(key, card);
        yield { type: 'data-interrupt', id: key, data: card };
      }
    yield* this.#state(piece, sent, native);
  }

  *#streamInput({ id: toolCallId, name: toolName, inputText }: ToolPiece, sent: SentTool): Generator<ChatChunk> {
    if (sent.state === '') yield { type: 'tool-input-start', toolCallId, toolName };
    sent.state = 'input-streaming';
    if (inputText.length === sent.inputLength) return;
    yield { type: 'tool-input-delta', toolCallId, inputTextDelta: inputText.slice(sent.inputLength) };
    sent.inputLength = inputText.length;
  }

  *#state(piece: ToolPiece, sent: SentTool, native: boolean): Generator<ChatChunk> {
    const { id: toolCallId, at, approvalId } = piece;
    switch (at.state) {
      case 'asked':
        if (native && !(sent.state === 'approval-requested' && sent.approvalId === approvalId))
          yield this.#request(piece, sent);
        return;
      case 'decided':
        if (native && this.#options.client >= 7 && sent.state === 'approval-requested')
          yield { type: 'tool-approval-response', approvalId: sent.approvalId, approved: true };
        return;
      case 'output':
        // Whatever the browser believes the output to be, this is it.
        if (sent.state !== 'sent-output') yield { type: 'tool-output-available', toolCallId, output: at.output };
        sent.state = 'sent-output';
        return;
      case 'error':
        if (sent.state !== 'sent-error') yield { type: 'tool-output-error', toolCallId, errorText: at.text };
        sent.state = 'sent-error';
        return;
      case 'denied': {
        if (sent.state === 'sent-denied') return;
        if (!native) yield { type: 'tool-output-error', toolCallId, errorText: deniedText(piece) };
        else {
          // A browser that believes it was approved is told anew what it was asked.
          if (sent.approvalId !== approvalId || sent.state === 'approval-approved') yield this.#request(piece, sent);
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

  #request({ id: toolCallId, approvalId }: ToolPiece, sent: SentTool): ChatChunk {
    sent.state = 'approval-requested';
    sent.approvalId = approvalId;
    return { type: 'tool-approval-request', approvalId, toolCallId };
  }
}

const endOf = (finishReason: string): ChatChunk => ({ type: 'data-end', id: 'end', data: { finishReason } });

/** Nothing of it is sent. */
const isSilent = (piece: Piece): boolean => 'text' in piece && piece.text === '';

/** For clients that know no denial. */
function deniedText({ name, cards }: ToolPiece): string {
  const reason = [...cards.values()].at(-1)?.decision?.reason;
  return `The call of ${name} was rejected and did not run.${reason === undefined ? '' : ` Reason: ${reason}`}`;
}

function waitsForAnswer({ at }: ToolPiece, native: boolean): boolean {
  return at.state === 'question' || (at.state === 'asked' && !native);
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

function sentTool({ state, approval, input }: ChatPart, questions: readonly string[]): SentTool {
  const { id, approved } = (typeof approval === 'object' && approval !== null ? approval : {}) as Record<
    string,
    unknown
  >;
  const said = state === 'approval-responded' && approved === true ? 'approval-approved' : state;
  return {
    state: typeof said === 'string' ? said : 'input-available',
    approvalId: typeof id === 'string' ? id : undefined,
    inputLength: 0,
    input,
    cards: new Map(questions.map((key) => [key, undefined])),
  };
}
