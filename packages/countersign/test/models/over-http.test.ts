// Every provider package, streamed and not, over real HTTP against a server that rejects what the real API would.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ProviderError } from '../../src/core/errors.ts';
import { aiSdkModel } from '../../src/models/ai-sdk.ts';
import type { Model } from '../../src/models/model.ts';
import { converse, joined, MODES, requestsOf } from './conversation.ts';
import { PROVIDERS } from './providers.ts';
import type { Dialect, Said } from './wire/script.ts';
import { startWire, type Wire } from './wire/server.ts';

const TWO_CALLS: readonly Said[] = [
  { reasoning: 'Both cities matter.', signature: 'signed-thought' },
  { text: 'Let me look.' },
  { call: 'getWeather', id: 'call_paris', input: '{"city":"Paris"}', signature: 'signed-call' },
  { call: 'getWeather', id: 'call_rome', input: '{"city":"Rome"}' },
];

const ANSWER: readonly Said[] = [{ text: 'Sunny, both.' }];

describe.each(PROVIDERS)('$name', ({ dialect: createDialect, model: createModel, config, version, reasons, signs }) => {
  let dialect: Dialect;
  let wire: Wire;
  let model: Model;

  beforeAll(async () => {
    dialect = createDialect();
    wire = await startWire(dialect);
    const given = createModel(wire.url);
    expect(given.specificationVersion).toBe(version);
    model = aiSdkModel(given);
  });

  afterAll(() => wire.close());

  describe.each(MODES)('%s', (mode) => {
    const start = () => converse(model, config, mode);

    test('text arrives complete, with its finish reason and its usage', async () => {
      wire.script({ say: ANSWER });
      const { turn, chunks } = start();
      const reply = await turn();
      expect(reply.content).toMatchObject([{ text: 'Sunny, both.' }]);
      expect(reply.finishReason).toBe('stop');
      expect(reply.usage).toMatchObject({ inputTokens: 11, outputTokens: 7, totalTokens: 18, cachedInputTokens: 4 });
      expect(joined(chunks, 'text')).toBe(mode === 'streamed' ? 'Sunny, both.' : '');
      expect(wire.faults).toEqual([]);
    });

    test('system prompt, images and links reach the provider', async () => {
      wire.script({ say: ANSWER });
      const { turn, messages } = start();
      messages.unshift({ role: 'system', content: [{ text: 'Be brief.' }] });
      messages.push({
        role: 'user',
        content: [
          { media: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          { media: { url: 'https://example.com/map.png', contentType: 'image/png' } },
        ],
      });
      await turn();
      const sent = JSON.stringify(wire.requests[0]);
      for (const expected of ['Be brief.', 'image/png', 'iVBORw0KGgo=', 'https://example.com/map.png'])
        expect(sent).toContain(expected);
      expect(wire.faults).toEqual([]);
    });

    test('two parallel calls arrive and their results go back in the order of the model', async () => {
      wire.script({ say: TWO_CALLS }, { say: ANSWER });
      const { turn, answer, chunks } = start();
      const reply = await turn();
      const calls = requestsOf(reply.content);
      expect(reply.finishReason).toBe('tool-calls');
      expect(calls.map(({ toolRequest }) => toolRequest)).toEqual([
        { name: 'getWeather', ref: 'call_paris', input: { city: 'Paris' } },
        { name: 'getWeather', ref: 'call_rome', input: { city: 'Rome' } },
      ]);
      const rome = chunks.flatMap((chunk) =>
        chunk.type === 'tool-input' && chunk.ref === 'call_rome' ? chunk.delta : [],
      );
      expect(rome.join('')).toBe(mode === 'streamed' ? '{"city":"Rome"}' : '');
      answer({ output: 'sun' }, { output: { sky: 'clear' } });
      expect((await turn()).content).toMatchObject([{ text: 'Sunny, both.' }]);
      expect(wire.faults).toEqual([]);
      expect(dialect.results(wire.requests[1])).toEqual([
        { id: 'call_paris', text: 'sun' },
        { id: 'call_rome', text: '{"sky":"clear"}' },
      ]);
      expect(dialect.inputs(wire.requests[1])).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
    });

    test('a signature goes back to the provider with the part it came with', async () => {
      wire.script({ say: TWO_CALLS }, { say: ANSWER });
      const { turn, answer } = start();
      const { content } = await turn();
      expect(content.some((part) => 'reasoning' in part)).toBe(reasons);
      const [signed] = requestsOf(content);
      expect(JSON.stringify(signed?.metadata ?? {}).includes('signed-call')).toBe(signs === 'calls');
      answer({ output: 1 }, { output: null });
      // The server rejects reasoning that is missing or changed, and calls without their signature.
      await turn();
      expect(wire.faults).toEqual([]);
    });

    test('the model receives a rejection as text', async () => {
      wire.script({ say: TWO_CALLS }, { say: ANSWER });
      const { turn, answer } = start();
      await turn();
      answer(
        { output: 'The user refused: too far.', outcome: 'rejected' },
        { output: 'The tool failed: no such city.', outcome: 'error' },
      );
      await turn();
      const results = dialect.results(wire.requests[1]);
      expect(results.map(({ id }) => id)).toEqual(['call_paris', 'call_rome']);
      expect(results[0]?.text).toContain('The user refused: too far.');
      expect(results[1]?.text).toContain('The tool failed: no such city.');
      expect(wire.faults).toEqual([]);
    });

    test('the model sees an edited input', async () => {
      wire.script({ say: TWO_CALLS }, { say: ANSWER });
      const { turn, answer, messages } = start();
      await turn();
      answer({ output: 'sun' }, { output: 'sun' });
      messages[1] = {
        role: 'model',
        content: (messages[1]?.content ?? []).map((part) =>
          'toolRequest' in part && part.toolRequest.ref === 'call_paris'
            ? {
                toolRequest: { ...part.toolRequest, input: { city: 'Lyon' } },
                metadata: { ...part.metadata, replacedInput: part.toolRequest.input },
              }
            : part,
        ),
      };
      await turn();
      expect(dialect.inputs(wire.requests[1])).toEqual([{ city: 'Lyon' }, { city: 'Rome' }]);
      expect(wire.faults).toEqual([]);
    });

    test('a 500 is retryable and says how long to wait', async () => {
      wire.script({ fail: 500, headers: { 'retry-after': '3' } });
      const error = await failure(start().turn());
      expect(error).toMatchObject({ code: 'provider-failed', retryable: true });
      expect(error.details).toMatchObject({ statusCode: 500, retryAfterMs: 3000, emitted: false, partial: [] });
    });

    test('a 429 is retryable at the time that the provider names', async () => {
      const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
      wire.script({ fail: 429, headers: { date, 'retry-after': 'Wed, 21 Oct 2026 07:28:05 GMT' } });
      const error = await failure(start().turn());
      expect(error.retryable).toBe(true);
      expect(error.details).toMatchObject({ statusCode: 429, retryAfterMs: 5000 });
    });

    test('a 400 is not retryable, and the details contain no key or prompt', async () => {
      wire.script({ fail: 400, message: 'as scripted' });
      const error = await failure(start().turn());
      expect(error).toMatchObject({ code: 'provider-failed', retryable: false });
      expect(error.message).toContain('as scripted');
      expect(error.details).toMatchObject({ statusCode: 400, responseBody: expect.stringContaining('as scripted') });
      expect(JSON.stringify(error.details)).not.toMatch(/secret-key|How is the weather/);
    });

    test('an unreachable server is retryable', async () => {
      const gone = await startWire(createDialect());
      await gone.close();
      const error = await failure(converse(aiSdkModel(createModel(gone.url)), config, mode).turn());
      expect(error).toMatchObject({ code: 'provider-failed', retryable: true });
    });

    test('an abort stops at once with its reason, and the server sees it', async () => {
      wire.script({ say: ANSWER, cut: 'stall' });
      const stop = new AbortController();
      const reason = new Error('enough');
      const stalls = wire.stalls();
      const reply = expect(start().turn({ signal: stop.signal }, () => stop.abort(reason))).rejects.toBe(reason);
      await stalls;
      // Without streaming, no chunk arrives that could trigger the listener.
      if (mode === 'whole') stop.abort(reason);
      await reply;
      await wire.left();
    });
  });

  test('a connection lost during a stream: cut off, with the text so far', async () => {
    wire.script({ say: [{ text: 'Half a sentence' }], cut: 'stall' });
    const { turn, chunks } = converse(model, config, 'streamed');
    const error = await failure(turn({}, () => joined(chunks, 'text') === 'Half a sentence' && wire.cut()));
    expect(error).toMatchObject({ code: 'stream-cut-off', retryable: true });
    expect(error.details.emitted).toBe(true);
    expect(error.details.partial).toMatchObject([{ text: 'Half a sentence' }]);
  });

  test('an error during a stream: failed, with the text so far', async () => {
    wire.script({ say: [{ text: 'Half a sentence' }], cut: 'error' });
    const error = await failure(converse(model, config, 'streamed').turn());
    expect(error).toMatchObject({ code: 'provider-failed', retryable: true });
    expect(error.message).toContain('overloaded');
    expect(error.details).toMatchObject({ emitted: true, partial: [{ text: 'Half a sentence' }] });
  });

  test('a listener that throws closes the connection', async () => {
    wire.script({ say: ANSWER, cut: 'stall' });
    const bug = new Error('bug of the listener');
    const fail = () => {
      throw bug;
    };
    await expect(converse(model, config, 'streamed').turn({}, fail)).rejects.toBe(bug);
    await wire.left();
  });

  test('a connection lost during a call leaves no call behind', async () => {
    wire.script({
      say: [{ text: 'Well' }, { call: 'getWeather', id: 'call_x', input: '{"city":"Paris"}' }],
      cut: 'stall-inside',
    });
    const { turn } = converse(model, config, 'streamed');
    const error = await failure(turn({}, () => wire.cut()));
    expect(error.code).toBe('stream-cut-off');
    expect(requestsOf(error.details.partial as object[])).toEqual([]);
  });

  test('a connection lost during a complete reply is retryable', async () => {
    wire.script({ say: ANSWER, cut: 'end' });
    const error = await failure(converse(model, config, 'whole').turn());
    expect(error).toMatchObject({ code: 'provider-failed', retryable: true });
  });

  test('a stream that ends cleanly before its reply does is never treated as complete', async () => {
    wire.script({ say: TWO_CALLS, cut: 'end' });
    const outcome = await converse(model, config, 'streamed')
      .turn()
      .catch((error: ProviderError) => error);
    if (!(outcome instanceof ProviderError)) expect(outcome.finishReason).toBe(version === 'v4' ? 'cut-off' : 'other');
  });
});

async function failure(work: Promise<unknown>): Promise<ProviderError> {
  const error = await work.then(
    () => expect.unreachable('it should have failed'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ProviderError);
  return error as ProviderError;
}
