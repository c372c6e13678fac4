// A request into metadata, and back.
import { expect, test } from 'vitest';
import { KINDS, requestOf } from '../request/request.ts';
import { REQUEST_KEYS, requestIn, waitingMetadata, withoutRequest } from './request-metadata.ts';

const everything = {
  id: 'call/2',
  shown: {
    payload: { message: 'Sure?' },
    title: 'Pay 5',
    agentReason: 'It is due.',
    labels: ['money'],
    risk: 'high',
    reversibility: 'irreversible',
    hasUndo: true,
    notice: 'title-only',
    commentsForModel: true,
    doubt: { idempotencyKey: 'call_1' },
    previous: { requestId: 'run:call', input: { amount: 9 }, comment: 'Less.', by: 'ann', round: 1 },
    reviews: [{ findings: [{ level: 'warning', text: 'New payee.' }] }],
    origins: [{ field: ['amount'], from: 'tool', tool: 'lookUp', call: 'call_0' }],
  },
  authority: { policies: [{ deciders: { people: ['ann'] } }], requesters: ['ben'] },
  wait: { expiresAt: 9, onExpiry: 'cancel', reminders: [3, 5], escalate: [{ at: 4, to: 'manager' }] },
  bound: { runsWith: { amount: 5 } },
  previews: { preview: { value: 1 }, earlierPreview: { value: 2 } },
  answer: { answerSchema: { type: 'string' }, onReject: 'resume' },
} as const;

test.each(KINDS)('a request of the kind %s reads back as it was written', (kind) => {
  const asked = requestOf(kind, everything);
  const metadata = JSON.parse(JSON.stringify(waitingMetadata(asked)));
  expect(requestIn('call/2', metadata)).toEqual(asked);
  expect(withoutRequest({ ...metadata, callId: 'call' })).toEqual({ callId: 'call' });
});

test('a request with nothing but its payload writes nothing else', () => {
  const asked = requestIn('call', { interrupt: true });
  expect(asked).toMatchObject({ kind: 'interrupt', shown: { payload: true } });
  expect(waitingMetadata(asked)).toEqual({ interrupt: true });
});

test('the request of a person whose answer nobody else knows has no deadline', () => {
  for (const kind of ['doubt', 'unavailable'] as const) {
    const { wait } = requestOf(kind, everything);
    expect(wait).toEqual({ reminders: [3, 5], escalate: [{ at: 4, to: 'manager' }] });
  }
});

test('each part of a request has a key that only the engine writes', () => {
  const written = KINDS.flatMap((kind) => Object.keys(waitingMetadata(requestOf(kind, everything))));
  expect([...new Set([...written, 'readAnew'])].sort()).toEqual([...REQUEST_KEYS].sort());
});
