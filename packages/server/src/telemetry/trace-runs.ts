// Exports runs to OpenTelemetry from their records, so that a run that waited for days or moved between processes is one
// trace with the right times.

import { createHash } from 'node:crypto';
import {
  type Context,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Countersign } from 'countersign';
import { internalsOf } from 'countersign/store';
import { Hub } from '../live/hub.ts';
import { type RunSpan, RunSpans } from './run-spans.ts';

export type TraceOptions = {
  /** The tracer of the global provider by default. */
  readonly tracer?: Tracer;
  readonly meter?: Meter;
  /** Receives errors of the export, which do not affect the runs. */
  readonly onError?: (error: unknown) => void;
};

export type Tracing = {
  /** Resolves once everything so far is exported. */
  settled(): Promise<void>;
  stop(): Promise<void>;
};

const NAME = '@countersign/server';
const COLLECTION = 'traces';
const KEPT_MS = 30 * 24 * 3_600_000;
/** How many runs are remembered; others are read again from their beginning. */
const REMEMBERED = 1_000;

/**
 * Exports every run that pauses or ends, in any process; each span is exported once, by one of the processes that trace.
 * The trace id of a run is the first 32 hex digits of the SHA-256 of its id. Inputs and outputs are not exported.
 * @example
 * const tracing = traceRuns(ai);
 */
export function traceRuns(ai: Countersign, options: TraceOptions = {}): Tracing {
  const { onError = () => undefined } = options;
  const exportSpan = spanExporter(options);
  const hub = new Hub(ai.runs);
  const known = new Map<string, RunSpans>();
  const working = new Map<string, Promise<void>>();

  async function exportRun(runId: string): Promise<void> {
    const spans = known.get(runId);
    const loaded = await internalsOf(ai.runs).find(runId, { after: spans?.seq ?? 0 });
    // Spans are exported when a run pauses or ends.
    if (!loaded || loaded.run.status === 'running') return;
    const made = spans ?? new RunSpans(runId, loaded.run.agent);
    if (known.size >= REMEMBERED) known.clear();
    known.set(runId, made);
    const ended = made.feed(loaded.events, loaded.run.status);
    const exported = await advance(ai, runId, made.seq);
    if (exported === undefined) return;
    for (const span of ended) if (span.endSeq > exported) exportSpan(runId, span);
  }

  /** Exports one run once at a time. */
  function follow(runId: string): void {
    const before = working.get(runId) ?? Promise.resolve();
    const work = before.then(() => exportRun(runId)).catch(onError);
    working.set(runId, work);
    void work.then(() => {
      if (working.get(runId) === work) working.delete(runId);
    });
  }

  const stopListening = hub.listen((changed) => {
    if (changed !== 'all') for (const runId of changed) follow(runId);
  });
  const settled = async () => {
    await hub.flushed();
    while (working.size > 0) await Promise.all(working.values());
  };
  return {
    settled,
    async stop() {
      await settled();
      stopListening();
      hub.close();
    },
  };
}

/** Returns the last event exported before; undefined if another process exports these. */
async function advance(ai: Countersign, runId: string, seq: number): Promise<number | undefined> {
  const { notes } = ai.runs;
  const note = await notes.get(COLLECTION, runId);
  const exported = typeof note?.value === 'number' ? note.value : 0;
  if (exported >= seq) return undefined;
  const options = { version: note?.version ?? 0, expiresAt: Date.now() + KEPT_MS };
  return (await notes.put(COLLECTION, runId, seq, options)) ? exported : undefined;
}

/** The bounds that the conventions name, for the durations of one operation and for tokens. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

function spanExporter({ tracer = trace.getTracer(NAME), meter = metrics.getMeter(NAME) }: TraceOptions) {
  const seconds = (name: string, description: string, bounds?: number[]) => {
    const advice = bounds && { advice: { explicitBucketBoundaries: bounds } };
    return meter.createHistogram(name, { unit: 's', description, ...advice });
  };
  const durations = {
    agent: seconds('gen_ai.invoke_agent.duration', 'Runs of agents, from start to end.'),
    model: seconds('gen_ai.client.operation.duration', 'Replies of models.', SECONDS),
    tool: seconds('gen_ai.execute_tool.duration', 'Bodies of tools.', SECONDS),
    gate: seconds('countersign.gate.duration', 'Calls of programs outside, from the question to the result.'),
    wait: seconds('countersign.wait.duration', 'Waits for a person.'),
  };
  const usage = meter.createHistogram('gen_ai.client.token.usage', {
    unit: '{token}',
    description: 'Tokens of replies, by type.',
    advice: { explicitBucketBoundaries: TOKENS },
  });
  const decisions = meter.createCounter('countersign.decisions', { description: 'Decisions, by outcome.' });
  return (
    runId: string,
    { kind, name, startAt, endAt, outcome, isError, labels, attributes, tokens }: RunSpan,
  ): void => {
    durations[kind].record((endAt - startAt) / 1000, labels);
    for (const [type, count] of Object.entries(tokens ?? {}))
      usage.record(count, { ...labels, 'gen_ai.token.type': type });
    if (kind === 'wait' && outcome !== 'withdrawn') decisions.add(1, labels);
    const made = tracer.startSpan(
      name,
      {
        startTime: startAt,
        kind: kind === 'model' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: { ...labels, ...attributes },
      },
      contextOf(runId),
    );
    // A rejection or a long wait is not an error.
    if (isError) made.setStatus({ code: SpanStatusCode.ERROR });
    made.end(endAt);
  };
}

/** Every process derives the same trace id from the run id. */
function contextOf(runId: string): Context {
  const digest = createHash('sha256').update(runId).digest('hex');
  const spanContext = {
    traceId: digest.slice(0, 32),
    spanId: digest.slice(32, 48),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  };
  return trace.setSpanContext(ROOT_CONTEXT, spanContext);
}
