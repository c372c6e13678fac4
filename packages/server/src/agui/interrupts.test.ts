import { expect, test } from 'vitest';
import { decisionOf } from './interrupts.ts';

const resolved = (payload?: unknown) => ({ interruptId: 'r:1@d', status: 'resolved' as const, payload });

test('a doubt needs an explicit decision, because an approval runs the call again', () => {
  const doubt = { id: 'r:1', kind: 'doubt' as const, allows: [] };
  for (const payload of [{ approved: true }, { approved: false }, true])
    expect(() => decisionOf(resolved(payload), doubt)).toThrow('Invalid payload');
  for (const decision of [
    { type: 'respond' as const, output: 0 },
    { type: 'approve' as const },
    { type: 'cancel' as const },
  ])
    expect(decisionOf(resolved({ decision, note: 'checked' }), doubt)).toEqual({ decision, note: 'checked' });
});

test('the answer to a question is the payload itself, whatever it looks like', () => {
  const allows = ['respond', 'reject'] as const;
  const question = { id: 'r:1', kind: 'question' as const, allows };
  const inBody = { id: 'r:1', kind: 'interrupt' as const, allows };
  for (const asked of [question, inBody])
    for (const output of [null, 0, '', { approved: false }, { decision: { type: 'reject' } }])
      expect(decisionOf(resolved(output), asked)).toEqual({ decision: { type: 'respond', output } });
  expect(decisionOf(resolved(), question)).toBeUndefined();
});
