// A model that follows a script: turns as data or functions, and the failures of real models.
import { ProviderError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { Message, Part } from '../core/messages/message.ts';
import { anything, checkOptions, type OptionTable } from '../core/options.ts';
import type { Usage } from '../core/run/usage.ts';
import type { Model, ModelChunk, ModelReply, ModelRequest, ReplyFinish, RequestedCall } from '../models/model.ts';

/** A reply as data. Text is streamed word by word, inputs in chunks. */
export type ScriptedTurn = {
  readonly text?: string;
  readonly reasoning?: string;
  /** Calls in order. A call without `ref` gets an id. */
  readonly calls?: readonly {
    readonly name: string;
    readonly input?: unknown;
    readonly ref?: string;
    readonly metadata?: { readonly [key: string]: unknown };
  }[];
  /** Other parts, appended after the above. */
  readonly content?: readonly (Part | RequestedCall)[];
  readonly finishReason?: ReplyFinish;
  readonly finishMessage?: string;
  /** The tokens that the reply reports; 1 for input and 1 for output by default. */
  readonly usage?: Partial<Usage>;
  /** Makes the model fail instead of replying; when streaming, after `text`. */
  readonly fail?: { readonly message?: string; readonly retryable?: boolean } | Error;
  /** Breaks off the stream after this turn's content. */
  readonly cutOff?: boolean;
  /** Makes the model hang until the call is aborted. */
  readonly stall?: boolean;
};

/** A turn: a text, a reply as data, parts, or a function of the request that returns one of them. */
export type ScriptStep =
  | string
  | ScriptedTurn
  | readonly (Part | RequestedCall)[]
  | ((request: RecordedRequest, index: number) => ScriptStep | Promise<ScriptStep>);

/** A request to the model, copied when it was made. */
export type RecordedRequest = Omit<ModelRequest, 'messages' | 'signal'> & {
  readonly messages: readonly Message[];
  /** Whether the caller asked for a stream. */
  readonly streaming: boolean;
};

/** A model that follows a script and records its requests. */
export interface ScriptedModel extends Model {
  /** Every request, in order. */
  readonly requests: readonly RecordedRequest[];
  /** How many turns of the script are left. */
  readonly remaining: number;
}

/**
 * Creates a model that follows a script, one step per turn. It fails after the last step, unless the script is a function.
 * @example
 * const model = scriptedModel([{ calls: [{ name: 'pay', input: { amount: 5 } }] }, 'Paid.']);
 */
export function scriptedModel(
  script: readonly ScriptStep[] | Extract<ScriptStep, (...given: never) => unknown>,
): ScriptedModel {
  if (typeof script !== 'function') for (const step of script) checkTurn(step);
  const requests: RecordedRequest[] = [];
  let asked = 0;
  return {
    name: 'scripted',
    requests,
    get remaining() {
      return typeof script === 'function' ? Number.POSITIVE_INFINITY : Math.max(0, script.length - asked);
    },
    async reply(request, emit) {
      const index = asked++;
      const { signal, messages, ...rest } = request;
      const copied = structuredClone(messages) as readonly Message[];
      const recorded = { ...rest, messages: copied, streaming: emit !== undefined };
      requests.push(recorded);
      signal?.throwIfAborted();
      const step = typeof script === 'function' ? script : script[index];
      if (step === undefined) {
        const message = `The script has only ${index} turns, but the model was called again. Add a turn.`;
        throw new ProviderError('provider-failed', { index }, message, { retryable: false });
      }
      return say(await turnOf(step, recorded, index), emit, signal);
    },
  };
}

async function turnOf(step: ScriptStep, request: RecordedRequest, index: number): Promise<ScriptedTurn> {
  if (typeof step === 'function') return turnOf(await step(request, index), request, index);
  if (typeof step === 'string') return { text: step };
  checkTurn(step);
  return Array.isArray(step) ? { content: step as readonly (Part | RequestedCall)[] } : (step as ScriptedTurn);
}

/** Rejects misspelled fields: a misspelled call would never happen, and the test of its gate would prove nothing. */
function checkTurn(step: ScriptStep): void {
  if (!isObject(step)) return;
  checkOptions('a turn of scriptedModel', step, TURN_OPTIONS);
  for (const call of (step as ScriptedTurn).calls ?? []) checkOptions('a call of scriptedModel', call, CALL_OPTIONS);
}

const TURN_OPTIONS: OptionTable<ScriptedTurn> = {
  text: anything,
  reasoning: anything,
  calls: anything,
  content: anything,
  finishReason: anything,
  finishMessage: anything,
  usage: anything,
  fail: anything,
  cutOff: anything,
  stall: anything,
};

const CALL_OPTIONS: OptionTable<NonNullable<ScriptedTurn['calls']>[number]> = {
  name: anything,
  input: anything,
  ref: anything,
  metadata: anything,
};

async function say(
  turn: ScriptedTurn,
  emit: ((chunk: ModelChunk) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<ModelReply> {
  const calls = (turn.calls ?? []).map(
    ({ name, input, ref, metadata }): RequestedCall => ({
      toolRequest: { name, input: input === undefined ? {} : input, ...(ref !== undefined && { ref }) },
      ...(metadata && { metadata }),
    }),
  );
  const content = [
    ...(turn.reasoning === undefined ? [] : [{ reasoning: turn.reasoning }]),
    ...(turn.text === undefined ? [] : [{ text: turn.text }]),
    ...calls,
    ...(turn.content ?? []),
  ];
  if (emit) await stream(content, emit, signal);
  if (turn.stall) await stalled(signal);
  if (turn.fail) throw failure(turn.fail);
  if (turn.cutOff) {
    const details = { partial: content, emitted: emit !== undefined };
    throw new ProviderError('stream-cut-off', details, 'The model stream broke off.', { retryable: true });
  }
  const { inputTokens = 1, outputTokens = 1, ...more } = turn.usage ?? {};
  return {
    content,
    finishReason: turn.finishReason ?? (content.some((part) => 'toolRequest' in part) ? 'tool-calls' : 'stop'),
    ...(turn.finishMessage !== undefined && { finishMessage: turn.finishMessage }),
    usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...more },
  };
}

async function stream(
  content: readonly (Part | RequestedCall)[],
  emit: (chunk: ModelChunk) => void,
  signal: AbortSignal | undefined,
) {
  for (const chunk of content.flatMap(chunksOf)) {
    // Gives the reader a turn after each chunk, as a network does.
    await null;
    signal?.throwIfAborted();
    emit(chunk);
  }
}

function chunksOf(part: Part | RequestedCall): readonly ModelChunk[] {
  if ('text' in part) return pieces(part.text).map((text) => ({ type: 'text', text }));
  if ('reasoning' in part) return pieces(part.reasoning).map((text) => ({ type: 'reasoning', text }));
  if (!('toolRequest' in part)) return [];
  const { name, ref = '', input } = part.toolRequest;
  const deltas = JSON.stringify(input ?? {}).match(/.{1,16}/gs) ?? [];
  return deltas.map((delta) => ({ type: 'tool-input', ref, name, delta }));
}

const pieces = (text: string): readonly string[] => text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];

function stalled(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    // Keeps the process alive, as an open connection would.
    const open = signal && setInterval(() => undefined, 60_000);
    const abort = (): void => {
      clearInterval(open);
      reject(signal?.reason);
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function failure(given: NonNullable<ScriptedTurn['fail']>): Error {
  if (given instanceof Error) return given;
  return new ProviderError('provider-failed', {}, given.message ?? 'The scripted model failed.', {
    retryable: given.retryable ?? false,
  });
}
