import { describe, expect, test } from 'vitest';
import { ANYONE } from '../authority/policy.ts';
import { newState } from '../messages/load-messages.ts';
import { type RequestKind, requestOf } from '../request/request.ts';
import { type Call, newCall, newTurn, type SubAgent } from './call.ts';
import { findDecided, matchedOf } from './decide.ts';
import { type Resume, readResume } from './read-resume.ts';

/** The decisions in a turn with these calls. */
function decide(calls: readonly Call[], resume: Resume) {
  const { leaves, faults } = findDecided({ ...newState(), turn: newTurn([], calls) }, readResume(resume));
  return { leaves, faults, matched: matchedOf(leaves) };
}

const open: Call = newCall({ id: 'call', ref: 'agent' }, 'agent', {});

test('a decision inside a call that has not begun does not decide that call', () => {
  const part = { toolRequest: { name: 'pay', ref: 'p', input: {} }, metadata: { path: ['agent'] } };
  const { matched, leaves, faults } = decide([open], { approve: part });
  expect({ matched, leaves }).toEqual({ matched: [], leaves: [] });
  expect(faults).toEqual([{ where: 'approve[0]', problem: 'pay (p) does not wait for a decision' }]);
});

const ASKED = { shown: { payload: true }, authority: { policies: ANYONE, requesters: [] }, bound: {} } as const;
const waits = (kind: RequestKind): Call['phase'] => ({
  at: 'waiting',
  request: requestOf(kind, { id: 'asked', ...ASKED }),
});
const matched = (call: Call, resume: Resume) => {
  const { matched, faults } = decide([call], resume);
  return { decided: matched.map(({ call, decision }) => [call.id, decision.type]), faults };
};

/** A payment that waits for a person inside the agent. */
const pay: Call = { ...open, id: 'inner', ref: 'p', name: 'pay', phase: waits('approval'), pauses: 1 };
const subAgent: SubAgent = {
  recorded: { state: { ...newState(), turn: newTurn([], [pay]) }, begun: true },
};
const approves = { toolRequest: { name: 'pay', ref: 'p', input: {} }, metadata: { path: ['agent'] } };
const agent = { toolRequest: { name: 'agent', ref: 'agent', input: {} } };

test('rejecting a call discards decisions inside its sub-agent', () => {
  const gone: Call = { ...open, phase: waits('unavailable'), pauses: 1, subAgent };
  expect(matched(gone, { approve: approves })).toEqual({ decided: [['call', 'inside']], faults: [] });
  expect(matched(gone, { reject: agent, approve: approves })).toEqual({ decided: [['call', 'reject']], faults: [] });
});

test('a held call cannot be decided, but the questions of its sub-agent can', () => {
  const held: Call = { ...open, phase: { at: 'sub-agent-held', messages: [] }, subAgent };
  expect(matched(held, { approve: approves })).toEqual({ decided: [['call', 'inside']], faults: [] });
  expect(matched(held, { approve: agent })).toMatchObject({ decided: [], faults: [{ where: 'approve[0]' }] });
});

test('a decision inside a call without a sub-agent is refused', () => {
  const asks: Call = { ...open, phase: waits('approval'), pauses: 1 };
  const problem = 'pay (p) is not pending inside agent (agent)';
  expect(matched(asks, { approve: approves })).toEqual({ decided: [], faults: [{ where: 'approve[0]', problem }] });
});

test.each(['restart', 'approve', 'reject', 'cancel'] as const)(
  'an answer does not count as another decision: %s',
  (verb) => {
    const answer = { toolResponse: { name: 'agent', ref: 'agent', output: 'yes' } };
    const asks: Call = { ...open, phase: waits('approval'), pauses: 1 };
    const problem = `agent (agent): it is a decision to respond, listed under ${verb}`;
    expect(matched(asks, { [verb]: answer })).toEqual({ decided: [], faults: [{ where: `${verb}[0]`, problem }] });
  },
);

test('a decision on a finished call is reported as stale', () => {
  const done: Call = { ...open, phase: { at: 'settled', result: { type: 'output', output: 1 } } };
  expect(matched(done, { approve: agent })).toMatchObject({ decided: [], faults: [{ stale: true }] });
});

describe('the work grows with the number of decisions, not with its square', () => {
  const count = 5_000;
  const refs = Array.from({ length: count }, (_, index) => `p${index}`);

  /** Payments that wait for a person and count how often they are looked at. */
  function countedPayments() {
    let looks = 0;
    const calls = refs.map(
      (ref): Call => ({
        ...pay,
        id: ref,
        phase: { at: 'waiting', request: { id: ref, kind: 'approval', ...ASKED } },
        get ref() {
          looks += 1;
          return ref;
        },
      }),
    );
    return { calls, looks: () => looks };
  }
  const approveAll = (path?: readonly string[]): Resume => ({
    approve: refs.map((ref) => ({ toolRequest: { name: 'pay', ref, input: {} }, ...(path && { metadata: { path } }) })),
  });

  test('decisions at the root', () => {
    const { calls, looks } = countedPayments();
    const { matched, faults } = decide(calls, approveAll());
    expect([matched.length, faults]).toEqual([count, []]);
    expect(looks()).toBeLessThan(10 * count);
  });

  test('decisions in a sub-agent', () => {
    const { calls, looks } = countedPayments();
    const state = { ...newState(), turn: newTurn([], calls) };
    const call: Call = { ...open, subAgent: { recorded: { state, begun: true } } };
    const { leaves, matched } = decide([call], approveAll(['agent']));
    expect([leaves.length, matched.length]).toEqual([count, 1]);
    expect(looks()).toBeLessThan(10 * count);
  });
});
