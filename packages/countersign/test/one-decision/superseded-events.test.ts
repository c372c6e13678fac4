// Which events may still be recorded after another process wrote first.

import { expect, test } from 'vitest';
import { requestIn } from '../../src/core/messages/request-metadata.ts';
import { event, type RunEvent } from '../../src/core/run/event.ts';
import { fold, type State } from '../../src/core/run/state.ts';
import { dropAfterEnd, isSuperseded } from '../../src/runs/journal/drop-superseded.ts';
import { trustedState } from '../../src/runs/requests/view.ts';
import { approved, loaded } from '../runs/approved.ts';

/** Starts the approved payment. The question beside it stays pending. */
async function begun() {
  const { kept, callId, started, settled, step } = await approved();
  const before = await trustedState(await loaded(kept));
  const asks = before.turn?.calls[1];
  if (asks?.phase.at !== 'waiting') throw new Error('Expected a question.');
  const { id: requestId } = asks.phase.request;
  const cancels = event({
    type: 'decision-made',
    callId: asks.id,
    requestId,
    decision: { type: 'cancel' },
    resumed: true,
  });
  const cancelled = event({ type: 'call-settled', callId: asks.id, result: { type: 'cancelled', text: 'No.' } });
  return { before, state: fold(before, started), callId, started, settled, step, cancels, cancelled };
}

const asked = (callId: string): RunEvent =>
  event({
    type: 'call-interrupted',
    callId,
    request: requestIn('more', { interrupt: true }),
  });
const committed = (callId: string): RunEvent => event({ type: 'call-committed', callId });
const held = (callId: string): RunEvent => event({ type: 'call-held', callId, inner: [] });

test('a call with a result cannot be started, asked about, held, decided or settled again', async () => {
  const { state, callId, started, settled, step, cancels } = await begun();
  const decides = { ...cancels, callId } as RunEvent;
  const over = fold(state, settled);
  for (const late of [started, asked(callId), held(callId), decides, settled]) {
    expect([late.type, isSuperseded(late, over)]).toEqual([late.type, true]);
    expect([late.type, isSuperseded(late, state)]).toEqual([late.type, false]);
  }
  // Its steps and its commit point did happen, and are recorded.
  for (const done of [step('one'), committed(callId)])
    expect([done.type, isSuperseded(done, over)]).toEqual([done.type, false]);
});

const replied = event({
  type: 'model-replied',
  content: ['one', 'two'].map((ref) => ({ toolRequest: { name: 'pay', ref, input: {} } })),
  calls: ['one', 'two'].map((ref) => ({ id: `call-${ref}`, ref })),
  finishReason: 'toolCalls',
} as never);

/** Turns the call into a sub-agent with two pending payments inside. */
function agent(state: State, callId: string): State {
  const inside = ['one', 'two'].map((ref) => asked(`call-${ref}`));
  return [
    event({ type: 'call-started', callId, inside: true }),
    event({ type: 'call-went-on', callId, inside: [replied, ...inside] }),
  ].reduce(fold, state);
}

function decidesInside(callId: string, ...refs: readonly string[]): RunEvent {
  const reject = { type: 'reject' } as const;
  const decisions = refs.map((ref) => ({ on: { path: [], name: 'pay', ref }, decision: reject }));
  const decision = { type: 'inside', decisions, decided: [] } as const;
  return event({ type: 'decision-made', callId, requestId: callId, decision, resumed: true });
}

test('a decision on two nested questions is dropped if one of them was decided first', async () => {
  const { before, callId } = await begun();
  const state = agent(before, callId);
  expect(isSuperseded(decidesInside(callId, 'one', 'two'), state)).toBe(false);
  const decided = fold(state, decidesInside(callId, 'one'));
  expect(isSuperseded(decidesInside(callId, 'two'), decided)).toBe(false);
  expect(isSuperseded(decidesInside(callId, 'one'), decided)).toBe(true);
  expect(isSuperseded(decidesInside(callId, 'one', 'two'), decided)).toBe(true);
});

function left(state: State, ...events: readonly RunEvent[]): readonly RunEvent[] {
  const list = [...events];
  dropAfterEnd(list, state);
  return list;
}

test('after the run ended, only the work of a started body is recorded', async () => {
  const { before, state, callId, started, settled, step, cancels, cancelled } = await begun();
  const did = [step('one'), committed(callId), settled];
  expect(left(state, ...did)).toEqual(did);
  expect(left(before, ...did)).toEqual([]);
  expect(left(state, started, asked(callId), held(callId), cancels, cancelled)).toEqual([]);
});

test('after the run ended, only the work of a started body inside a sub-agent is recorded', async () => {
  const { before, callId } = await begun();
  const starts = event({ type: 'call-started', callId: 'call-one' });
  const nested = (...inside: readonly RunEvent[]) => event({ type: 'call-went-on', callId, inside });
  const state = fold(agent(before, callId), nested(starts));
  const settled = (ref: string) =>
    event({ type: 'call-settled', callId: `call-${ref}`, result: { type: 'output', output: 'paid' } });
  expect(left(state, nested(settled('one'), settled('two')))).toEqual([nested(settled('one'))]);
  expect(left(state, nested(starts, asked('call-one')))).toEqual([]);
});
