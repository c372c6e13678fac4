// Rule 17: a stream shows the interrupt, the decision and the result, and never blocks or breaks the run.
import { approve, type Chunk, interrupt, type Model, reject, respond, tool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, messagesOf, nth, only, payTool, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });

async function collect(stream: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const types = (chunks: readonly Chunk[]) => [...new Set(chunks.map((chunk) => chunk.type))];

const ofType = <T extends Chunk['type']>(chunks: readonly Chunk[], type: T) =>
  chunks.filter((chunk): chunk is Extract<Chunk, { type: T }> => chunk.type === type);

describe('rule 17: streams show the pause', () => {
  test('the stream shows the same interrupt as the response', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([{ text: 'One moment.', ...calls({ name: 'pay', ref: 'p', input: { amount: 1 } }) }]);
    const { stream, response } = ai.generateStream({ prompt: 'go', tools: [pay] });
    const chunks = await collect(stream);
    expect(types(chunks)).toEqual(['text', 'tool-input', 'tool-request', 'interrupt']);
    expect(only(ofType(chunks, 'interrupt')).interrupt).toEqual(only((await response).interrupts));
    expect(chunks.map((chunk) => chunk.text).join('')).toBe('One moment.');
  });

  test("the stream of the resume shows the decision and the result before the model's text", async () => {
    const pay = payTool([]);
    const { ai } = scripted([
      calls(
        { name: 'pay', ref: 'p', input: { amount: 1 } },
        { name: 'ask', ref: 'q' },
        { name: 'pay', ref: 'r', input: { amount: 2 } },
      ),
      'done',
    ]);
    const tools = [pay, ask];
    const paused = await ai.generate({ prompt: 'go', tools });
    const { stream } = ai.generateStream({
      tools,
      messages: travelled(paused.messages),
      resume: {
        approve: approve(nth(paused.interrupts, 0), { edit: { amount: 3 }, by: 'ann' }),
        respond: respond(nth(paused.interrupts, 1), 0),
        reject: reject(nth(paused.interrupts, 2), 'no'),
      },
    });
    const chunks = await collect(stream);
    const decisions = ofType(chunks, 'decision').map(({ ref, decision }) => [ref, decision]);
    expect(decisions).toEqual(
      expect.arrayContaining([
        ['p', expect.objectContaining({ type: 'approve', input: { amount: 3 }, by: 'ann' })],
        ['q', expect.objectContaining({ type: 'respond', output: 0 })],
        ['r', expect.objectContaining({ type: 'reject', reason: 'no' })],
      ]),
    );
    const told = ofType(chunks, 'tool-response').map(({ toolResponse }) => [toolResponse.ref, toolResponse.output]);
    expect(told).toEqual(
      expect.arrayContaining([
        ['p', { paid: 3 }],
        ['q', 0],
        ['r', expect.stringContaining('no')],
      ]),
    );
    expect(chunks.findIndex((chunk) => chunk.type === 'text')).toBeGreaterThan(
      chunks.findLastIndex((chunk) => chunk.type === 'tool-response'),
    );
  });

  test('an interrupt read from the stream can be decided', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([calls({ name: 'pay', ref: 'p', input: { amount: 1 } }), 'done']);
    const { stream, response } = ai.generateStream({ prompt: 'go', tools: [pay] });
    const part = only(ofType(await collect(stream), 'interrupt')).interrupt;
    await ai.generate({
      tools: [pay],
      messages: travelled((await response).messages),
      resume: { approve: approve(travelled(part)) },
    });
    expect(log).toEqual(['paid 1']);
  });

  test('interrupts, decisions and results inside a sub-agent are shown with their path, and can be decided', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([calls({ name: 'helper', ref: 'h', input: { prompt: 'x' } }), 'done']);
    const helper = ai.defineAgent({
      name: 'helper',
      model: scriptedModel([calls({ name: 'pay', ref: 'p', input: { amount: 1 } }), 'helped']),
      tools: [pay],
    });
    const first = ai.generateStream({ prompt: 'go', tools: [helper] });
    const shown = only(ofType(await collect(first.stream), 'interrupt'));
    expect(shown.path).toEqual(['h']);
    const second = ai.generateStream({
      tools: [helper],
      messages: travelled((await first.response).messages),
      resume: { approve: approve(travelled(shown.interrupt)) },
    });
    const chunks = await collect(second.stream);
    expect(only(ofType(chunks, 'decision'))).toMatchObject({ ref: 'p', path: ['h'], decision: { type: 'approve' } });
    expect(ofType(chunks, 'tool-response').map(({ path, toolResponse }) => [path, toolResponse.ref])).toEqual([
      [['h'], 'p'],
      [undefined, 'h'],
    ]);
    expect(log).toEqual(['paid 1']);
  });

  test('the stream shows the doubt about a call', async () => {
    const { ai } = scripted([]);
    const act = tool({ name: 'act', description: 'Acts.' }, () => 1);
    const { stream } = ai.generateStream({
      tools: [act],
      messages: [
        { role: 'user', content: [{ text: 'go' }] },
        {
          role: 'model',
          content: [{ toolRequest: { name: 'act', ref: 'a', input: {} }, metadata: { started: true } }],
        },
      ],
    });
    expect(only(await collect(stream))).toMatchObject({
      type: 'interrupt',
      interrupt: { metadata: { interruptKind: 'doubt' } },
    });
  });

  test('calls that a user message cancels appear as decided and settled', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'q' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const { stream } = ai.generateStream({ tools: [ask], messages: travelled(paused.messages), prompt: 'never mind' });
    const chunks = await collect(stream);
    expect(only(ofType(chunks, 'decision')).decision.type).toBe('cancel');
    expect(ofType(chunks, 'tool-response')).toHaveLength(1);
  });

  test('onChunk receives the chunks of the stream', async () => {
    const heard: Chunk[] = [];
    const { ai } = scripted([calls({ name: 'ask', ref: 'q' })]);
    const { stream } = ai.generateStream({ prompt: 'go', tools: [ask], onChunk: (chunk) => heard.push(chunk) });
    expect(await collect(stream)).toEqual(heard);
  });

  test('chunks are JSON', async () => {
    const { ai } = scripted([{ text: 'x', reasoning: 'y', ...calls({ name: 'ask', ref: 'q', input: { a: [1] } }) }]);
    const chunks = await collect(ai.generateStream({ prompt: 'go', tools: [ask] }).stream);
    expect(travelled(chunks)).toEqual(chunks);
  });
});

describe('rule 17: a stream neither blocks nor breaks the run', () => {
  test('a reader who leaves early does not stop the run', async () => {
    const log: string[] = [];
    const pay = payTool(log, { needsApproval: false });
    const { ai } = scripted([{ text: 'a b c', ...calls({ name: 'pay', input: { amount: 1 } }) }, 'done']);
    const { stream, response } = ai.generateStream({ prompt: 'go', tools: [pay] });
    for await (const _chunk of stream) break;
    expect((await response).text).toBe('done');
    expect(log).toEqual(['paid 1']);
    expect(await stream.next()).toEqual({ value: undefined, done: true });
  });

  test('an unread stream does not stop the run', async () => {
    const { ai } = scripted(['done']);
    const { response } = ai.generateStream('go');
    expect((await response).text).toBe('done');
  });

  test('a stream read after the end has everything', async () => {
    const { ai } = scripted(['one two three']);
    const { stream, response } = ai.generateStream('go');
    await response;
    expect((await collect(stream)).map((chunk) => chunk.text).join('')).toBe('one two three');
  });

  test('a failure reaches the reader after the chunks, and the response with its messages', async () => {
    const { ai } = scripted([{ text: 'I was', fail: { message: '503' } }]);
    const { stream, response } = ai.generateStream('go');
    const heard: string[] = [];
    await expect(
      (async () => {
        for await (const chunk of stream) heard.push(chunk.text);
      })(),
    ).rejects.toThrow('503');
    expect(heard.join('')).toBe('I was');
    expect(messagesOf(await failureOf(response))).toHaveLength(1);
  });

  test('a failure that the reader has received is not reported again', async () => {
    const { ai } = scripted([{ fail: {} }]);
    const { stream, response } = ai.generateStream('go');
    await expect(stream.next()).rejects.toThrow();
    await failureOf(response);
    await expect(stream.next()).resolves.toEqual({ value: undefined, done: true });
  });

  test('a failure that only the reader handles is handled', async () => {
    const { ai } = scripted([{ fail: {} }]);
    // An unhandled rejection of `response` would fail this test file.
    await expect(collect(ai.generateStream('go').stream)).rejects.toThrow();
  });

  test('a rejected resume fails the stream as well as the response', async () => {
    const { ai } = scripted([]);
    const { stream, response } = ai.generateStream({ prompt: 'x', resume: { respond: {} as never } });
    await expect(collect(stream)).rejects.toThrow('nothing ran');
    await failureOf(response);
  });

  test('an abort ends the stream without an error', async () => {
    const controller = new AbortController();
    const { ai } = scripted([{ text: 'one two', stall: true }]);
    const { stream, response } = ai.generateStream({ prompt: 'go', abortSignal: controller.signal });
    for await (const chunk of stream) if (chunk.text.includes('two')) controller.abort();
    expect((await response).finishReason).toBe('aborted');
  });

  test('two concurrent reads both get a chunk', async () => {
    const { ai } = scripted(['done']);
    const { stream, response } = ai.generateStream('go');
    const reads = [stream.next(), stream.next(), stream.next()];
    await response;
    const answered = await Promise.race([Promise.all(reads), turns(50).then(() => 'not answered')]);
    expect(answered).not.toBe('not answered');
  });

  test('a pending read resolves when the reader leaves', async () => {
    const model: Model = { name: 'silent', reply: () => new Promise<never>(() => undefined) };
    const { ai } = scripted([]);
    const { stream } = ai.generateStream({ model, prompt: 'go' });
    const read = stream.next();
    await stream.return?.();
    const answered = await Promise.race([read, turns(50).then(() => 'not answered')]);
    expect(answered).toEqual({ value: undefined, done: true });
  });

  test('chats and agents stream their pauses too', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'q' }), 'done', calls({ name: 'ask', ref: 'q' })]);
    const chat = ai.chat({ tools: [ask] });
    expect(types(await collect(chat.sendStream('go').stream))).toContain('interrupt');
    const chunks = await collect(chat.sendStream({ resume: { respond: respond(nth(chat.interrupts, 0), 1) } }).stream);
    expect(types(chunks)).toEqual(['decision', 'tool-response', 'text']);
    const agent = ai.defineAgent({ name: 'agent', tools: [ask] });
    expect(types(await collect(agent.generateStream('go').stream))).toContain('interrupt');
  });
});

/** Runs all ready microtasks. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await null;
}
