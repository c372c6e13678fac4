// A model that says what a script tells it to: turns as data or functions, and the ways in which models fail.
import { ProviderError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { Message, Part } from '../core/message.ts';
import { anything, checkOptions, type OptionTable } from '../core/options.ts';
import type {
  Model,
  ModelChunk,
  ModelReply,
  ModelRequest,
  ReplyFinish,
  RequestedCall,
  Usage,
} from '../models/model.ts';

/** A reply as data. Texts are streamed word by word, inputs in pieces. */
export type ScriptedTurn = {
  readonly text?: string;
  readonly reasoning?: string;
  /** Calls in order; an id is made where `ref` is missing. */
  readonly calls?: readonly {
    readonly name: string;
    readonly input?: unknown;
    readonly ref?: string;
    readonly metadata?: { readonly [key: string]: unknown };
  }[];
  /** Whole parts, after the above, for what has no word of its own here. */
  readonly content?: readonly (Part | RequestedCall)[];
  readonly finishReason?: ReplyFinish;
  readonly finishMessage?: string;
  readonly usage?: Partial<Usage>;
  /** The model fails instead of replying; after `text`, when it is being streamed. */
  readonly fail?: { readonly message?: string; readonly retryable?: boolean } | Error;
  /** The stream breaks off after what is said here. */
  readonly cutOff?: boolean;
  /** The model hangs until the call is aborted. */
  readonly stall?: boolean;
};

/** A turn: a text, a reply as data, parts, or a function of the request that gives one of them. */
export type ScriptStep =
  | string
  | ScriptedTurn
  | readonly (Part | RequestedCall)[]
  | ((request: RecordedRequest, index: number) => ScriptStep | Promise<ScriptStep>);

/** What the model was asked, copied when it was asked. */
export type RecordedRequest = Omit<ModelRequest, 'messages' | 'signal'> & {
  readonly messages: readonly Message[];
  /** The model was asked to stream. */
  readonly streaming: boolean;
};

/** A model that follows a script and records what it was asked. */
export interface ScriptedModel extends Model {
  /** Every request, in order. */
  readonly requests: readonly RecordedRequest[];
  /** Turns that were not asked for yet. */
  readonly remaining: number;
}

/**
 * A model that follows a script, one step per turn. Asked beyond its end it fails, unless the script is a function.
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
      const recorded = {
        ...rest,
        messages: structuredClone(messages) as readonly Message[],
        streaming: emit !== undefined,
      };
      requests.push(recorded);
      signal?.throwIfAborted();
      const step = typeof script === 'function' ? script : script[index];
      if (step === undefined)
        throw new ProviderError(
          'provider-failed',
          { index },
          `The script has ${index} turns, and the model was asked once more.`,
          {
            retryable: false,
          },
        );
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

/** What a misspelt turn was to ask for, nobody would ask for: a test of a gate would pass, and test nothing. */
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
  if (turn.cutOff)
    throw new ProviderError(
      'stream-cut-off',
      { partial: content, emitted: emit !== undefined },
      'The stream of the model broke off.',
      {
        retryable: true,
      },
    );
  return {
    content,
    finishReason: turn.finishReason ?? (content.some((part) => 'toolRequest' in part) ? 'tool-calls' : 'stop'),
    ...(turn.finishMessage !== undefined && { finishMessage: turn.finishMessage }),
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2, ...turn.usage },
  };
}

async function stream(
  content: readonly (Part | RequestedCall)[],
  emit: (chunk: ModelChunk) => void,
  signal: AbortSignal | undefined,
) {
  for (const part of content) {
    for (const chunk of chunksOf(part)) {
      // As from a network: whoever reads can keep up.
      await null;
      signal?.throwIfAborted();
      emit(chunk);
    }
  }
}

function chunksOf(part: Part | RequestedCall): readonly ModelChunk[] {
  if ('text' in part) return pieces(part.text).map((text) => ({ type: 'text', text }));
  if ('reasoning' in part) return pieces(part.reasoning).map((text) => ({ type: 'reasoning', text }));
  if (!('toolRequest' in part)) return [];
  const { name, ref = '', input } = part.toolRequest;
  return (JSON.stringify(input ?? {}).match(/.{1,16}/gs) ?? []).map((delta) => ({
    type: 'tool-input',
    ref,
    name,
    delta,
  }));
}

const pieces = (text: string): readonly string[] => text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];

function stalled(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    // As a connection that is open does: a process does not end while a model is about to speak.
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
