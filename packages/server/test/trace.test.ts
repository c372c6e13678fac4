import { createHash } from 'node:crypto';
import { traceRuns } from '@countersign/server';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test } from 'vitest';
import { defineTeller, obedientModel } from './server.ts';

function listening() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const numbers = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 3_600_000 });
  const meters = new MeterProvider({ readers: [reader] });
  return { exporter, provider, tracer: provider.getTracer('test'), numbers, meters, meter: meters.getMeter('test') };
}

/** A clock that the test moves. */
function handClock() {
  let now = 1_700_000_000_000;
  return {
    now: () => now,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const times = ({ startTime, endTime }: ReadableSpan) =>
  endTime[0] * 1e3 + endTime[1] / 1e6 - (startTime[0] * 1e3 + startTime[1] / 1e6);
const named = (spans: readonly ReadableSpan[]) => spans.map(({ name }) => name);

test('a run is one trace: the model, the wait for a person, the tool; a wait is not an error', async () => {
  const clock = handClock();
  const store = memoryStore({ now: clock.now });
  const ai = countersign({ model: obedientModel(), store, clock: clock.now });
  defineTeller(ai);
  const { exporter, tracer, meter, numbers, meters } = listening();
  const tracing = traceRuns(ai, { tracer, meter });
  const { id } = (await ai.agents.get('teller')?.start('pay bob 500', { by: 'ann' })) ?? { id: '' };
  const { pending } = await ai.runs.wait(id);
  await tracing.settled();
  expect(named(exporter.getFinishedSpans())).toEqual(['chat teller']);
  clock.pass(3 * 3_600_000);
  await ai.runs.decide(pending[0] ?? '', 'approve', { by: 'boss', channel: 'inbox' });
  await ai.runs.wait(id, { until: 'end' });
  await ai.runs.settled();
  await tracing.settled();
  const spans = exporter.getFinishedSpans();
  expect(named(spans)).toEqual([
    'chat teller',
    'wait for a person pay',
    'execute_tool pay',
    'chat teller',
    'run teller',
  ]);
  const traceId = createHash('sha256').update(id).digest('hex').slice(0, 32);
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
  const wait = spans[1];
  expect(wait && times(wait)).toBeGreaterThanOrEqual(3 * 3_600_000);
  expect(wait?.status.code).toBe(SpanStatusCode.UNSET);
  expect(wait?.attributes).toMatchObject({
    'countersign.decision.by': 'boss',
    'countersign.decision.channel': 'inbox',
    'countersign.outcome': 'approve',
  });
  expect(spans[0]?.attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 1, 'gen_ai.usage.output_tokens': 1 });
  expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('500');
  await meters.forceFlush();
  const metric = numbers.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  const waited = metric.find(({ descriptor }) => descriptor.name === 'countersign.wait.duration');
  expect(waited?.dataPoints[0]?.value).toMatchObject({ count: 1 });
  await tracing.stop();
  await meters.shutdown();
});

test('a tool and a run that fail are errors; a rejection and a withdrawal are not', async () => {
  const ai = countersign({ model: obedientModel(), store: memoryStore(), retry: false });
  defineTeller(ai);
  const { exporter, tracer } = listening();
  const tracing = traceRuns(ai, { tracer });
  const teller = ai.agents.get('teller');
  const rejected = await teller?.start('pay bob 500');
  await ai.runs.decide((await ai.runs.wait(rejected?.id ?? '')).pending[0] ?? '', 'reject');
  await ai.runs.wait(rejected?.id ?? '', { until: 'end' });
  const cancelled = await teller?.start('pay bob 500');
  await ai.runs.wait(cancelled?.id ?? '');
  await ai.runs.cancel(cancelled?.id ?? '');
  const failed = await teller?.start('fail');
  await ai.runs.wait(failed?.id ?? '', { until: 'end' });
  await ai.runs.settled();
  await tracing.stop();
  const spans = exporter.getFinishedSpans();
  const errors = spans.filter(({ status }) => status.code === SpanStatusCode.ERROR);
  expect(errors.map(({ name, attributes }) => [name, attributes['countersign.run.id']])).toEqual([
    ['run teller', failed?.id],
  ]);
  const waits = spans
    .filter(({ name }) => name.startsWith('wait'))
    .map(({ attributes }) => attributes['countersign.outcome']);
  expect(waits.toSorted()).toEqual(['reject', 'withdrawn']);
});

test('a sub-agent is part of the trace of its run; its waits are those of the call', async () => {
  const ai = countersign({ model: obedientModel(), store: memoryStore() });
  defineTeller(ai);
  const asks = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'Done.'
      : { calls: [{ name: 'teller', ref: 't', input: { prompt: 'pay bob 500' } }] },
  );
  const desk = ai.defineAgent({ name: 'desk', model: asks, tools: ['teller'] });
  const { exporter, tracer } = listening();
  const tracing = traceRuns(ai, { tracer });
  const { id } = await desk.start('Pay.');
  await ai.runs.decide((await ai.runs.wait(id)).pending[0] ?? '', 'approve');
  await ai.runs.wait(id, { until: 'end' });
  await ai.runs.settled();
  await tracing.stop();
  expect(named(exporter.getFinishedSpans())).toEqual([
    'chat desk',
    'chat teller',
    'execute_tool teller',
    'wait for a person teller',
    'execute_tool pay',
    'chat teller',
    'execute_tool teller',
    'chat desk',
    'run desk',
  ]);
});

test('of several processes that trace, one exports each span; after a restart none is exported twice or lost', async () => {
  const store = memoryStore();
  const open = () => {
    const ai = countersign({ model: obedientModel(), store });
    defineTeller(ai);
    return ai;
  };
  const { exporter, tracer } = listening();
  const [first, second] = [open(), open()];
  const tracings = [traceRuns(first, { tracer }), traceRuns(second, { tracer })];
  const { id } = (await first.agents.get('teller')?.start('pay bob 500')) ?? { id: '' };
  const { pending } = await first.runs.wait(id);
  for (const tracing of tracings) await tracing.stop();
  // A new process, which has never seen the run.
  const third = open();
  const again = traceRuns(third, { tracer });
  await third.runs.decide(pending[0] ?? '', 'approve');
  await third.runs.wait(id, { until: 'end' });
  await third.runs.settled();
  await again.stop();
  expect(named(exporter.getFinishedSpans())).toEqual([
    'chat teller',
    'wait for a person pay',
    'execute_tool pay',
    'chat teller',
    'run teller',
  ]);
});

test('with the global provider, a run is a separate trace, whatever span is active', async () => {
  const { exporter, provider } = listening();
  const manager = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(manager);
  trace.setGlobalTracerProvider(provider);
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  const ai = countersign({ model: obedientModel(), store: memoryStore() });
  defineTeller(ai);
  const tracing = traceRuns(ai);
  const around = trace.getTracer('app').startSpan('POST /somewhere');
  await context.with(trace.setSpan(context.active(), around), async () => {
    const { id } = (await ai.agents.get('teller')?.start('look')) ?? { id: '' };
    await ai.runs.wait(id, { until: 'end' });
    await ai.runs.settled();
    await tracing.settled();
    const spans = exporter.getFinishedSpans();
    expect(named(spans)).toEqual(['chat teller', 'execute_tool look', 'chat teller', 'run teller']);
    const traceId = createHash('sha256').update(id).digest('hex').slice(0, 32);
    for (const span of spans) expect(span.spanContext().traceId).toBe(traceId);
    expect(around.spanContext().traceId).not.toBe(traceId);
  });
  around.end();
  await tracing.stop();
});
