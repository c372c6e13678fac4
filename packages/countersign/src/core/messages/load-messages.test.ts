import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { loadMessages } from './load-messages.ts';
import { isToolResponse, type Message, type Part } from './message.ts';

const user: Message = { role: 'user', content: [{ text: 'go' }] };
const model = (...content: Part[]): Message => ({ role: 'model', content });
const tool = (...content: Part[]): Message => ({ role: 'tool', content });
const request = (name: string, ref: string | undefined, metadata?: Record<string, unknown>): Part =>
  ({ toolRequest: { name, input: {}, ...(ref !== undefined && { ref }) }, ...(metadata && { metadata }) }) as Part;
const response = (name: string, ref: string | undefined, output: unknown = 1): Part =>
  ({ toolResponse: { name, output, ...(ref !== undefined && { ref }) } }) as Part;

const faultsOf = (messages: unknown): readonly string[] => {
  try {
    loadMessages(messages as Message[]);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({ code: 'invalid-history' });
    return ((error as UsageError).details.faults as { index: number; problem: string }[]).map(
      ({ index, problem }) => `${index}: ${problem}`,
    );
  }
};

describe('invalid conversations', () => {
  test.each<[string, unknown, readonly string[]]>([
    ['no array', { role: 'user' }, ['0: messages is not an array']],
    ['not an object', [null], ['0: it is not an object']],
    [
      'an unknown role',
      [{ role: 'assistant', content: [] }],
      ['0: its role is "assistant", not system, user, model or tool'],
    ],
    ['content as a text', [{ role: 'user', content: 'hi' }], ['0: its content is not an array of parts']],
    ['a part that is a text', [{ role: 'user', content: ['hi'] }], ['0: a part of its content is not an object']],
    [
      'an answer without a call',
      [user, tool(response('pay', 'a'))],
      ['1: the answer of pay follows no reply with a call'],
    ],
    [
      'an answer to another call',
      [user, model(request('pay', 'a')), tool(response('pay', 'b'))],
      ['2: the answer of pay (b) is for no call of the reply before it'],
    ],
    [
      'an answer of another tool',
      [user, model(request('pay', 'a')), tool(response('look', 'a'))],
      ['2: the answer of look (a) is for a call of pay'],
    ],
    [
      'an answer that comes twice',
      [user, model(request('pay', 'a')), tool(response('pay', 'a'), response('pay', 'a'))],
      ['2: the answer of pay (a) comes twice'],
    ],
    [
      'a call that the model passed over',
      [user, model(request('pay', 'a')), model({ text: 'hm' })],
      ['1: the call pay (a) has no answer before the next message'],
    ],
    [
      'a request in a user message',
      [{ role: 'user', content: [request('pay', 'a')] }],
      ['0: a user message cannot ask for a tool'],
    ],
    [
      'an answer in a user message',
      [{ role: 'user', content: [response('pay', 'a')] }],
      ['0: a user message cannot answer for a tool'],
    ],
    [
      'text in a tool message',
      [user, model(request('pay', 'a')), tool({ text: 'x' })],
      ['2: a tool message may hold tool responses only'],
    ],
    ['a request without a name', [model({ toolRequest: {} } as never)], ['0: a tool request has no name']],
    [
      'several faults, all told',
      [tool(response('a', '1')), { role: 'x', content: [] }],
      ['0: the answer of a follows no reply with a call', '1: its role is "x", not system, user, model or tool'],
    ],
  ])('%s', (_name, messages, faults) => {
    expect(faultsOf(messages).slice(0, faults.length)).toEqual(faults);
  });
});

describe('messages that are read back', () => {
  test('answers in any order, with and without ids, find their calls', () => {
    const calls = [request('pay', 'a'), request('pay', 'b'), request('ask', 'c'), request('pay', 'd')];
    const answers = [response('pay', 'b', 2), response('ask', undefined, 3), response('pay', undefined, 1)];
    const { state } = loadMessages([user, model(...calls), tool(...answers, response('pay', undefined, 4))]);
    const paired = (state.history.toArray()[2]?.content ?? []).filter(isToolResponse);
    expect(paired.map(({ toolResponse: { ref, output } }) => [ref, output])).toEqual([
      ['b', 2],
      ['c', 3],
      ['a', 1],
      ['d', 4],
    ]);
  });

  test('calls without ids or with duplicate ids get their own ids and keep their answers in order', () => {
    const messages = [
      user,
      model(request('ask', undefined), request('ask', undefined)),
      tool(response('ask', undefined, 'one'), response('ask', undefined, 'two')),
      user,
    ];
    const { state } = loadMessages(messages);
    const refs = state.history
      .toArray()
      .flatMap((message) =>
        message.content.flatMap((part) =>
          'toolResponse' in part ? [[part.toolResponse.ref, part.toolResponse.output]] : [],
        ),
      );
    expect(refs).toEqual([
      ['call-1-0', 'one'],
      ['call-1-1', 'two'],
    ]);
  });

  test('an answered part of a reply is settled, the rest stays open', () => {
    const { state } = loadMessages([
      user,
      model(request('a', '1'), request('b', '2')),
      tool(response('a', '1', false)),
    ]);
    expect(state.turn?.calls.map((call) => call.phase)).toEqual([
      { at: 'settled', result: { type: 'output', output: false } },
      { at: 'open' },
    ]);
  });

  test('user messages after an open call are kept apart from the history', () => {
    const { state, spoken } = loadMessages([user, model(request('a', '1', { interrupt: true })), user]);
    expect(state.turn?.calls).toHaveLength(1);
    expect(spoken).toEqual([user]);
  });

  test('a list that grew is read from where it was known, and what changed is seen', () => {
    const messages = [user, model({ text: 'one' })];
    loadMessages(messages);
    messages.push(user, tool(response('pay', 'x')));
    expect(faultsOf(messages)).toEqual(['3: the answer of pay follows no reply with a call']);
    messages.splice(0, messages.length, tool(response('pay', 'x')));
    expect(faultsOf(messages)).toEqual(['0: the answer of pay follows no reply with a call']);
  });

  test('10,000 messages and 10,000 calls in one reply are read without trouble', () => {
    const many = Array.from(
      { length: 10_000 },
      (_, index): Message => (index % 2 ? model({ text: `${index}` }) : user),
    );
    expect(loadMessages(many).state.history.length).toBe(10_000);
    const calls = Array.from({ length: 10_000 }, (_, index) => request('a', `${index}`));
    const answers = calls.map((_, index) => response('a', `${index}`));
    for (const replies of [answers, answers.toReversed()])
      expect(loadMessages([user, model(...calls), tool(...replies)]).state.refs.size).toBe(10_000);
  });

  test('turns are counted since the user last spoke, or since the limit was reached', () => {
    const turn = (ref: string) => [model(request('a', ref)), tool(response('a', ref))];
    expect(loadMessages([user, ...turn('1'), ...turn('2')]).state.turnsUsed).toBe(2);
    expect(loadMessages([user, ...turn('1'), user, ...turn('2')]).state.turnsUsed).toBe(1);
    const [asked, answered] = turn('2');
    const limit = { ...(answered as Message), metadata: { maxTurnsReached: true } };
    expect(loadMessages([user, ...turn('1'), asked as Message, limit]).state.turnsUsed).toBe(0);
  });
});
