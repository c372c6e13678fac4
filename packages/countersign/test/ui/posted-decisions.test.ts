// A table of the decisions in a post: a part in the browser, the pending question, the decision.

import { expect, test } from 'vitest';
import { requestIn } from '../../src/core/messages/request-metadata.ts';
import type { RequestKind } from '../../src/core/request/request.ts';
import type { PendingCard } from '../../src/runs/requests/card.ts';
import { readPost } from '../../src/ui/http/post.ts';
import { postedDecisions } from '../../src/ui/http/posted-decisions.ts';

const KEY = 'chat-1:call_1';

function pending(kind: RequestKind, path?: readonly string[]): ReadonlyMap<string, PendingCard> {
  const part = { toolRequest: { name: 'pay', ref: 'c1', input: {} }, ...(path && { metadata: { path } }) };
  const request = requestIn('call_1', { interrupt: true, interruptKind: kind });
  return new Map([[KEY, { id: 'call_1', part, tool: 'pay', request }]]);
}

function decided(part: object, kind: RequestKind, path?: readonly string[]) {
  const message = { id: 'm', role: 'assistant', parts: [{ type: 'tool-pay', toolCallId: 'c1', ...part }] };
  const { decisions, problems } = postedDecisions(readPost({ id: 'chat-1', messages: [message] }), pending(kind, path));
  return { decisions: decisions.map(({ decision }) => decision), problems: [...problems.keys()] };
}

const approval = (approved: boolean, reason?: string) => ({
  state: 'approval-responded',
  approval: { id: KEY, approved, ...(reason !== undefined && { reason }) },
});
const output = (value: unknown) => ({ state: 'output-available', output: value });

test.each([
  ['yes to an approval', approval(true), 'approval', { type: 'approve' }],
  ['no to an approval', approval(false), 'approval', { type: 'reject' }],
  ['no with a reason', approval(false, 'too much'), 'approval', { type: 'reject', reason: 'too much' }],
  ['yes to what a body asked', approval(true), 'interrupt', { type: 'approve' }],
  ['the yes of the recipe', output('Yes, confirmed.'), 'approval', { type: 'approve' }],
  ['the no of the recipe', output('No, denied.'), 'approval', { type: 'reject' }],
  ['an answer', output('red'), 'question', { type: 'respond', output: 'red' }],
  ['a falsy answer', output(0), 'question', { type: 'respond', output: 0 }],
  ['null as an answer', output(null), 'question', { type: 'respond', output: null }],
  [
    'the yes of the recipe as an answer',
    output('Yes, confirmed.'),
    'question',
    { type: 'respond', output: 'Yes, confirmed.' },
  ],
  [
    'an answer that failed',
    { state: 'output-error', errorText: 'no idea' },
    'question',
    { type: 'reject', reason: 'no idea' },
  ],
  ['no to an unknown outcome', approval(false), 'doubt', { type: 'cancel' }],
] as const)('%s is a decision', (_name, part, kind, decision) => {
  expect(decided(part, kind)).toEqual({ decisions: [decision], problems: [] });
});

test.each([
  ['a plain yes to an unknown outcome', approval(true), 'doubt'],
  ['a made-up output of an unknown outcome', output({ ok: true }), 'doubt'],
  ['a made-up output of an approval', output({ ok: true }), 'approval'],
  ['a yes to a question', approval(true), 'question'],
] as const)('%s is reported as not a decision', (_name, part, kind) => {
  expect(decided(part, kind)).toEqual({ decisions: [], problems: [KEY] });
});

test.each([
  ['an approval that was not answered', { state: 'approval-requested', approval: { id: KEY } }],
  ['an approval of something else', { state: 'approval-responded', approval: { id: 'chat-1:other', approved: true } }],
  ['an approval that is neither yes nor no', { state: 'approval-responded', approval: { id: KEY, approved: 'yes' } }],
  ['an output of another call', { ...output('x'), toolCallId: 'c2' }],
  ['an input', { state: 'input-available', input: {} }],
] as const)('%s decides nothing', (_name, part) => {
  expect(decided(part, 'approval')).toEqual({ decisions: [], problems: [] });
});

test('a call inside a sub-agent is found by its path', () => {
  expect(decided({ ...output('red'), toolCallId: 's1/c1' }, 'question', ['s1']).decisions).toHaveLength(1);
  expect(decided(output('red'), 'question', ['s1']).decisions).toHaveLength(0);
});

test('of two decisions on one question the explicit one counts', () => {
  const message = { id: 'm', role: 'assistant', parts: [{ type: 'tool-pay', toolCallId: 'c1', ...approval(true) }] };
  const explicit = [{ requestId: KEY, decision: { type: 'reject' } }];
  const post = readPost({ id: 'chat-1', messages: [message], decisions: explicit });
  expect(postedDecisions(post, pending('approval')).decisions).toEqual(explicit);
});

test('of several explicit decisions on one question the first counts', () => {
  const decisions = ['reject', 'approve'].map((type) => ({ requestId: KEY, decision: { type } }));
  expect(postedDecisions(readPost({ id: 'chat-1', decisions }), pending('approval')).decisions).toEqual([decisions[0]]);
});

test.each([
  ['the question that waits', ['c1', 'c1/2'], { decisions: ['approve'], problems: [] }],
  ['an earlier question', ['c1'], { decisions: [], problems: [] }],
  // It may be the answer to an earlier question, posted again.
  ['no question', [], { decisions: [], problems: ['chat-1:c1/2'] }],
])('if a call asks again, an output belongs to %s that the message shows', (_name, shown, expected) => {
  const part = { toolRequest: { name: 'pay', ref: 'c1', input: {} }, metadata: { pauses: 2 } };
  const request = requestIn('c1/2', { interrupt: true });
  const card = { id: 'c1/2', part, tool: 'pay', request };
  const cards = shown.map((id) => {
    const key = `chat-1:${id}`;
    return { type: 'data-request', id: key, data: { id: key, toolCallId: 'c1' } };
  });
  const parts = [{ type: 'tool-pay', toolCallId: 'c1', ...output('Yes, confirmed.') }, ...cards];
  const post = readPost({ id: 'chat-1', messages: [{ id: 'm', role: 'assistant', parts }] });
  const { decisions, problems } = postedDecisions(post, new Map([['chat-1:c1/2', card]]));
  expect({
    decisions: decisions.map(({ decision }) => (decision as { type: string }).type),
    problems: [...problems.keys()],
  }).toEqual(expected);
});
