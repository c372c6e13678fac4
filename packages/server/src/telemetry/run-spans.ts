// A view of the timeline for traces: spans of replies, calls, waits for people, and the run itself. Their names and attributes
// are those of OpenTelemetry's conventions for generative AI; `countersign.*` where these have none.
import type { Attributes } from '@opentelemetry/api';
import { createTimeline, type TimelineCall, type TimelineEntry } from 'countersign/request';
import type { RunStatus, StoredEvent } from 'countersign/store';
import { providerAndModel } from './provider-name.ts';

/** A span of time in a run. Waiting for a person is a separate span and not an error. */
export type RunSpan = {
  /** `gate`: the run of one call of a program outside, in place of the span of an agent. */
  readonly kind: 'agent' | 'gate' | 'model' | 'tool' | 'wait';
  readonly name: string;
  readonly startAt: number;
  readonly endAt: number;
  /** The event that ended it, by its place in the run. */
  readonly endSeq: number;
  /** How it ended: a status of the run, a type of result or decision. */
  readonly outcome: string;
  readonly isError: boolean;
  /** Few different values: metrics have them too. */
  readonly labels: Attributes;
  /** What else a trace shows of it. */
  readonly attributes: Attributes;
  readonly tokens?: { readonly input: number; readonly output: number };
};

type Timed = Pick<RunSpan, 'startAt' | 'endAt' | 'endSeq' | 'outcome'>;

const ENDED: ReadonlySet<RunStatus> = new Set(['done', 'failed', 'cancelled']);

/** Turns the events of one run, read in order and each once, into spans. */
export class RunSpans {
  readonly #runId: string;
  readonly #agent: string;
  readonly #entriesOf = createTimeline();
  #seq = 0;
  #lastAt = 0;
  #startedAt: number | undefined;
  #isGate = false;
  /** The call of a program outside. */
  #gated: TimelineCall | undefined;

  constructor(runId: string, agent: string) {
    this.#runId = runId;
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
    const ended = { endAt: entry.at, endSeq: entry.seq };
    const agent = entry.path.at(-1)?.name ?? this.#agent;
    switch (entry.type) {
      case 'user-spoke':
        this.#isGate ||= entry.outside === true;
        return undefined;
      case 'model-replied':
        if (this.#isGate) this.#gated ??= entry.calls[0];
        // A call of a program outside and a drill have replies without a model.
        if (entry.model === undefined) return undefined;
        return this.#ofModel(entry, entry.model, agent);
      case 'call-ended': {
        const { call, startedAt, result } = entry;
        if (startedAt === null) return undefined;
        const timed = { ...ended, startAt: startedAt, outcome: result?.type ?? 'interrupted' };
        return this.#ofTool(call, timed, agent);
      }
      case 'wait-ended': {
        const { call, startedAt, request, decision, path } = entry;
        // The call of a sub-agent waits as long as the call inside it, and has this span.
        if (startedAt === null || path.length > 0) return undefined;
        return this.#made({ ...ended, startAt: startedAt, outcome: decision?.type ?? 'withdrawn' }, agent, {
          kind: 'wait',
          name: `countersign.wait ${call.name}`,
          isError: false,
          labels: { 'gen_ai.tool.name': call.name },
          attributes: {
            'gen_ai.tool.call.id': call.id,
            'countersign.request.kind': request?.kind,
            'countersign.decision.by': decision?.by,
            'countersign.decision.channel': decision?.channel,
          },
        });
      }
      default:
        return undefined;
    }
  }

  #ofModel(entry: TimelineEntry & { type: 'model-replied' }, name: string, agent: string): RunSpan {
    const { at: endAt, seq: endSeq, startedAt: startAt, finishReason: outcome, usage } = entry;
    const { provider, model } = providerAndModel(name);
    return this.#made({ endAt, endSeq, startAt, outcome }, agent, {
      kind: 'model',
      name: `chat ${model}`,
      isError: false,
      labels: { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': provider, 'gen_ai.request.model': model },
      attributes: {
        'gen_ai.response.finish_reasons': [outcome],
        'gen_ai.usage.input_tokens': usage?.inputTokens,
        'gen_ai.usage.output_tokens': usage?.outputTokens,
      },
      ...(usage && { tokens: { input: usage.inputTokens, output: usage.outputTokens } }),
    });
  }

  #ofTool(call: TimelineCall, timed: Timed, agent: string): RunSpan {
    return this.#made(timed, agent, {
      kind: 'tool',
      name: `execute_tool ${call.name}`,
      isError: timed.outcome === 'error',
      labels: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': call.name },
      attributes: { 'gen_ai.tool.call.id': call.id },
    });
  }

  /** A run that continues after its end, as a conversation does, has another span. */
  #ofRun(outcome: RunStatus): readonly RunSpan[] {
    const startAt = this.#startedAt;
    this.#startedAt = undefined;
    if (startAt === undefined) return [];
    const timed = { startAt, endAt: this.#lastAt, endSeq: this.#seq, outcome };
    const isError = outcome === 'failed';
    if (!this.#isGate)
      return [
        this.#made(timed, this.#agent, {
          kind: 'agent',
          name: `invoke_agent ${this.#agent}`,
          isError,
          labels: { 'gen_ai.operation.name': 'invoke_agent' },
          attributes: {},
        }),
      ];
    const { id, name = 'unknown' } = this.#gated ?? {};
    return [
      this.#made(timed, this.#agent, {
        kind: 'gate',
        name: `countersign.gate ${name}`,
        isError,
        labels: { 'gen_ai.tool.name': name },
        attributes: { 'gen_ai.tool.call.id': id },
      }),
    ];
  }

  #made(timed: Timed, agent: string, { labels, attributes, ...span }: Omit<RunSpan, keyof Timed>): RunSpan {
    return {
      ...timed,
      ...span,
      labels: {
        ...labels,
        // A call of a program outside belongs to no agent and no conversation of ours.
        ...(!this.#isGate && { 'gen_ai.agent.name': agent }),
        'countersign.outcome': timed.outcome,
        ...(span.isError && { 'error.type': '_OTHER' }),
      },
      attributes: {
        'countersign.run.id': this.#runId,
        ...(!this.#isGate && { 'gen_ai.conversation.id': this.#runId }),
        ...attributes,
      },
    };
  }
}
