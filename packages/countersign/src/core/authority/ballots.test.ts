// Ballots: events about a request in, its progress out.
import { expect, test } from 'vitest';
import { newState } from '../messages/load-messages.ts';
import { mentionsIn } from '../request/comment.ts';
import { type BallotEvent, event, type RunEvent } from '../run/event.ts';
import { fold } from '../run/state.ts';
import { progressOf, roundId } from './ballots.ts';
import { knowsPolicies } from './known-policies.ts';
import type { Vote } from './policy.ts';

const anna: Vote = { by: 'anna', decision: { type: 'approve' } };
const ben: Vote = { by: 'ben', decision: { type: 'approve', edit: 5 }, at: 7 };
const asked = { shown: { payload: true }, policies: [{}] } as const;
const cast = (vote: Vote, edit?: { input: number }): RunEvent =>
  event({ type: 'vote-cast', requestId: 'q', vote, ...(edit && { edit: { ...edit, asked } }) });
const after = (...events: readonly RunEvent[]) => events.reduce(fold, newState());

test('votes are kept in their order, by the id of their question', () => {
  const state = after(cast(anna), cast(ben));
  expect(progressOf(state, 'q')).toMatchObject({ votes: [anna, ben], round: 1 });
  expect(progressOf(state, 'other')).toEqual({ votes: [], round: 1, escalatedTo: [] });
});

test('an edit that does not settle begins the next round, and a card of its own', () => {
  const { round, edit, votes } = progressOf(after(cast(anna), cast(ben, { input: 5 })), 'q');
  expect({ round, edit }).toEqual({ round: 2, edit: { input: 5, asked, by: 'ben', at: 7 } });
  expect(votes).toEqual([anna, ben]);
  expect([roundId('q', 1), roundId('q', 2)]).toEqual(['q', 'q~2']);
});

test('escalation, assignment and a policy that is applied again', () => {
  const policies = [{ deciders: { people: ['anna'] } }] as const;
  const facts: readonly RunEvent[] = [
    event({ type: 'request-escalated', requestId: 'q', to: { roles: ['manager'] } }),
    event({ type: 'request-assigned', requestId: 'q', to: 'anna', by: 'ben' }),
    event({ type: 'policy-applied', requestId: 'q', policies, escalate: [], by: 'ben' }),
  ];
  expect(progressOf(after(...facts.slice(0, 2)), 'q')).toMatchObject({ escalatedTo: [{ roles: ['manager'] }] });
  // Whom the policies before were escalated to does not count for these.
  expect(progressOf(after(...facts), 'q')).toMatchObject({ escalatedTo: [], assignedTo: 'anna', policies });
  const freed = after(...facts, event({ type: 'request-assigned', requestId: 'q', to: null, by: 'ben' }));
  expect(progressOf(freed, 'q')).not.toHaveProperty('assignedTo');
  const again = { ...event({ type: 'request-assigned', requestId: 'q', to: 'anna', by: 'ben' }), at: 7 };
  expect(progressOf(fold(freed, again), 'q')).toMatchObject({ assignedTo: 'anna', assignments: 2, assignedAt: 7 });
});

test('the newest comments are kept with their numbers; they change nothing else', () => {
  const said = (number: number): RunEvent => ({
    ...event({ type: 'request-commented', requestId: 'q', by: 'ben', text: `No. ${number}` }),
    at: number,
  });
  const many = Array.from({ length: 25 }, (_, index) => said(index + 1));
  const { comments = [], ...rest } = progressOf(after(cast(anna), ...many), 'q');
  expect(rest).toEqual(progressOf(after(cast(anna)), 'q'));
  expect(comments).toHaveLength(20);
  expect(comments.at(-1)).toEqual({ number: 25, by: 'ben', text: 'No. 25', mentions: [], at: 25 });
  // An edit begins a new round of the same request.
  expect(progressOf(after(...many.slice(0, 1), cast(ben, { input: 5 })), 'q')).toMatchObject({
    round: 2,
    comments: [{ by: 'ben' }],
  });
});

test.each([
  ['@ann please look, @ben: and you?', ['ann', 'ben']],
  ['Ask (@ann@example.com).', ['ann@example.com']],
  ['@ann @ann', ['ann']],
  ['mail ann@example.com, or @', []],
])('the people whom %s names', (text, people) => {
  expect(mentionsIn(text)).toEqual(people);
});

test('a policy of a later release is not known here', () => {
  const applied = (policy: object) =>
    knowsPolicies(
      event({ type: 'policy-applied', requestId: 'q', policies: [{}, policy], escalate: [], by: null }) as BallotEvent,
    );
  expect(applied({ veto: 'any', deciders: { people: [] } })).toBe(true);
  expect([applied({ veto: 'two-thirds' }), applied({ sortition: true })]).toEqual([false, false]);
});
