// The prompt: each kind of part in the form of each version of the specification, and the cache between turns.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import type { Message, Part, Role } from '../core/messages/message.ts';
import { promptsFor } from './prompt.ts';
import type { SpecificationVersion } from './specification.ts';

const VERSIONS: readonly SpecificationVersion[] = ['v2', 'v3', 'v4'];

const message = (role: Role, ...content: readonly Part[]): Message => ({ role, content });

const promptOf = (version: SpecificationVersion, ...messages: readonly Message[]) => promptsFor(version)(messages);

/** The one prompt part that comes of one part. */
function partOf(version: SpecificationVersion, role: Role, part: Part): unknown {
  const [only] = promptOf(version, message(role, part));
  return Array.isArray(only?.content) ? only.content[0] : only?.content;
}

const signed = { anthropic: { signature: 'abc' } };
const call = (input: unknown): Part => ({ toolRequest: { name: 'pay', ref: 'c1', input } });
const response = (output: unknown, outcome?: string): Part => ({
  toolResponse: { name: 'pay', ref: 'c1', output },
  ...(outcome && { metadata: { outcome } }),
});
const kept = (kind: string, data: unknown): Part => ({ data, metadata: { providerPart: kind } });

const toolCall = (input: unknown) => ({ type: 'tool-call', toolCallId: 'c1', toolName: 'pay', input });
const toolResult = (output: unknown) => ({ type: 'tool-result', toolCallId: 'c1', toolName: 'pay', output });

describe.each(VERSIONS)('%s', (version) => {
  const v4 = version === 'v4';

  test.each<[what: string, role: Role, part: Part, expected: unknown]>([
    ['system text', 'system', { text: 'Be brief.' }, 'Be brief.'],
    ['data in a system message', 'system', { data: { day: 1 } }, '{"day":1}'],
    ['user text', 'user', { text: 'Hi' }, { type: 'text', text: 'Hi' }],
    ['user data', 'user', { data: { a: [1] } }, { type: 'text', text: '{"a":[1]}' }],
    ['data that is falsy', 'user', { data: 0 }, { type: 'text', text: '0' }],
    ['text of the model', 'model', { text: 'Hi' }, { type: 'text', text: 'Hi' }],
    ['data of the model', 'model', { data: null }, { type: 'text', text: 'null' }],
    [
      'reasoning with its signature',
      'model',
      { reasoning: 'Hm', metadata: { providerMetadata: signed } },
      { type: 'reasoning', text: 'Hm', providerOptions: signed },
    ],
    [
      'empty text with a signature',
      'model',
      { text: '', metadata: { providerMetadata: signed } },
      { type: 'text', text: '', providerOptions: signed },
    ],
    ['a call', 'model', call({ to: 'Ann' }), toolCall({ to: 'Ann' })],
    ['a call without input', 'model', call(undefined), toolCall({})],
    ['a call whose input is not JSON', 'model', call('{"to":'), toolCall({ invalid: '{"to":' })],
    ['a call whose input is a list', 'model', call([1]), toolCall({ invalid: [1] })],
    ['a call whose input is null', 'model', call(null), toolCall({ invalid: null })],
    ['a text result', 'tool', response('paid'), toolResult({ type: 'text', value: 'paid' })],
    ['an empty text result', 'tool', response(''), toolResult({ type: 'text', value: '' })],
    ['a JSON result', 'tool', response({ ok: true }), toolResult({ type: 'json', value: { ok: true } })],
    ['the result 0', 'tool', response(0), toolResult({ type: 'json', value: 0 })],
    ['the result false', 'tool', response(false), toolResult({ type: 'json', value: false })],
    ['the result null', 'tool', response(null), toolResult({ type: 'json', value: null })],
    ['no result', 'tool', response(undefined), toolResult({ type: 'json', value: null })],
    ['a failure', 'tool', response('It broke.', 'error'), toolResult({ type: 'error-text', value: 'It broke.' })],
    ['a refusal', 'tool', response('Refused.', 'rejected'), toolResult({ type: 'error-text', value: 'Refused.' })],
    ['a cancelled call', 'tool', response('Gone.', 'cancelled'), toolResult({ type: 'error-text', value: 'Gone.' })],
    [
      'a refusal that is not a string',
      'tool',
      response({ a: 1 }, 'rejected'),
      toolResult({ type: 'error-text', value: '{"a":1}' }),
    ],
    [
      'an embedded image',
      'user',
      { media: { url: 'data:image/png;base64,AAAA' } },
      { type: 'file', mediaType: 'image/png', data: v4 ? { type: 'data', data: 'AAAA' } : 'AAAA' },
    ],
    [
      'a linked file',
      'user',
      { media: { url: 'https://a.example/b.pdf' } },
      {
        type: 'file',
        mediaType: 'application/pdf',
        data: v4 ? { type: 'url', url: new URL('https://a.example/b.pdf') } : new URL('https://a.example/b.pdf'),
      },
    ],
    [
      'a call that the provider executed',
      'model',
      kept('tool-call', { toolCallId: 'c1', toolName: 'pay', input: { q: 1 } }),
      { ...toolCall({ q: 1 }), providerExecuted: true },
    ],
    [
      'its result',
      'model',
      kept('tool-result', { toolCallId: 'c1', toolName: 'pay', result: [1] }),
      toolResult({ type: 'json', value: [1] }),
    ],
    [
      'its failure',
      'model',
      kept('tool-result', { toolCallId: 'c1', toolName: 'pay', result: { code: 1 }, isError: true }),
      toolResult({ type: 'error-json', value: { code: 1 } }),
    ],
    ['a custom part', 'model', kept('custom', { kind: 'a.b' }), v4 ? { type: 'custom', kind: 'a.b' } : undefined],
    [
      'a file of the reasoning',
      'model',
      kept('reasoning-file', { mediaType: 'image/png', url: 'data:image/png;base64,AAAA' }),
      v4 ? { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } } : undefined,
    ],
    ['a source', 'model', kept('source', { sourceType: 'url', id: '1', url: 'https://a.example' }), undefined],
    ['a request for approval', 'model', kept('tool-approval-request', { approvalId: 'a1' }), undefined],
    ['empty text', 'model', { text: '' }, undefined],
    ['empty reasoning', 'model', { reasoning: '' }, undefined],
    ['a part that looks kept in a message of the user', 'user', kept('source', 1), { type: 'text', text: '1' }],
  ])('%s', (_what, role, part, expected) => {
    expect(partOf(version, role, part)).toEqual(expected);
  });
});

test('roles are translated and system messages stay where they are', () => {
  const roles: readonly Role[] = ['system', 'user', 'model', 'system', 'user'];
  const prompt = promptOf('v4', ...roles.map((role) => message(role, { text: 'x' })));
  expect(prompt.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'system', 'user']);
});

test('messages that say nothing are dropped', () => {
  expect(promptOf('v4', message('model', { text: '' }), message('tool'), message('system'))).toEqual([]);
});

test('metadata of the provider on a message goes with the message', () => {
  const prompt = promptOf('v4', { role: 'system', content: [{ text: 'x' }], metadata: { providerMetadata: signed } });
  expect(prompt).toEqual([{ role: 'system', content: 'x', providerOptions: signed }]);
});

test.each([
  ['was edited', { replacedInput: { amount: 1 } }],
  ['got another ref', { providerRef: 'call_1' }],
])('a call that %s no longer refers to the item that the provider stored, but keeps its signature', (_what, change) => {
  const providerMetadata = { openai: { itemId: 'fc_1' }, google: { thoughtSignature: 's' } };
  const part: Part = { ...call({ amount: 2 }), metadata: { providerMetadata, ...change } };
  expect(partOf('v3', 'model', part)).toEqual({
    ...toolCall({ amount: 2 }),
    providerOptions: { openai: {}, google: { thoughtSignature: 's' } },
  });
});

test('consecutive tool messages become one', () => {
  const [tool, user] = promptOf(
    'v4',
    message('tool', response(1)),
    message('tool', response(2)),
    message('user', { text: 'x' }),
  );
  expect(tool?.content).toHaveLength(2);
  expect(user?.role).toBe('user');
});

describe('a conversation that grows', () => {
  /** Counts how often the content of a message is read. */
  function counted(original: Message, reads: { count: number }): Message {
    return {
      role: original.role,
      get content() {
        reads.count++;
        return original.content;
      },
    };
  }

  /** Few messages are not kept. */
  const LATER = Array.from({ length: 8 }, (_, index) => message('user', { text: `later ${index}` }));
  const longPrompt = (...messages: readonly Message[]) => promptOf('v4', ...messages, ...LATER);

  /** The prompt of a conversation that came before, so that it is kept. */
  function keptPrompt(...messages: readonly Message[]) {
    longPrompt(...messages);
    return longPrompt(...messages);
  }

  test('only the new tail is converted', () => {
    const reads = { count: 0 };
    const convert = promptsFor('v4');
    const messages = Array.from({ length: 100 }, () => counted(message('user', { text: 'x' }), reads));
    expect(convert(messages)).toHaveLength(100);
    const before = reads.count;
    expect(convert(messages)).toHaveLength(100);
    const once = reads.count - before;
    messages.push(counted(message('model', { text: 'y' }), reads));
    expect(convert(messages)).toHaveLength(101);
    expect(reads.count - before - once).toBe(once / 100);
  });

  test('a prompt that was handed out does not change', () => {
    const convert = promptsFor('v4');
    const messages = [message('tool', response(1))];
    const first = convert(messages);
    messages.push(message('tool', response(2)));
    const second = convert(messages);
    expect(first[0]?.content).toHaveLength(1);
    expect(second).toHaveLength(1);
    expect(second[0]?.content).toHaveLength(2);
    first.push({ role: 'system', content: 'added by a provider' });
    expect(convert(messages)).toEqual(second);
  });

  test('another array with the same messages is another conversation', () => {
    const convert = promptsFor('v4');
    const messages = [message('user', { text: 'a' }), message('user', { text: 'b' })];
    convert(messages);
    expect(convert(messages.slice(1))).toEqual([{ role: 'user', content: [{ type: 'text', text: 'b' }] }]);
  });

  test('an array that was cut or changed at its end is converted again', () => {
    const convert = promptsFor('v4');
    const messages = [message('user', { text: 'a' }), message('user', { text: 'b' })];
    convert(messages);
    messages[1] = message('user', { text: 'c' });
    expect(convert(messages)[1]?.content).toEqual([{ type: 'text', text: 'c' }]);
    messages.pop();
    expect(convert(messages)).toHaveLength(1);
  });

  test('a message that an earlier generation converted is not converted again', () => {
    const history = [
      message('user', { text: 'a' }),
      message('model', call({ to: 'Ann' })),
      message('tool', response(1)),
    ];
    const first = keptPrompt(...history);
    const second = promptOf('v4', ...history, ...LATER, message('user', { text: 'b' }));
    for (const [index, said] of first.entries()) expect(second[index]).toBe(said);
  });

  test('a replaced message is converted again, and no other', () => {
    const texts = ['a', 'b', 'c'].map((text): Message => message('model', { text }));
    const history = [message('system', { text: 'Be brief.' }), ...texts];
    const first = keptPrompt(...history);
    const second = longPrompt(
      ...history.with(0, message('system', { text: 'Be polite.' })).with(2, texts[0] as Message),
    );
    expect(second.slice(0, 4).map(({ content }) => content)).toEqual([
      'Be polite.',
      ...['a', 'a', 'c'].map((text) => [{ type: 'text', text }]),
    ]);
    expect(second[1]).toBe(first[1]);
    expect(second[3]).toBe(first[3]);
  });

  test.for<[string, Message, (message: any) => void]>([
    ['text', message('user', { text: 'a' }), ({ content }) => (content[0].text = 'b')],
    [
      'the input of a call',
      message('model', call({ to: { name: 'Ann' } })),
      ({ content }) => (content[0].toolRequest.input.to.name = 'Bob'),
    ],
    [
      'metadata',
      message('user', { text: 'a' }),
      (changed) => (changed.metadata = { providerMetadata: { openai: { a: 1 } } }),
    ],
    ['a part more', message('user', { text: 'a' }), ({ content }) => content.push({ text: 'b' })],
    [
      'another part',
      message('user', { text: 'a' }),
      ({ content }) => (content[0] = { media: { url: 'data:text/plain,b' } }),
    ],
  ])('a message that was changed in place is converted again: %s', ([, changed, change]) => {
    const history = [message('model', { text: 'Hello.' }), changed];
    const [same] = keptPrompt(...history);
    change(changed);
    const prompt = longPrompt(...history);
    expect(prompt).toEqual(longPrompt(...structuredClone(history)));
    expect(prompt[0]).toBe(same);
  });

  test('a provider may change the prompt of a conversation that comes for the first time, and changes nothing else', () => {
    const history = [
      message('user', { text: 'a' }),
      message('model', call({ to: 'Ann', lines: [{ amount: 1 }] })),
      message('tool', response({ ok: true })),
    ];
    const before = structuredClone(history);
    const prompt: any[] = longPrompt(...history);
    const whole = structuredClone(prompt);
    prompt[0].content[0].text = 'b';
    prompt[1].content[0].input.lines[0].amount = 2;
    prompt[2].content.push({});
    expect(history).toEqual(before);
    expect(longPrompt(...history)).toEqual(whole);
  });

  test('after that, a provider can change its prompt array, but no message in it, and not the conversation', () => {
    const input = { to: 'Ann', lines: [{ amount: 1 }] };
    const history = [
      message('user', { text: 'a' }),
      message('model', call(input)),
      message('tool', response({ ok: true })),
    ];
    const before = structuredClone(history);
    const prompt: any[] = keptPrompt(...history);
    const whole = structuredClone(prompt);
    expect(() => (prompt[0].content[0].text = 'b')).toThrow(TypeError);
    expect(() => (prompt[0].providerOptions = {})).toThrow(TypeError);
    expect(() => (prompt[1].content[0].input.lines[0].amount = 2)).toThrow(TypeError);
    expect(() => prompt[2].content.push({})).toThrow(TypeError);
    prompt.shift();
    prompt[0] = { role: 'system', content: 'changed' };
    expect(history).toEqual(before);
    expect(longPrompt(...history)).toEqual(whole);
  });

  test('a URL, which a provider could change, is never kept', () => {
    const linked = message('user', { media: { url: 'https://a.example/b.pdf' } });
    const [first] = longPrompt(linked);
    const [second] = longPrompt(linked);
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
  });

  test('two conversations that begin with the same message do not mix', () => {
    const first = message('user', { text: 'a' });
    const [left, right] = [message('model', { text: 'left' }), message('model', { text: 'right' })];
    const texts = (prompt: ReturnType<typeof promptOf>) => prompt.map(({ content }) => JSON.stringify(content));
    const before = texts(longPrompt(first, left));
    longPrompt(first, right, left);
    expect(texts(longPrompt(first, left))).toEqual(before);
  });

  test('nothing is kept for a conversation that is gone, even if its first message lives', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const first = message('user', { text: 'a' });
    const said = () => new WeakRef(keptPrompt(first, message('model', { text: 'b' }))[1] as object);
    const kept = said();
    for (let tries = 0; tries < 10 && kept.deref(); tries++) {
      await new Promise(setImmediate);
      collect();
    }
    expect(kept.deref()).toBeUndefined();
  });

  test('a message that cannot be converted leaves the rest in order', () => {
    const convert = promptsFor('v4');
    const messages = [message('user', { text: 'a' }), message('user', { media: { url: 'nonsense' } })];
    expect(() => convert(messages)).toThrow(expect.objectContaining({ code: 'invalid-history' }));
    messages[1] = message('user', { text: 'b' });
    expect(convert(messages)).toHaveLength(2);
  });
});
