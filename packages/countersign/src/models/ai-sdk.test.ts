// The adapter: one path for whole and streamed replies, prompt stops, and nothing lost on the way.
import type { UnderlyingSource } from 'node:stream/web';
import { describe, expect, test } from 'vitest';
import { type AiSdkModel, aiSdkModel } from './ai-sdk.ts';
import type { ModelChunk, ModelRequest } from './model.ts';

const REQUEST: ModelRequest = { messages: [], tools: [], toolChoice: 'auto', config: {} };
const FINISH = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} };
const TEXT = [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Hi' },
  { type: 'text-end', id: '1' },
];

/** Nothing is pulled before it is read. */
const LAZY = { highWaterMark: 0 };

/** A model that streams what `pull` gives it and remembers whether its stream was cancelled. */
function streaming(source: UnderlyingSource<{ type: string }>): AiSdkModel & { cancelled: unknown[] } {
  const cancelled: unknown[] = [];
  const stream = new ReadableStream<{ type: string }>(
    { ...source, cancel: (reason) => void cancelled.push(reason) },
    LAZY,
  );
  return { ...model({ doStream: async () => ({ stream }) }), cancelled };
}

const model = (parts: Partial<AiSdkModel>): AiSdkModel => ({
  specificationVersion: 'v4',
  provider: 'test',
  modelId: 'model',
  doGenerate: () => expect.unreachable('a stream was wanted'),
  doStream: () => expect.unreachable('no stream was wanted'),
  ...parts,
});

const given = (...parts: readonly { type: string; error?: unknown }[]) =>
  streaming({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });

const ignore = () => {};

describe('replies', () => {
  test('without a listener the whole reply is asked for', async () => {
    const doGenerate = async () => ({ content: [{ type: 'text', text: 'Hi' }], finishReason: 'stop', usage: {} });
    expect(await aiSdkModel(model({ doGenerate })).reply(REQUEST)).toEqual({
      content: [{ text: 'Hi' }],
      finishReason: 'stop',
    });
  });

  test('with a listener it is streamed, and comes to the same', async () => {
    const chunks: ModelChunk[] = [];
    const reply = await aiSdkModel(given(...TEXT, FINISH)).reply(REQUEST, (chunk) => chunks.push(chunk));
    expect(reply).toMatchObject({ content: [{ text: 'Hi' }], finishReason: 'stop' });
    expect(chunks).toEqual([{ type: 'text', text: 'Hi' }]);
  });

  test('the prompt handed over is a copy', async () => {
    const prompts: unknown[][] = [];
    const doGenerate = async (options: { prompt: unknown[] }) => {
      prompts.push([...options.prompt]);
      options.prompt.length = 0;
      return { content: [], finishReason: 'stop', usage: {} };
    };
    const asked = aiSdkModel(model({ doGenerate: doGenerate as AiSdkModel['doGenerate'] }));
    const request: ModelRequest = { ...REQUEST, messages: [{ role: 'user', content: [{ text: 'Hi' }] }] };
    await asked.reply(request);
    await asked.reply(request);
    expect(prompts[1]).toEqual(prompts[0]);
    expect(prompts[1]).toHaveLength(1);
  });
});

describe('failures', () => {
  const partial = [{ text: 'Hi' }];

  test('an error in the stream fails with what had arrived; the rest is not read', async () => {
    const asked = given(...TEXT, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, FINISH);
    await expect(aiSdkModel(asked).reply(REQUEST, ignore)).rejects.toMatchObject({
      code: 'provider-failed',
      retryable: true,
      details: { model: 'test/model', partial, emitted: true },
    });
  });

  test('a stream that ends without saying so is cut off', async () => {
    await expect(aiSdkModel(given(...TEXT)).reply(REQUEST, ignore)).rejects.toMatchObject({
      code: 'stream-cut-off',
      retryable: true,
      details: { partial, emitted: true },
    });
  });

  test('a stream that ends before it began may be tried again', async () => {
    await expect(aiSdkModel(given()).reply(REQUEST, ignore)).rejects.toMatchObject({
      code: 'stream-cut-off',
      retryable: true,
      details: { partial: [], emitted: false },
    });
  });

  test('a provider that throws before its promise', async () => {
    const doStream = () => {
      throw new RangeError('unsupported');
    };
    await expect(aiSdkModel(model({ doStream })).reply(REQUEST, ignore)).rejects.toMatchObject({
      code: 'provider-failed',
      retryable: false,
    });
  });

  test('an error of the listener is its own, and the stream is let go', async () => {
    const bug = new Error('bug of the listener');
    const asked = streaming({
      start(controller) {
        for (const part of TEXT) controller.enqueue(part);
      },
    });
    const reply = aiSdkModel(asked).reply(REQUEST, () => {
      throw bug;
    });
    await expect(reply).rejects.toBe(bug);
    expect(asked.cancelled).toHaveLength(1);
  });
});

describe('an abort stops a provider that ignores the signal', () => {
  const reason = new Error('enough');

  test('before it is asked', async () => {
    const request = { ...REQUEST, signal: AbortSignal.abort(reason) };
    await expect(aiSdkModel(model({})).reply(request)).rejects.toBe(reason);
  });

  test('while it opens the stream, which is let go when it comes', async () => {
    const stop = new AbortController();
    const opened = streaming({});
    const doStream: AiSdkModel['doStream'] = async (options) => {
      stop.abort(reason);
      return opened.doStream(options);
    };
    const reply = aiSdkModel(model({ doStream })).reply({ ...REQUEST, signal: stop.signal }, ignore);
    await expect(reply).rejects.toBe(reason);
    expect(opened.cancelled).toEqual([reason]);
  });

  test('in the middle of the stream', async () => {
    const stop = new AbortController();
    const asked = streaming({
      start(controller) {
        for (const part of TEXT) controller.enqueue(part);
      },
      pull: () => new Promise<void>(ignore),
    });
    const reply = aiSdkModel(asked).reply({ ...REQUEST, signal: stop.signal }, () => stop.abort(reason));
    await expect(reply).rejects.toBe(reason);
    expect(asked.cancelled).toEqual([reason]);
  });
});

test('only versions 2 to 4 are driven', () => {
  const of = (specificationVersion: string) => ({ ...model({}), specificationVersion });
  for (const version of ['v2', 'v3', 'v4']) expect(aiSdkModel(of(version) as AiSdkModel).name).toBeDefined();
  for (const other of [of('v1'), of('v5'), of(''), null, undefined, 'x', {}, { specificationVersion: 'v3' }])
    expect(() => aiSdkModel(other as AiSdkModel)).toThrow(expect.objectContaining({ code: 'unsupported-model' }));
});
