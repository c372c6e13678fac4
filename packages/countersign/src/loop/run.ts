// A run in progress, and what it is driven with.
import type { Call } from '../core/call.ts';
import type { RunEvent } from '../core/event.ts';
import { copyOf } from '../core/json.ts';
import type { Limits } from '../core/next.ts';
import { fold, type State } from '../core/state.ts';
import type { JsonSchema, Model, ModelConfig, ToolChoice, ToolSpec, Usage } from '../models/model.ts';
import type { Sink } from './sink.ts';
import { type Chunk, eventChunks } from './stream/chunk.ts';
import type { Context, ToolDefinition } from './tool/tool.ts';

/** What a run is driven with. Nothing of it is stored. */
export type Driver = {
  readonly model: Model;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  readonly specs: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  readonly config: ModelConfig;
  readonly outputSchema?: JsonSchema;
  readonly context: Context;
  readonly limits: Limits;
  readonly signal?: AbortSignal;
  readonly newId: () => string;
  readonly emit?: (chunk: Chunk) => void;
  readonly onEvent?: (event: RunEvent) => void;
  /** `tell`: a tool that throws is a result for the model. */
  readonly onToolError: 'tell' | 'throw';
  /** The time in milliseconds, where deadlines count. */
  readonly clock?: () => number;
  /** True when the run is to be left, as it is, to another worker. */
  readonly stopping?: () => boolean;
  /** Calls it once a process that is being stopped waits for no model any more. Returns how to take that back. */
  readonly onGivenUp?: (giveUp: () => void) => () => void;
  /** Hears of calls that an abort does not wait for, and that go on all the same. */
  readonly onLeft?: (work: Promise<void>) => void;
};

/** A failure that the caller is to hear of. */
export type CallFailure = { readonly call: Call; readonly error: unknown };

/** A run in progress: its state, changed by events only. */
export class Run {
  state: State;
  usage: Usage | undefined;
  /** They end the run for now; nothing is lost. */
  readonly failures: CallFailure[] = [];
  /** Replies of the model in this `generate`. */
  replies = 0;
  #closed = false;
  readonly #emit: ((chunk: Chunk) => void) | undefined;
  readonly #sink: Sink | undefined;
  readonly #onEvent: ((event: RunEvent) => void) | undefined;
  /** Hears of what happens after the run was closed here, such as a tool that finishes late. */
  onLate: ((events: readonly RunEvent[]) => void) | undefined;

  constructor(
    state: State,
    { emit, sink, onEvent }: Pick<Driver, 'emit' | 'onEvent'> & { readonly sink?: Sink | undefined } = {},
  ) {
    this.state = state;
    this.#emit = emit;
    this.#onEvent = onEvent;
    this.#sink = sink;
  }

  countReply(usage: Usage | undefined): void {
    this.replies += 1;
    this.usage = addUsage(this.usage, usage);
  }

  /** Once the run has stopped, a straggler's news is not recorded: the call stays as it was when the run stopped. */
  record(...events: readonly RunEvent[]): void {
    if (this.#closed) {
      this.onLate?.(events);
      return;
    }
    const folded = events.map((event) => {
      const before = this.state;
      this.state = fold(before, event);
      return { event, before, after: this.state };
    });
    // Before anybody hears of it: whatever they do, what happened is on its way into the record.
    this.#sink?.write(events);
    for (const { event, before, after } of folded) {
      // A copy: whoever hears of it cannot change what is on record.
      this.#onEvent?.(copyOf(event));
      if (this.#emit)
        for (const chunk of eventChunks(event, before, after, Math.max(0, this.replies - 1))) this.#emit(chunk);
    }
  }

  /** True once everything recorded is durable; false if it cannot become so, and nothing more may happen. */
  async isDurable(): Promise<boolean> {
    if (!this.#sink) return !this.#closed;
    try {
      await this.#sink.flushed();
      return !this.#closed;
    } catch {
      // Whoever drives the run hears of it from the sink itself.
      return false;
    }
  }

  /** Asked right before something is done: between what is awaited, others do their work, and it may take long. */
  mayAct(): boolean {
    return !this.#closed && (this.#sink?.isHeld() ?? true);
  }

  get isStored(): boolean {
    return this.#sink !== undefined;
  }

  close(): void {
    this.#closed = true;
  }
}

function addUsage(total: Usage | undefined, more: Usage | undefined): Usage | undefined {
  if (!total || !more) return total ?? more;
  const sum = (a: number | undefined, b: number | undefined) => (a === undefined ? b : a + (b ?? 0));
  const reasoningTokens = sum(total.reasoningTokens, more.reasoningTokens);
  const cachedInputTokens = sum(total.cachedInputTokens, more.cachedInputTokens);
  return {
    inputTokens: total.inputTokens + more.inputTokens,
    outputTokens: total.outputTokens + more.outputTokens,
    totalTokens: total.totalTokens + more.totalTokens,
    ...(reasoningTokens !== undefined && { reasoningTokens }),
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
  };
}
