import { expect, test } from 'vitest';
import { type Call, NO_STEPS } from './call.ts';
import { matchDecisions, type Resume, readResume } from './decide.ts';
import type { InterruptKind } from './event.ts';
import { newState } from './messages/load-messages.ts';

const open: Call = {
  id: 'call',
  ref: 'agent',
  name: 'agent',
  input: {},
  phase: { at: 'open' },
  pauses: 0,
  steps: NO_STEPS,
};

test('a decision on something inside a call that has not begun does not decide that call', () => {
  const part = { toolRequest: { name: 'pay', ref: 'p', input: {} }, metadata: { path: ['agent'] } };
  const { matched, leaves, faults } = matchDecisions(
    { content: [], calls: [open] },
    readResume({ approve: part }),
    () => false,
  );
  expect({ matched, leaves }).toEqual({ matched: [], leaves: [] });
  expect(faults).toEqual([{ where: 'approve[0]', problem: 'pay (p) does not wait for a decision' }]);
});

const waits = (kind: InterruptKind): Call['phase'] => ({
  at: 'waiting',
  interrupt: { id: 'asked', kind, payload: true },
});
const matched = (call: Call, resume: Resume) => {
  const { matched, faults } = matchDecisions({ content: [], calls: [call] }, readResume(resume), () => false);
  return { decided: matched.map(({ call, decision }) => [call.id, decision.type]), faults };
};

/** A payment that waits for a person inside the agent. */
const pay: Call = { ...open, id: 'inner', ref: 'p', name: 'pay', phase: waits('approval'), pauses: 1 };
const inside: NonNullable<Call['inside']> = {
  state: { ...newState(), turn: { content: [], calls: [pay] } },
  begun: true,
};
const approves = { toolRequest: { name: 'pay', ref: 'p', input: {} }, metadata: { path: ['agent'] } };
const agent = { toolRequest: { name: 'agent', ref: 'agent', input: {} } };

test('what is decided inside a call that is refused as a whole comes to nothing', () => {
  const gone: Call = { ...open, phase: waits('unavailable'), pauses: 1, inside };
  expect(matched(gone, { approve: approves })).toEqual({ decided: [['call', 'inside']], faults: [] });
  expect(matched(gone, { reject: agent, approve: approves })).toEqual({ decided: [['call', 'reject']], faults: [] });
});

test('a call that goes on by itself is not decided, but what waits inside it is', () => {
  const held: Call = { ...open, phase: { at: 'open', inner: [] }, inside };
  expect(matched(held, { approve: approves })).toEqual({ decided: [['call', 'inside']], faults: [] });
  expect(matched(held, { approve: agent })).toMatchObject({ decided: [], faults: [{ where: 'approve[0]' }] });
});

test('nothing is decided inside a call that has no inside, and it is said which', () => {
  const asks: Call = { ...open, phase: waits('approval'), pauses: 1 };
  const problem = 'pay (p) is not pending inside agent (agent)';
  expect(matched(asks, { approve: approves })).toEqual({ decided: [], faults: [{ where: 'approve[0]', problem }] });
});

test.each(['restart', 'approve', 'reject', 'cancel'] as const)(
  'an answer is not taken for another decision: %s',
  (verb) => {
    const answer = { toolResponse: { name: 'agent', ref: 'agent', output: 'yes' } };
    const asks: Call = { ...open, phase: waits('approval'), pauses: 1 };
    const problem = `agent (agent): it is a decision to respond, listed under ${verb}`;
    expect(matched(asks, { [verb]: answer })).toEqual({ decided: [], faults: [{ where: `${verb}[0]`, problem }] });
  },
);

test('who decides about a call that has finished by itself is told that it is too late', () => {
  const done: Call = { ...open, phase: { at: 'settled', result: { type: 'output', output: 1 } } };
  expect(matched(done, { approve: agent })).toMatchObject({ decided: [], faults: [{ stale: true }] });
});
