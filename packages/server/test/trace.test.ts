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

/** How often each instrument was used. */
async function measured(meters: MeterProvider, numbers: InMemoryMetricExporter) {
  await meters.forceFlush();
  const found = numbers.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  const countOf = (value: unknown) => (typeof value === 'number' ? value : (value as { count: number }).count);
  return Object.fromEntries(
    found.map(({ descriptor, dataPoints }) => [
      descriptor.name,
      dataPoints.reduce((sum, { value }) => sum + countOf(value), 0),
    ]),
  );
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
  expect(named(exporter.getFinishedSpans())).toEqual(['chat scripted']);
  clock.pass(3 * 3_600_000);
  await ai.runs.decide(pending[0] ?? '', 'approve', { by: 'boss', channel: 'inbox' });
  await ai.runs.wait(id, { until: 'end' });
  await ai.runs.settled();
  await tracing.settled();
  const spans = exporter.getFinishedSpans();
  expect(named(spans)).toEqual([
    'chat scripted',
    'countersign.wait pay',
    'execute_tool pay',
    'chat scripted',
    'invoke_agent teller',
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
  const inRun = { 'gen_ai.agent.name': 'teller', 'gen_ai.conversation.id': id, 'countersign.run.id': id };
  expect(spans[0]?.attributes).toEqual({
    ...inRun,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': '_OTHER',
    'gen_ai.request.model': 'scripted',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 1,
    'gen_ai.usage.output_tokens': 1,
    'countersign.outcome': 'stop',
  });
  expect(spans[2]?.attributes).toEqual({
    ...inRun,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'pay',
    'gen_ai.tool.call.id': expect.any(String),
    'countersign.outcome': 'output',
  });
  expect(spans[4]?.attributes).toEqual({
    ...inRun,
    'gen_ai.operation.name': 'invoke_agent',
    'countersign.outcome': 'done',
  });
  expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('500');
  expect(await measured(meters, numbers)).toEqual({
    'gen_ai.client.operation.duration': 2,
    // Input and output of two replies.
    'gen_ai.client.token.usage': 4,
    'gen_ai.execute_tool.duration': 1,
    'gen_ai.invoke_agent.duration': 1,
    'countersign.wait.duration': 1,
    'countersign.decisions': 1,
  });
  await tracing.stop();
  await meters.shutdown();
});

test('a gate call is a span of its own kind, and no model is reported for it', async () => {
  const ai = countersign({ model: obedientModel(), store: memoryStore() });
  const pay = ai.defineTool({ name: 'pay', description: 'Pays.', needsApproval: true }, () => 'paid');
  const { exporter, tracer, meter, numbers, meters } = listening();
  const tracing = traceRuns(ai, { tracer, meter });
  const call = ai.gate(pay);
  const { runId } = await call.request({}, { key: 'invoice-7' });
  await ai.runs.decide((await ai.runs.wait(runId)).pending[0] ?? '', 'approve');
  await call.run({}, { key: 'invoice-7' });
  await ai.runs.settled();
  await tracing.stop();
  const spans = exporter.getFinishedSpans();
  expect(named(spans)).toEqual(['countersign.wait pay', 'execute_tool pay', 'countersign.gate pay']);
  const callId = spans[1]?.attributes['gen_ai.tool.call.id'];
  expect(spans[2]?.attributes).toEqual({
    'gen_ai.tool.name': 'pay',
    'gen_ai.tool.call.id': callId,
    'countersign.run.id': runId,
    'countersign.outcome': 'done',
  });
  expect(await measured(meters, numbers)).toEqual({
    'gen_ai.execute_tool.duration': 1,
    'countersign.gate.duration': 1,
    'countersign.wait.duration': 1,
    'countersign.decisions': 1,
  });
  await meters.shutdown();
});

test('a reply has the name and the provider of the AI SDK model that gave it', async () => {
  const answer = {
    content: [{ type: 'text', text: 'Hello.' }],
    finishReason: { unified: 'stop' },
    usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } },
  };
  const { exporter, tracer } = listening();
  const ai = countersign({ store: memoryStore() });
  const tracing = traceRuns(ai, { tracer });
  for (const [index, provider] of ['openai.responses', 'google.vertex.chat', 'acme'].entries()) {
    const model = {
      specificationVersion: 'v3' as const,
      provider,
      modelId: 'large/2',
      doGenerate: async () => answer,
      doStream: async () => ({ stream: ReadableStream.from([{ type: 'finish', ...answer }]) }),
    };
    const { id } = await ai.defineAgent({ name: `greeter${index}`, model }).start('Hi.');
    await ai.runs.wait(id, { until: 'end' });
    await tracing.settled();
  }
  await tracing.stop();
  const chats = exporter.getFinishedSpans().filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'chat');
  expect(chats.map(({ name, attributes }) => [name, attributes['gen_ai.provider.name']])).toEqual([
    ['chat large/2', 'openai'],
    ['chat large/2', 'gcp.vertex_ai'],
    ['chat large/2', 'acme'],
  ]);
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
    ['invoke_agent teller', failed?.id],
  ]);
  const waits = spans
    .filter(({ name }) => name.startsWith('countersign.wait'))
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
    'chat scripted',
    'chat scripted',
    'execute_tool teller',
    'countersign.wait teller',
    'execute_tool pay',
    'chat scripted',
    'execute_tool teller',
    'chat scripted',
    'invoke_agent desk',
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
    'chat scripted',
    'countersign.wait pay',
    'execute_tool pay',
    'chat scripted',
    'invoke_agent teller',
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
    expect(named(spans)).toEqual(['chat scripted', 'execute_tool look', 'chat scripted', 'invoke_agent teller']);
    const traceId = createHash('sha256').update(id).digest('hex').slice(0, 32);
    for (const span of spans) expect(span.spanContext().traceId).toBe(traceId);
    expect(around.spanContext().traceId).not.toBe(traceId);
  });
  around.end();
  await tracing.stop();
});
