// How the record decides whether a late result still counts.

import { expect, test } from 'vitest';
import { ANYONE } from '../../src/core/authority/policy.ts';
import type { Bound, Request } from '../../src/core/request/request.ts';
import { type Decision, event, type RunEvent } from '../../src/core/run/event.ts';
import { fold, type State } from '../../src/core/run/state.ts';
import { isAwaited, type LateResult, lateResults, underWay } from '../../src/runs/driving/late-results.ts';
import { trustedState } from '../../src/runs/requests/view.ts';
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
  expect(isAwaited(lateIn(ours, settled), ours, ours)).toBe(true);
  expect(lateResults([settled], before)).toEqual([]);
  const agent = fold(before, event({ type: 'call-started', callId, inside: true }));
  expect(lateResults([settled], agent)).toEqual([]);
});

/** The result of the payment, as the process that started it in `known` reports it. */
function lateIn(known: State, settled: RunEvent): LateResult {
  const [late] = lateResults([settled], known);
  if (!late) throw new Error('It is not a result of a started body.');
  return late;
}

/** Puts the payment in doubt. */
function doubted(state: State, callId: string, id: string, asked: Bound = {}): State {
  const shown = { payload: true };
  const authority = { policies: ANYONE, requesters: [] };
  const request: Request = { id, kind: 'doubt', shown, authority, bound: asked };
  return fold(state, event({ type: 'call-interrupted', callId, request }));
}
function decided(state: State, callId: string, requestId: string, decision: Decision): State {
  return fold(state, event({ type: 'decision-made', callId, requestId, decision, resumed: true }));
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
  expect(isAwaited(lateIn(ours, settled), ours, now)).toBe(awaited);
  const inVain = lateIn(ours, { ...settled, result: { type: 'error', text: 'It failed.' } });
  expect(isAwaited(inVain, ours, now)).toBe(false);
  expect(isAwaited(lateIn(ours, settled), ours, fold(now, started))).toBe(false);
});

test('a result settles the doubt about its own start and not about a later one', async () => {
  const { kept, callId, started, settled } = await approved();
  const ours = fold(await trustedState(await loaded(kept)), started);
  const doubt = doubted(ours, callId, 'doubt');
  expect(isAwaited(lateIn(ours, settled), ours, doubt)).toBe(true);
  expect(isAwaited(lateIn(ours, settled), ours, doubted(doubt, callId, 'doubt/2'))).toBe(false);
  // Another process started it again without asking, as it does for idempotent calls.
  expect(isAwaited(lateIn(ours, settled), ours, fold(ours, started))).toBe(false);
  const again = fold(decided(doubt, callId, 'doubt', { type: 'approve' }), started);
  expect(isAwaited(lateIn(ours, settled), ours, doubted(again, callId, 'doubt/2'))).toBe(false);
  expect(isAwaited(lateIn(again, settled), again, doubted(again, callId, 'doubt/2'))).toBe(true);
});
