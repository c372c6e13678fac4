// A request into metadata, and back.
import { expect, test } from 'vitest';
import { interruptOf, KINDS } from '../request/interrupt.ts';
import { INTERRUPT_KEYS, interruptIn, interruptMetadata, withoutInterrupt } from './interrupt-metadata.ts';

const everything = {
  id: 'call/2',
  shown: {
    payload: { message: 'Sure?' },
    title: 'Pay 5',
    labels: ['money'],
    risk: 'high',
    reversibility: 'irreversible',
    notice: 'title-only',
  },
  authority: { policies: [{ deciders: { people: ['ann'] } }], requesters: ['ben'] },
  wait: { expiresAt: 9, onExpiry: 'cancel', reminders: [3, 5], escalate: [{ at: 4, to: 'manager' }] },
  bound: { runsWith: { amount: 5 } },
  previews: { preview: { value: 1 }, earlierPreview: { value: 2 } },
  answer: { answerSchema: { type: 'string' }, onReject: 'resume' },
} as const;

test.each(KINDS)('a request of the kind %s reads back as it was written', (kind) => {
  const asked = interruptOf(kind, everything);
  const metadata = JSON.parse(JSON.stringify(interruptMetadata(asked)));
  expect(interruptIn('call/2', metadata)).toEqual(asked);
  expect(withoutInterrupt({ ...metadata, callId: 'call' })).toEqual({ callId: 'call' });
});

test('a request with nothing but its payload writes nothing else', () => {
  const asked = interruptIn('call', { interrupt: true });
  expect(asked).toMatchObject({ kind: 'interrupt', shown: { payload: true } });
  expect(interruptMetadata(asked)).toEqual({ interrupt: true });
});

test('the request of a person whose answer nobody else knows has no deadline', () => {
  for (const kind of ['unknown-outcome', 'unavailable'] as const) {
    const { wait } = interruptOf(kind, everything);
    expect(wait).toEqual({ reminders: [3, 5], escalate: [{ at: 4, to: 'manager' }] });
  }
});

test('each part of a request has a key that only the engine writes', () => {
  const written = KINDS.flatMap((kind) => Object.keys(interruptMetadata(interruptOf(kind, everything))));
  expect([...new Set([...written, 'readAnew'])].sort()).toEqual([...INTERRUPT_KEYS].sort());
});
