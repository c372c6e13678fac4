import { expect, test } from 'vitest';
import { ANYONE } from '../../core/authority/policy.ts';
import { event } from '../../core/run/event.ts';
import { Picture } from './picture.ts';

test('a turn with many questions builds each card a few times, not once per event', () => {
  const refs = Array.from({ length: 300 }, (_, index) => `c${index}`);
  let looks = 0;
  const picture = new Picture({
    chatId: 'run_1',
    tools: () => new Map(),
  });
  const content = refs.map((ref) => ({ toolRequest: { name: 'pay', ref, input: {} } }));
  const calls = refs.map((ref) => ({ id: ref, ref }));
  picture.apply(event({ type: 'model-replied', content, calls, finishReason: 'stop' }));
  for (const callId of refs) {
    const request = {
      id: callId,
      kind: 'approval' as const,
      authority: { policies: ANYONE, requesters: [] },
      bound: {},
      get shown() {
        looks += 1;
        return { payload: true };
      },
    };
    picture.apply(event({ type: 'call-interrupted', callId, request }));
  }
  for (const callId of refs)
    picture.apply(
      event({
        type: 'decision-made',
        callId,
        requestId: callId,
        decision: { type: 'approve', by: 'ann' },
        resumed: true,
      }),
    );
  const parts = picture.takeChanges().map(([part]) => part);
  const decisions = parts.flatMap((part) => ('cards' in part ? [...part.cards.values()] : []));
  expect(decisions.map(({ status, decision }) => [status, decision?.by])).toEqual(refs.map(() => ['decided', 'ann']));
  expect(looks).toBeLessThan(20 * refs.length);
});
