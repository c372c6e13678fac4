// The reply: how streamed and whole parts come together.
import { describe, expect, test } from 'vitest';
import type { ModelChunk } from './model.ts';
import { ReplyAssembly } from './reply.ts';
import type { ReplyPart } from './specification.ts';

function assemble(...parts: readonly object[]) {
  const chunks: ModelChunk[] = [];
  const assembly = new ReplyAssembly((chunk) => chunks.push(chunk));
  for (const part of parts) assembly.take(part as ReplyPart);
  return { content: assembly.content(), chunks, emitted: assembly.emitted };
}

const start = (kind: string, id: string, rest = {}) => ({ type: `${kind}-start`, id, ...rest });
const delta = (kind: string, id: string, text: string, rest = {}) => ({
  type: `${kind}-delta`,
  id,
  delta: text,
  ...rest,
});
const end = (kind: string, id: string, rest = {}) => ({ type: `${kind}-end`, id, ...rest });
const call = (toolCallId: string, input: string, rest = {}) => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'pay',
  input,
  ...rest,
});

test('passages keep the order of their starts, however their pieces interleave', () => {
  const { content, chunks } = assemble(
    start('reasoning', '1'),
    start('text', '1'),
    delta('text', '1', 'Hel'),
    delta('reasoning', '1', 'Hm'),
    { type: 'tool-input-start', id: 'c1', toolName: 'pay' },
    delta('tool-input', 'c1', '{"a"'),
    { type: 'tool-input-start', id: 'c2', toolName: 'pay' },
    delta('tool-input', 'c2', '{}'),
    delta('tool-input', 'c1', ':1}'),
    call('c2', '{}'),
    delta('text', '1', 'lo'),
    call('c1', '{"a":1}'),
    end('text', '1'),
    end('reasoning', '1'),
  );
  expect(content).toEqual([
    { reasoning: 'Hm' },
    { text: 'Hello' },
    { toolRequest: { name: 'pay', ref: 'c1', input: { a: 1 } } },
    { toolRequest: { name: 'pay', ref: 'c2', input: {} } },
  ]);
  expect(chunks).toEqual([
    { type: 'text', text: 'Hel' },
    { type: 'reasoning', text: 'Hm' },
    { type: 'tool-input', ref: 'c1', name: 'pay', delta: '{"a"' },
    { type: 'tool-input', ref: 'c2', name: 'pay', delta: '{}' },
    { type: 'tool-input', ref: 'c1', name: 'pay', delta: ':1}' },
    { type: 'text', text: 'lo' },
  ]);
});

test('an id that is used again begins a new passage', () => {
  const { content } = assemble(
    start('text', '0'),
    delta('text', '0', 'a'),
    end('text', '0'),
    start('text', '0'),
    delta('text', '0', 'b'),
  );
  expect(content).toEqual([{ text: 'a' }, { text: 'b' }]);
});

test('a delta without its start is not lost', () => {
  expect(assemble(delta('text', '0', 'a'), delta('text', '0', 'b')).content).toEqual([{ text: 'ab' }]);
});

test('metadata that comes piece by piece is put together', () => {
  const { content } = assemble(
    start('reasoning', 'r', { providerMetadata: { openai: { itemId: 'rs_1', secret: null } } }),
    delta('reasoning', 'r', 'Hm', { providerMetadata: { openai: { itemId: 'rs_1' } } }),
    delta('reasoning', 'r', '', { providerMetadata: { anthropic: { signature: 's' } } }),
    end('reasoning', 'r', { providerMetadata: { openai: { secret: 'x' } } }),
  );
  const providerMetadata = { openai: { itemId: 'rs_1', secret: 'x' }, anthropic: { signature: 's' } };
  expect(content).toEqual([{ reasoning: 'Hm', metadata: { providerMetadata } }]);
});

test('the metadata of a provider is copied, never changed', () => {
  const providerMetadata = { openai: { itemId: 'rs_1' } };
  assemble(start('text', 't', { providerMetadata }), end('text', 't', { providerMetadata: { openai: { more: 1 } } }));
  expect(providerMetadata).toEqual({ openai: { itemId: 'rs_1' } });
});

test('what a provider calls itself cannot reach further than its own part', () => {
  const providerMetadata = JSON.parse('{"__proto__":{"polluted":true}}');
  expect(assemble(start('text', 't', { providerMetadata }), delta('text', 't', 'x')).content).toEqual([{ text: 'x' }]);
  expect({}).not.toHaveProperty('polluted');
});

test('empty text is left out unless a signature came with it', () => {
  const providerMetadata = { google: { thoughtSignature: 's' } };
  const { content, emitted } = assemble(start('text', 'a'), end('text', 'a'), start('text', 'b', { providerMetadata }));
  expect(content).toEqual([{ text: '', metadata: { providerMetadata } }]);
  expect(emitted).toBe(false);
});

test('citations stay with their text', () => {
  const citations = [{ source: { url: 'https://a.example' } }];
  expect(assemble({ type: 'text', text: 'So.', citations }).content).toEqual([
    { text: 'So.', metadata: { citations } },
  ]);
});

describe('calls', () => {
  test('a call that was not streamed is handed out in one piece', () => {
    expect(assemble(call('c1', '{"a":1}')).chunks).toEqual([
      { type: 'tool-input', ref: 'c1', name: 'pay', delta: '{"a":1}' },
    ]);
  });

  test('no input is an empty object', () => {
    expect(assemble(call('c1', '')).content).toEqual([{ toolRequest: { name: 'pay', ref: 'c1', input: {} } }]);
  });

  test('input that is not JSON stays a string, with the reason', () => {
    expect(assemble(call('c1', '{"a":')).content).toEqual([
      {
        toolRequest: { name: 'pay', ref: 'c1', input: '{"a":' },
        metadata: { invalidInput: expect.stringContaining('not JSON') },
      },
    ]);
  });

  test('a call without an id has no ref', () => {
    expect(assemble(call('', '{}')).content).toEqual([{ toolRequest: { name: 'pay', input: {} } }]);
  });

  test('two calls with one id are two calls', () => {
    expect(assemble(call('c1', '{"a":1}'), call('c1', '{"a":2}')).content).toHaveLength(2);
  });

  test('a call whose input never ended is none', () => {
    const streamed = [{ type: 'tool-input-start', id: 'c1', toolName: 'pay' }, delta('tool-input', 'c1', '{"a":1}')];
    expect(assemble(...streamed).content).toEqual([]);
  });

  test('a call that the provider executes is never one of ours, nor is its input handed out', () => {
    const { content, chunks } = assemble(
      { type: 'tool-input-start', id: 'w1', toolName: 'search', providerExecuted: true },
      delta('tool-input', 'w1', '{}'),
      call('w1', '{"q":1}', { toolName: 'search', providerExecuted: true, providerMetadata: { a: { itemId: 'i' } } }),
      { type: 'tool-result', toolCallId: 'w1', toolName: 'search', result: { half: 1 }, preliminary: true },
      { type: 'tool-result', toolCallId: 'w1', toolName: 'search', result: { hits: 1 } },
    );
    expect(content).toEqual([
      {
        data: { toolCallId: 'w1', toolName: 'search', input: { q: 1 } },
        metadata: { providerPart: 'tool-call', providerMetadata: { a: { itemId: 'i' } } },
      },
      {
        data: { toolCallId: 'w1', toolName: 'search', result: { hits: 1 } },
        metadata: { providerPart: 'tool-result' },
      },
    ]);
    expect(chunks).toEqual([]);
  });
});

test('kinds without a shape of ours are kept as data', () => {
  const { content } = assemble(
    { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.example', title: undefined },
    { type: 'custom', kind: 'openai.compaction', providerMetadata: { openai: { itemId: 'i' } } },
    { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([0, 0, 0]) } },
    { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'w1' },
  );
  expect(content).toEqual([
    { data: { sourceType: 'url', id: 's1', url: 'https://a.example' }, metadata: { providerPart: 'source' } },
    {
      data: { kind: 'openai.compaction' },
      metadata: { providerPart: 'custom', providerMetadata: { openai: { itemId: 'i' } } },
    },
    {
      data: { mediaType: 'image/png', url: 'data:image/png;base64,AAAA' },
      metadata: { providerPart: 'reasoning-file' },
    },
    { data: { approvalId: 'a1', toolCallId: 'w1' }, metadata: { providerPart: 'tool-approval-request' } },
  ]);
});

test.each([
  ['V2 and V3', 'AAAA'],
  ['V4', { type: 'data', data: 'AAAA' }],
])('a file of %s becomes media', (_version, data) => {
  const providerMetadata = { google: { thoughtSignature: 's' } };
  expect(assemble({ type: 'file', mediaType: 'image/png', data, providerMetadata }).content).toEqual([
    { media: { url: 'data:image/png;base64,AAAA', contentType: 'image/png' }, metadata: { providerMetadata } },
  ]);
});

test('what says nothing of the reply is passed over', () => {
  const { content, emitted } = assemble(
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'x' },
    { type: 'raw', rawValue: {} },
    { type: 'ping' },
    { type: 'custom', kind: 'anthropic.message_start' },
    { type: 'something-new' },
  );
  expect(content).toEqual([]);
  expect(emitted).toBe(false);
});
