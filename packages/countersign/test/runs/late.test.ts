// What is read from the record about results that come late.
import { expect, test } from 'vitest';
import { event, type Result } from '../../src/core/event.ts';
import { fold } from '../../src/core/state.ts';
import { isAwaited, type LateResult, timesToldLate, underWay } from '../../src/runs/late.ts';
import { trustedState } from '../../src/runs/view.ts';
import { approved, loaded } from './approved.ts';

test('a body that commits may have acted once it has committed, and others as soon as they are started', async () => {
  const { kept, callId, started } = await approved();
  const before = trustedState(await loaded(kept));
  expect(underWay(before)).toEqual([]);
  expect(underWay(fold(before, started))).toEqual([[callId]]);
  const about = fold(before, event({ type: 'call-started', callId, commits: true }));
  expect(underWay(about)).toEqual([]);
  expect(underWay(fold(about, event({ type: 'call-committed', callId })))).toEqual([[callId]]);
});

test('a result is awaited only from who has started the body, and not from an agent that others go on with', async () => {
  const { kept, callId, started, settled } = await approved();
  const before = trustedState(await loaded(kept));
  const ours = fold(before, started);
  const result = settled as LateResult;
  expect(isAwaited(result, ours, ours)).toBe(true);
  expect(isAwaited(result, before, before)).toBe(false);
  const agent = fold(before, event({ type: 'call-started', callId, inside: true }));
  expect(isAwaited(result, agent, agent)).toBe(false);
});

const failed = (text: string): Result => ({ type: 'error', text });
const late = { ...event({ type: 'call-settled', callId: 'pay', result: failed('no') }) } as LateResult;

test.each([
  ['just this', { callId: 'pay', result: failed('no') }, 1],
  ['of another call', { callId: 'ask', result: failed('no') }, 0],
  ['of a call inside another', { callId: 'pay', path: ['agent'], result: failed('no') }, 0],
  ['another failure', { callId: 'pay', result: failed('yes') }, 0],
  ['an output', { callId: 'pay', result: { type: 'output', output: 'no' } }, 0],
] as const)('that it came late is on record only where it is %s', (_what, told, times) => {
  expect(timesToldLate(late, [event({ type: 'call-ended-late', ...told })])).toBe(times);
});
