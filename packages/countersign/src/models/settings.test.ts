// Everything of a request but its messages.
import { expect, test } from 'vitest';
import type { ModelRequest } from './model.ts';
import { settingsOf } from './settings.ts';

const TOOLS = [{ name: 'pay', description: 'Pays', inputSchema: { type: 'object' } }];
const REQUEST: ModelRequest = { messages: [], tools: TOOLS, toolChoice: 'auto', config: {} };

const settings = (request: Partial<ModelRequest>) => settingsOf({ ...REQUEST, ...request });

test('tools are function tools', () => {
  const tool = { type: 'function', name: 'pay', description: 'Pays', inputSchema: { type: 'object' } };
  expect(settings({})).toEqual({ tools: [tool], toolChoice: { type: 'auto' } });
});

test('a request without tools has no tool choice', () => {
  expect(settings({ tools: [], toolChoice: 'required' })).toEqual({});
});

test.each([
  ['none', { type: 'none' }],
  ['required', { type: 'required' }],
  [{ tool: 'pay' }, { type: 'tool', toolName: 'pay' }],
] as const)('the choice %j', (toolChoice, expected) => {
  expect(settings({ toolChoice })).toMatchObject({ toolChoice: expected });
});

test('an output schema asks for JSON', () => {
  const schema = { type: 'object' };
  expect(settings({ outputSchema: schema })).toMatchObject({ responseFormat: { type: 'json', schema } });
});

test('settings go through, the options of providers untouched', () => {
  const config = {
    maxOutputTokens: 10,
    temperature: 0,
    topP: 1,
    topK: 2,
    presencePenalty: 0.1,
    frequencyPenalty: 0.2,
    seed: 0,
    stopSequences: ['x'],
    headers: { 'x-a': 'b' },
    providerOptions: { openai: { store: false } },
  };
  const { signal } = new AbortController();
  expect(settings({ tools: [], config, signal })).toEqual({
    ...config,
    abortSignal: signal,
  });
});

test('a provider may change its tools, and changes no other request', () => {
  const first = settingsOf(REQUEST) as { tools: { name: string }[] };
  const before = structuredClone(first);
  (first.tools[0] as { name: string }).name = 'changed';
  first.tools.pop();
  expect(settingsOf(REQUEST)).toEqual(before);
});
