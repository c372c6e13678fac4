// Exports runs to OpenTelemetry from their records, so that a run that waited for days or moved between processes is one
// trace with the right times.
import { createHash } from 'node:crypto';
import {
  type Attributes,
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
    const loaded = await ai.runs.find(runId, { after: spans?.seq ?? 0 });
    // Spans are exported when a run pauses or ends.
    if (!loaded || loaded.run.status === 'running') return;
    const made = spans ?? new RunSpans(loaded.run.agent);
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

function spanExporter({ tracer = trace.getTracer(NAME), meter = metrics.getMeter(NAME) }: TraceOptions) {
  const histogram = (kind: RunSpan['kind'], description: string) =>
    meter.createHistogram(`countersign.${kind}.duration`, { unit: 's', description });
  const durations = {
    run: histogram('run', 'From start to end.'),
    model: histogram('model', 'Replies of models.'),
    tool: histogram('tool', 'Calls of tools.'),
    wait: histogram('wait', 'Waits for a person.'),
  };
  const decisions = meter.createCounter('countersign.decisions', { description: 'Decisions, by outcome.' });
  return (runId: string, span: RunSpan): void => {
    const { kind, name, startAt, endAt, outcome } = span;
    const labels = { [kind === 'run' || kind === 'model' ? 'agent' : 'tool']: name, outcome };
    durations[kind].record((endAt - startAt) / 1000, labels);
    if (kind === 'wait' && outcome !== 'withdrawn') decisions.add(1, labels);
    const made = tracer.startSpan(
      `${TITLES[kind]} ${name}`,
      {
        startTime: startAt,
        kind: kind === 'model' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: attributesOf(runId, span),
      },
      contextOf(runId),
    );
    // A rejection or a long wait is not an error.
    if ((kind === 'tool' && outcome === 'error') || (kind === 'run' && outcome === 'failed'))
      made.setStatus({ code: SpanStatusCode.ERROR });
    made.end(endAt);
  };
}

const OPERATIONS = { run: 'invoke_agent', model: 'chat', tool: 'execute_tool', wait: undefined } as const;

const TITLES = { run: 'run', model: 'chat', tool: 'execute_tool', wait: 'wait for a person' } as const;

function attributesOf(runId: string, { kind, name, outcome, attributes }: RunSpan): Attributes {
  return {
    'countersign.run.id': runId,
    'countersign.outcome': outcome,
    'gen_ai.operation.name': OPERATIONS[kind],
    [kind === 'run' || kind === 'model' ? 'gen_ai.agent.name' : 'gen_ai.tool.name']: name,
    ...attributes,
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
