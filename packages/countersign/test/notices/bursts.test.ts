// Bursts: many notices to one person become a few messages, and nobody is told what they decided themselves.
import type { Channel, CountersignOptions, Notice } from 'countersign';
import type { NoticePreferences } from 'countersign/store';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { desk, FINANCE, HOUR, keeping, MINUTE, notesIn, policy, SECOND } from './kit.ts';

const START = Date.UTC(2027, 0, 13, 8, 15);
// Quiet hours load it, which takes real time.
beforeAll(() => import('temporal-polyfill'));
beforeEach(() => vi.useFakeTimers({ now: START }));
afterEach(() => vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A channel that counts messages: a digest is one. `ann 200 opened` is a digest of 200 notices to ann. */
function mailing(config: object = policy({ people: ['ann', 'ben'] }), options: CountersignOptions = {}) {
  const mail = keeping('mail', { audience: 'person' });
  const messages: string[] = [];
  const personOf = (notice: Notice | undefined) => notice?.to[0]?.person;
  const { deliver } = mail.channel;
  mail.channel.deliver = async (notice, delivering) => {
    messages.push(`${personOf(notice)} ${notice.type}`);
    return (await deliver(notice, delivering)) ?? null;
  };
  mail.channel.digest = async (notices) => {
    const types = [...new Set(notices.map(({ type }) => type))].sort().join(' ');
    messages.push(`${personOf(notices[0])} ${notices.length} ${types}`);
  };
  const kit = desk({ channels: [mail.channel], people: FINANCE, ...options }, config);
  return { ...kit, messages, to: (person: string) => messages.filter((line) => line.startsWith(`${person} `)) };
}

test('201 requests and a decision about all of them are a handful of messages to each person', async () => {
  const { runs, ask, work, to, store, messages } = mailing();
  const worker = work();
  const ids: string[] = [];
  for (let run = 0; run < 201; run += 1) ids.push(await ask(`run-${run}`));
  await pass(3 * MINUTE);
  const opened = ['opened', '200 opened'];
  expect(to('ann')).toEqual(opened.map((line) => `ann ${line}`));
  expect(to('ben')).toEqual(opened.map((line) => `ben ${line}`));
  for (const id of ids) await runs.decide(id, 'reject', { by: 'ann' });
  await pass(5 * MINUTE);
  // Ann decided, so she is told nothing. Clara asked, so she is told.
  expect(to('ann')).toHaveLength(2);
  expect(to('ben').slice(2)).toEqual(['ben 201 decided']);
  expect(to('clara')).toEqual(['clara decided', 'clara 200 decided']);
  expect(messages).toHaveLength(7);
  await pass(HOUR);
  expect(messages).toHaveLength(7);
  expect(await notesIn(store, 'outbox-mail')).toBe(0);
  expect(await notesIn(store, 'bursts-mail')).toBe(0);
  await worker.stop();
}, 120_000);

test('the first comes at once, news of the same request too, and what follows waits two minutes', async () => {
  const { runs, ask, work, to } = mailing();
  const worker = work();
  const first = await ask('run-1');
  await pass(3 * SECOND);
  const second = await ask('run-2');
  await pass(3 * SECOND);
  await ask('run-3');
  await runs.decide(first, 'reject', { by: 'ann' });
  await pass(3 * SECOND);
  expect(to('ben')).toEqual(['ben opened', 'ben decided']);
  await runs.decide(second, 'reject', { by: 'ann' });
  await pass(2 * MINUTE);
  // The second request was over before anyone heard of it. One that waits alone is a message like any other.
  expect(to('ben').slice(2)).toEqual(['ben opened']);
  expect(to('ann')).toEqual(['ann opened', 'ann opened']);
  // A message that comes soon after waits for the next two minutes; one that comes later does not.
  await ask('run-4');
  await pass(3 * SECOND);
  expect(to('ann')).toHaveLength(2);
  await pass(2 * MINUTE);
  expect(to('ann')).toHaveLength(3);
  await pass(3 * MINUTE);
  await ask('run-5');
  await pass(3 * SECOND);
  expect(to('ann')).toHaveLength(4);
  await worker.stop();
});

test.each<[NoticePreferences, readonly string[]]>([
  [{ digest: 'off' }, ['ann opened', 'ann opened', 'ann opened']],
  [{ digest: 'burst' }, ['ann opened', 'ann 2 opened']],
  [{ digest: 'all' }, ['ann 3 opened']],
  [{ quiet: { from: '08:00', until: '08:20', timeZone: 'UTC' } }, ['ann 3 opened']],
])('with %j three requests are %j', async (preferences, expected) => {
  const { ai, ask, work, to } = mailing();
  await ai.notices.setPreferences('ann', preferences);
  const worker = work(MINUTE);
  for (const run of ['1', '2', '3']) await ask(run);
  await pass(HOUR);
  expect(to('ann')).toEqual(expected);
  await worker.stop();
});

test('a request that would expire before its burst ends is told at once', async () => {
  const { ask, work, to } = mailing({ ...policy({ people: ['ann'] }), expireAfter: '1m' });
  const worker = work();
  await ask('run-1');
  await pass(3 * SECOND);
  await ask('run-2');
  await pass(3 * SECOND);
  expect(to('ann')).toEqual(['ann opened', 'ann opened']);
  await worker.stop();
});

test('a first notice that failed is tried again without waiting for its burst', async () => {
  let isAway = true;
  const { ai, ask, work, to } = mailing();
  const channel = ai.notices.here.get('mail') as Channel;
  const deliver = channel.deliver.bind(channel);
  channel.deliver = async (notice, delivering) => {
    if (isAway) throw new Error('away');
    return (await deliver(notice, delivering)) ?? null;
  };
  const worker = work();
  await ask('run-1');
  await pass(3 * SECOND);
  await ask('run-2');
  isAway = false;
  await pass(MINUTE);
  expect(to('ann')).toEqual(['ann opened']);
  await pass(MINUTE + 5 * SECOND);
  expect(to('ann')).toEqual(['ann opened', 'ann opened']);
  await worker.stop();
});

test('someone who asked for a call and has no address is not a failed delivery', async () => {
  const mail = keeping('mail', { audience: 'person' }, ({ to: [to] }) => {
    const isKnown = to?.person === 'ann';
    if (!isKnown) throw Object.assign(new Error('no address'), { retryable: false, unreachable: true });
  });
  const { ai, runs, ask, work, store } = desk({ channels: [mail.channel] }, policy({ people: ['ann'] }));
  const worker = work();
  await runs.decide(await ask('run'), 'reject', { by: 'ann' });
  await pass(3 * SECOND);
  const { items } = await ai.notices.log();
  expect(items.map(({ person, type, outcome }) => `${person} ${type} ${outcome}`)).toContain(
    'clara decided unreachable',
  );
  expect((await ai.notices.dead()).items).toEqual([]);
  expect(await notesIn(store, 'outbox-mail')).toBe(0);
  await worker.stop();
});
