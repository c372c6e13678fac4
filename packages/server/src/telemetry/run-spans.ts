// A view of the timeline for traces: spans of replies, calls, waits for people, and the run itself.
import type { Attributes } from '@opentelemetry/api';
import type { RunStatus, StoredEvent } from 'countersign/store';
import { createTimeline, type TimelineEntry } from 'countersign/timeline';

/** A span of time in a run. Waiting for a person is a separate span and not an error. */
export type RunSpan = {
  readonly kind: 'run' | 'model' | 'tool' | 'wait';
  /** The agent of a run or a reply, the tool of a call or a wait. */
  readonly name: string;
  readonly startAt: number;
  readonly endAt: number;
  /** The event that ended it, by its place in the run. */
  readonly endSeq: number;
  /** How it ended: a status of the run, a type of result or decision. */
  readonly outcome: string;
  /** What else a trace shows of it. */
  readonly attributes?: Attributes;
};

const ENDED: ReadonlySet<RunStatus> = new Set(['done', 'failed', 'cancelled']);

/** Turns the events of one run, read in order and each once, into spans. */
export class RunSpans {
  readonly #agent: string;
  readonly #entriesOf = createTimeline();
  #seq = 0;
  #lastAt = 0;
  #startedAt: number | undefined;

  constructor(agent: string) {
    this.#agent = agent;
  }

  /** The number of events read so far. */
  get seq(): number {
    return this.#seq;
  }

  /** The spans that these events end; `status` is that of the run after the last of them. */
  feed(events: readonly StoredEvent[], status: RunStatus): readonly RunSpan[] {
    const spans = events.flatMap((event) => {
      this.#seq += 1;
      this.#startedAt ??= event.at;
      this.#lastAt = event.at;
      return this.#entriesOf(event).flatMap((entry) => this.#spanOf(entry) ?? []);
    });
    return ENDED.has(status) && events.length > 0 ? [...spans, ...this.#ofRun(status)] : spans;
  }

  #spanOf(entry: TimelineEntry): RunSpan | undefined {
    const span = { endAt: entry.at, endSeq: entry.seq };
    switch (entry.type) {
      case 'model-replied': {
        const name = entry.path.at(-1)?.name ?? this.#agent;
        const { startedAt: startAt, finishReason: outcome, usage } = entry;
        const attributes = {
          'gen_ai.usage.input_tokens': usage?.inputTokens,
          'gen_ai.usage.output_tokens': usage?.outputTokens,
        };
        return { ...span, kind: 'model', name, startAt, outcome, attributes };
      }
      case 'call-ended': {
        const { call, startedAt, result } = entry;
        if (startedAt === null) return undefined;
        const outcome = result?.type ?? 'interrupted';
        const attributes = { 'gen_ai.tool.call.id': call.id };
        return { ...span, kind: 'tool', name: call.name, startAt: startedAt, outcome, attributes };
      }
      case 'wait-ended': {
        const { call, startedAt, interrupt, decision, path } = entry;
        // The call of a sub-agent waits as long as the call inside it, and has this span.
        if (startedAt === null || path.length > 0) return undefined;
        const outcome = decision?.type ?? 'withdrawn';
        const attributes = {
          'gen_ai.tool.call.id': call.id,
          'countersign.interrupt.kind': interrupt?.kind,
          'countersign.decision.by': decision?.by,
          'countersign.decision.channel': decision?.channel,
        };
        return { ...span, kind: 'wait', name: call.name, startAt: startedAt, outcome, attributes };
      }
      default:
        return undefined;
    }
  }

  /** A run that continues after its end, as a conversation does, has another span. */
  #ofRun(status: RunStatus): readonly RunSpan[] {
    const startAt = this.#startedAt;
    this.#startedAt = undefined;
    if (startAt === undefined) return [];
    return [{ kind: 'run', name: this.#agent, startAt, endAt: this.#lastAt, endSeq: this.#seq, outcome: status }];
  }
}
