// From what a user gives to a model that can be driven.
import { expect, test } from 'vitest';
import type { AiSdkModel } from './ai-sdk.ts';
import type { Model } from './model.ts';
import { type Providers, resolveModel } from './resolve.ts';

const sdkModel = (modelId: string, specificationVersion = 'v3') =>
  ({ specificationVersion, provider: 'test', modelId, doGenerate() {}, doStream() {} }) as unknown as AiSdkModel;

const openai = Object.assign((modelId: string) => sdkModel(modelId), { chat: true });
const custom = { languageModel: (modelId: string) => sdkModel(`custom:${modelId}`) };

test('a provider that is a function is called', () => {
  expect(resolveModel('openai/gpt-5', { openai }).name).toBe('test/gpt-5');
});

test('a provider with languageModel is asked', () => {
  expect(resolveModel('custom/fast', { custom }).name).toBe('test/custom:fast');
});

test('the first slash divides', () => {
  expect(resolveModel('openai/meta/llama-3', { openai }).name).toBe('test/meta/llama-3');
});

test('a Countersign model is used unchanged', () => {
  const model: Model = { name: 'mine', reply: async () => ({ content: [], finishReason: 'stop' }) };
  expect(resolveModel(model, {})).toBe(model);
});

test('no model', () => {
  expect(() => resolveModel(undefined, {})).toThrow(expect.objectContaining({ code: 'no-model' }));
});

test.each(['gpt-5', 'other/gpt-5', 'openai/', '/gpt-5', 'constructor/x', '__proto__/x'])('%s is unknown', (name) => {
  const error = expect.objectContaining({
    code: 'unknown-model',
    message: expect.stringContaining('known: openai, custom'),
    details: { model: name, providers: ['openai', 'custom'] },
  });
  expect(() => resolveModel(name, { openai, custom })).toThrow(error);
});

test('a provider that knows no such model', () => {
  const cause = new Error('no such model');
  const providers: Providers = {
    strict: {
      languageModel() {
        throw cause;
      },
    },
  };
  expect(() => resolveModel('strict/x', providers)).toThrow(expect.objectContaining({ code: 'unknown-model', cause }));
});

test.each<[what: string, value: unknown, said: RegExp]>([
  ['a model of version 1', sdkModel('x', 'v1'), /"v1"; update/],
  ['a model of a version to come', sdkModel('x', 'v9'), /"v9"/],
  ['an object that is not a model', { specificationVersion: 'v3' }, /without `doGenerate`/],
  ['a number', 7, /a number/],
  ['null', null, /neither an AI SDK provider model/],
  ['a provider in place of its model', openai, /a function/],
])('%s is unsupported', (_what, value, said) => {
  const error = expect.objectContaining({ code: 'unsupported-model', message: expect.stringMatching(said) });
  expect(() => resolveModel(value as AiSdkModel, {})).toThrow(error);
});
