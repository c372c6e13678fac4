// The notices of a request, by what its record says.
import { expect, test } from 'vitest';
import { type NoticedRequest, noticesOf } from './notice.ts';

const boss = { people: ['boss'] };
const progress = { escalatedTo: [], assignedTo: null, round: 1 };

type Times = Partial<Pick<NoticedRequest, 'expiresAt' | 'reminders' | 'escalate'>>;

function question(times: Times, given: Partial<NoticedRequest> = {}): NoticedRequest {
  const wait = { expiresAt: null, reminders: [], escalate: [], ...times };
  return { kind: 'approval', ...wait, createdAt: 10, settledAt: null, progress: null, settlement: null, ...given };
}

/** As `type number at key`. */
const shown = (asked: NoticedRequest, now: number): readonly string[] =>
  noticesOf(asked, now).map(({ type, number, at, key }) => [type, number, at, key].join(' '));

const times: Times = {
  reminders: [20, 40],
  escalate: [
    { at: 30, to: boss },
    { at: 50, to: 'manager' },
  ],
  expiresAt: 60,
};
const approved = { decision: { type: 'approve' }, by: 'ann', channel: 'inbox' };

test.each<[string, NoticedRequest, number, readonly string[]]>([
  ['a new question', question(times), 15, ['opened 0 10 opened']],
  ['a question about an unknown outcome', question({}, { kind: 'doubt' }), 15, ['doubt 0 10 opened']],
  ['the only reminder', question({ reminders: [20] }), 20, ['opened 0 10 opened', 'reminded 1 20 reminded-1']],
  [
    'reminders and recorded escalations, by time',
    question(times, { progress: { ...progress, escalatedTo: [boss] } }),
    59,
    ['opened 0 10 opened', 'reminded 1 20 reminded-1', 'escalated 1 30 escalated-1', 'reminded 2 40 reminded-2'],
  ],
  [
    'no reminder after the deadline',
    question({ reminders: [20, 60], expiresAt: 60 }),
    99,
    ['opened 0 10 opened', 'reminded 1 20 reminded-1'],
  ],
  [
    'a decision, and no reminder after it',
    question(times, { settledAt: 25, settlement: approved }),
    99,
    ['opened 0 10 opened', 'reminded 1 20 reminded-1', 'decided 0 25 settled'],
  ],
  [
    'a deadline that decided',
    question({}, { settledAt: 60, settlement: { decision: { type: 'reject' }, by: 'deadline', channel: null } }),
    99,
    ['opened 0 10 opened', 'expired 0 60 settled'],
  ],
  [
    'a person called deadline',
    question({}, { settledAt: 60, settlement: { ...approved, by: 'deadline' } }),
    99,
    ['opened 0 10 opened', 'decided 0 60 settled'],
  ],
  [
    'an answer that is null',
    question({}, { settledAt: 60, settlement: { ...approved, decision: null } }),
    99,
    ['opened 0 10 opened', 'decided 0 60 settled'],
  ],
  [
    'an approved call that runs',
    question({}, { settledAt: 25, settlement: approved, outcome: { state: 'running' } }),
    99,
    ['opened 0 10 opened', 'decided 0 25 settled'],
  ],
  [
    'an approved call that failed',
    question(
      {},
      { settledAt: 25, settlement: approved, outcome: { state: 'failed', at: 30, text: 'No.', mayHaveActed: true } },
    ),
    99,
    ['opened 0 10 opened', 'decided 0 25 settled', 'failed 0 30 outcome-failed'],
  ],
  [
    'a rejected call, which did not run',
    question({}, { settledAt: 25, settlement: approved, outcome: { state: 'not-run', at: 25, why: 'rejected' } }),
    99,
    ['opened 0 10 opened', 'decided 0 25 settled'],
  ],
  [
    'an approved call that asks again, because what it would do has changed',
    question({}, { settledAt: 25, settlement: approved, outcome: { state: 'not-run', at: null, why: 'changed' } }),
    99,
    ['opened 0 10 opened', 'decided 0 25 settled', 'not-run 0 25 outcome-not-run'],
  ],
  [
    'a withdrawn question',
    question({}, { settledAt: 60, settlement: {} }),
    99,
    ['opened 0 10 opened', 'withdrawn 0 60 settled'],
  ],
  [
    'the third assignment',
    question({}, { progress: { ...progress, assignedTo: 'ann', assignments: 3, assignedAt: 33 } }),
    99,
    ['opened 0 10 opened', 'assigned 0 33 assigned-ann-3'],
  ],
  [
    'an assignment that an earlier release recorded',
    question({}, { progress: { ...progress, assignedTo: 'ann' } }),
    99,
    ['opened 0 10 opened', 'assigned 0 10 assigned-ann-1'],
  ],
  [
    'a second round, with the times of the first',
    question(times, { createdAt: 35, progress: { ...progress, escalatedTo: [boss], round: 2 } }),
    45,
    ['opened 0 35 opened', 'reminded 2 40 reminded-2'],
  ],
])('%s', (_, asked, now, expected) => {
  expect(shown(asked, now)).toEqual(expected);
});

test('notices stay in their order and keep their keys as time passes', () => {
  const asked = question(times, { progress: { ...progress, escalatedTo: [boss, boss] } });
  const all = shown(asked, 99);
  for (let now = 10; now < 99; now += 1) {
    const seen = shown(asked, now);
    expect(all.filter((line) => seen.includes(line))).toEqual(seen);
  }
});
