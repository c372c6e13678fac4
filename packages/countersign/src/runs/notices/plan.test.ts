// Which notices are due: a table of what happened, what was delivered, and what is sent.
import { expect, test } from 'vitest';
import type { NoticeType, RequestNotice } from '../../core/request/notice.ts';
import type { Entry } from './entries.ts';
import { MOST_ATTEMPTS, pauseAfter } from './outcomes.ts';
import { type Hears, planFor } from './plan.ts';

const HOUR_MS = 3_600_000;

/** `reminded-2` is the second reminder; `decided` has the key `settled`. */
function notice(key: string): RequestNotice {
  const [type = '', number = '0'] = key.split('-');
  return { key, type: type as NoticeType, number: Number(number), at: 0 };
}

const entryWith = (delivered: readonly string[], more: Partial<Entry> = {}): Entry => ({
  requestId: 'run:q',
  person: null,
  delivered: delivered.map((key) => ({ key, at: 0 })),
  ...(delivered.length > 0 && { sent: true }),
  attempts: 0,
  ...more,
});

test.each([
  ['a new request', 'opened', '', 'opened', ''],
  ['nothing new', 'opened', 'opened', '', ''],
  ['a reminder', 'opened reminded-1', 'opened', 'reminded-1', ''],
  ['reminders beside the first notice', 'opened reminded-1 reminded-2', '', 'opened', 'reminded-1 reminded-2'],
  ['several reminders', 'opened reminded-1 reminded-2', 'opened', 'reminded-2', 'reminded-1'],
  ['an escalation and a reminder', 'opened escalated-1 reminded-1', 'opened', 'escalated-1', 'reminded-1'],
  ['an assignment', 'opened assigned reminded-1', '', 'assigned', 'opened reminded-1'],
  ['the end, where it was announced', 'opened reminded-1 decided', 'opened', 'decided', 'reminded-1'],
  ['the end, where it was not', 'opened reminded-1 decided', '', '', 'opened reminded-1'],
  ['a decision whose outcome is known', 'opened decided done', 'opened', 'decided', 'done'],
  ['an outcome after the decision', 'opened decided failed', 'opened decided', 'failed', ''],
])('%s', (_, happened, delivered, send, skip) => {
  const words = (text: string) => text.split(' ').filter((word) => word !== '');
  const plan = planFor(words(happened).map(notice), entryWith(words(delivered)), false);
  expect(plan.send.map(({ key }) => key)).toEqual(words(send));
  expect(plan.skip.map(({ key }) => key)).toEqual(words(skip));
});

test('an end is told to those who hear of it in any case, and not to the person who decided', () => {
  const happened = ['opened', 'decided', 'failed'].map(notice);
  const sent = (delivered: readonly string[], hears: (key: string) => Hears) =>
    planFor(happened, entryWith(delivered), false, ({ key }) => hears(key)).send.map(({ key }) => key);
  const requester = (key: string) => (key === 'failed' ? 'always' : 'told-before');
  expect(sent([], requester)).toEqual(['failed']);
  expect(sent(['opened'], requester)).toEqual(['failed']);
  expect(sent(['opened'], () => 'never')).toEqual([]);
  expect(sent([], () => 'never')).toEqual([]);
});

test('a channel that wants everything gets everything, and a repeated delivery the last notice', () => {
  const happened = ['opened', 'reminded-1', 'decided'].map(notice);
  expect(planFor(happened, entryWith([]), true).send).toEqual(happened);
  expect(planFor(happened, entryWith(['opened'], { again: true }), true).send).toEqual([notice('decided')]);
});

test('the pauses between attempts double up to an hour, and sum up to about half a day', () => {
  const pauses = Array.from({ length: MOST_ATTEMPTS - 1 }, (_, index) => pauseAfter(index + 1, 0.5));
  expect(pauses.slice(0, 3)).toEqual([30_000, 60_000, 120_000]);
  expect(Math.max(...pauses)).toBe(HOUR_MS);
  const hours = pauses.reduce((sum, pause) => sum + pause, 0) / HOUR_MS;
  expect(hours).toBeGreaterThan(10);
  expect(hours).toBeLessThan(13);
  expect(pauseAfter(1, 0)).toBe(24_000);
  expect(pauseAfter(1, 0.5, 2 * HOUR_MS)).toBe(2 * HOUR_MS);
});
