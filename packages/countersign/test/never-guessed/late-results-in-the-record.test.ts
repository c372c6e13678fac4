// How the record decides whether a late result still counts.
import { expect, test } from 'vitest';
import { type Bound, type Decision, event, type Interrupt, type Result } from '../../src/core/event.ts';
import { fold, type State } from '../../src/core/state.ts';
import {
  isAwaited,
  isStartLost,
  type LateResult,
  timesRecordedLate,
  underWay,
} from '../../src/runs/driving/late-results.ts';
import { trustedState } from '../../src/runs/questions/view.ts';
import { approved, loaded } from '../runs/approved.ts';

test('a committing body counts as under way once it committed, any other body once it started', async () => {
  const { kept, callId, started } = await approved();
  const before = await trustedState(await loaded(kept));
  expect(underWay(before)).toEqual([]);
  expect(underWay(fold(before, started))).toEqual([[callId]]);
  const about = fold(before, event({ type: 'call-started', callId, commits: true }));
  expect(underWay(about)).toEqual([]);
  expect(underWay(fold(about, event({ type: 'call-committed', callId })))).toEqual([[callId]]);
});

test('a result counts only from the process that started the body, and never for a whole sub-agent', async () => {
  const { kept, callId, started, settled } = await approved();
  const before = await trustedState(await loaded(kept));
  const ours = fold(before, started);
  const result = settled as LateResult;
  expect(isAwaited(result, ours, ours)).toBe(true);
  expect(isAwaited(result, before, before)).toBe(false);
  const agent = fold(before, event({ type: 'call-started', callId, inside: true }));
  expect(isAwaited(result, agent, agent)).toBe(false);
});

test('a start is missing from the record even if an earlier start has the same time', async () => {
  const { kept, callId, started } = await approved();
  const start = { ...started, at: 5 };
  const once = fold(await trustedState(await loaded(kept)), start);
  const twice = fold(once, start);
  expect(isStartLost([callId], once, [start])).toBe(false);
  expect(isStartLost([callId], twice, [start, start])).toBe(false);
  expect(isStartLost([callId], twice, [start])).toBe(true);
  expect(isStartLost([callId], once, [{ ...start, at: 4 }])).toBe(true);
});

/** Puts the payment in doubt. */
function doubted(state: State, callId: string, id: string, asked: Bound = {}): State {
  const interrupt: Interrupt = { id, kind: 'unknown-outcome', payload: true, ...asked };
  return fold(state, event({ type: 'call-interrupted', callId, interrupt }));
}
function decided(state: State, callId: string, interruptId: string, decision: Decision): State {
  return fold(state, event({ type: 'decision-made', callId, interruptId, decision, resumed: true }));
}

test.each([
  ['unchanged', { type: 'approve' }, {}, true],
  ['with a different input', { type: 'approve', input: { amount: 2 }, bound: {} }, {}, false],
  ['with the same input', { type: 'approve', input: {}, bound: {} }, {}, true],
  ['with an input that the schema changes', { type: 'approve' }, { runsWith: { amount: 2 } }, false],
  ['with a resume value', { type: 'restart', resumed: 'again' }, {}, false],
] as const)('a late output and an approved retry %s: %j', async (_how, decision, asked, awaited) => {
  const { kept, callId, started, settled } = await approved();
  const ours = fold(await trustedState(await loaded(kept)), started);
  const now = decided(doubted(ours, callId, 'doubt', asked), callId, 'doubt', decision);
  expect(isAwaited(settled as LateResult, ours, now)).toBe(awaited);
  const inVain = { ...settled, result: failed('It failed.') } as LateResult;
  expect(isAwaited(inVain, ours, now)).toBe(false);
  expect(isAwaited(settled as LateResult, ours, fold(now, started))).toBe(false);
});

test('a result settles the doubt about its own start and not about a later one', async () => {
  const { kept, callId, started, settled } = await approved();
  const ours = fold(await trustedState(await loaded(kept)), started);
  const doubt = doubted(ours, callId, 'doubt');
  expect(isAwaited(settled as LateResult, ours, doubt)).toBe(true);
  expect(isAwaited(settled as LateResult, ours, doubted(doubt, callId, 'doubt/2'))).toBe(false);
  // Another process started it again without asking, as it does for idempotent calls.
  expect(isAwaited(settled as LateResult, ours, fold(ours, started))).toBe(false);
  const again = fold(decided(doubt, callId, 'doubt', { type: 'approve' }), started);
  expect(isAwaited(settled as LateResult, ours, doubted(again, callId, 'doubt/2'))).toBe(false);
  expect(isAwaited(settled as LateResult, again, doubted(again, callId, 'doubt/2'))).toBe(true);
});

const failed = (text: string): Result => ({ type: 'error', text });
const late = { ...event({ type: 'call-settled', callId: 'pay', result: failed('no') }) } as LateResult;

test.each([
  ['the same result', { callId: 'pay', result: failed('no') }, 1],
  ['for another call', { callId: 'ask', result: failed('no') }, 0],
  ['for a nested call', { callId: 'pay', path: ['agent'], result: failed('no') }, 0],
  ['another failure', { callId: 'pay', result: failed('yes') }, 0],
  ['an output', { callId: 'pay', result: { type: 'output', output: 'no' } }, 0],
] as const)('counts a recorded late result only if it is the same: %s', (_what, recorded, times) => {
  expect(timesRecordedLate(late, [event({ type: 'call-ended-late', ...recorded })])).toBe(times);
});
