// Who is told on channels for each person, what they want to be told, and what is kept from them.
import { type Channel, type CountersignOptions, type Notice, z } from 'countersign';
import type { NoticePreferences } from 'countersign/store';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { desk, FINANCE, HOUR, keeping, MINUTE, notesIn, policy, SECOND } from './kit.ts';

// A quarter past eight in the morning, UTC. Fakes every clock and timer of this process.
const START = Date.UTC(2027, 0, 13, 8, 15);
beforeEach(() => vi.useFakeTimers({ now: START }));
afterEach(() => vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function mailing(config: object, options: CountersignOptions = {}) {
  const mail = keeping('mail', { audience: 'person' });
  return { mail, ...desk({ channels: [mail.channel], people: FINANCE, ...options }, config) };
}

const told = (notices: readonly Notice[]) =>
  notices
    .map(({ type, to: [to] }) => `${to?.person} ${type} ${to?.why}${to?.onBehalfOf ? ` for ${to.onBehalfOf}` : ''}`)
    .sort();

test('the people and roles that the policy names are told, each with their address, and they and who asked hear the end', async () => {
  const { mail, runs, ask, work, store } = mailing(policy({ people: ['cem'], roles: ['finance'] }));
  const worker = work();
  const id = await ask('run');
  await pass(3 * SECOND);
  expect(told(mail.notices)).toEqual(['ann opened decider', 'ben opened decider', 'cem opened decider']);
  expect(mail.notices.map(({ to }) => to[0]?.contact.mail).sort()).toEqual(
    ['ann', 'ben', 'cem'].map((person) => `${person}@example.com`),
  );
  expect(new Set(mail.notices.map(({ key }) => key)).size).toBe(3);
  await runs.decide(id, 'approve', { by: 'ann' });
  await pass(3 * SECOND);
  expect(told(mail.notices.slice(3))).toEqual([
    'ben decided told-before',
    'cem decided told-before',
    'clara done requester',
  ]);
  expect(await notesIn(store, 'outbox-mail')).toBe(0);
  await worker.stop();
});

test('only the groups that are missing a vote are told, and not people who voted or started the run', async () => {
  const quorum = [
    { of: { people: ['ann', 'clara'] }, count: 1 },
    { of: { people: ['boss'] }, count: 1, when: [{ field: 'amount', above: 1_000 }] },
    { of: { people: ['cem', 'dan'] }, count: 2 },
  ];
  const inputSchema = z.object({ amount: z.number() });
  const { mail, runs, ask, work } = mailing({
    inputSchema,
    needsApproval: { policy: { quorum, notRequester: true } },
    remind: ['10m'],
  });
  const worker = work();
  const id = await ask('run');
  await pass(3 * SECOND);
  const first = told(mail.notices);
  expect(first).toEqual(['ann opened decider', 'cem opened decider', 'dan opened decider']);
  await runs.decide(id, 'approve', { by: 'ann' });
  await runs.decide(id, 'approve', { by: 'cem' });
  await pass(11 * MINUTE);
  expect(told(mail.notices.slice(3))).toEqual(['dan reminded decider']);
  await worker.stop();
});

test('an assigned request is told to its assignee only', async () => {
  const { mail, runs, ask, work } = mailing({ ...policy({ people: ['ann', 'ben'] }), remind: ['10m'] });
  const id = await ask('run');
  await runs.assign(id, { to: 'ben', by: 'ann' });
  const worker = work();
  await pass(3 * SECOND);
  expect(told(mail.notices)).toEqual(['ben assigned assignee']);
  await runs.assign(id, { to: 'ann', by: 'ben' });
  await pass(11 * MINUTE);
  expect(told(mail.notices.slice(1))).toEqual(['ann assigned assignee', 'ann reminded assignee']);
  await worker.stop();
});

test('people who join later hear of a request at its next change, and others hear nothing twice', async () => {
  const members = ['ann'];
  const { mail, runs, ask, work } = mailing(policy({ people: ['cem'], roles: ['finance'] }), {
    people: { membersOf: () => members },
  });
  const id = await ask('run');
  await runs.assign(id, { to: 'cem', by: 'boss' });
  const worker = work();
  await pass(3 * SECOND);
  expect(told(mail.notices)).toEqual(['cem assigned assignee']);
  members.push('ben');
  await runs.assign(id, { to: null, by: 'cem' });
  await pass(3 * SECOND);
  expect(told(mail.notices.slice(1))).toEqual(['ann opened decider', 'ben opened decider']);
  await worker.stop();
});

test('the delegate of an absent person is told in their place', async () => {
  const { mail, ai, ask, work } = mailing(policy({ people: ['ann', 'ben'] }));
  await ai.people.absent('ann', { delegate: 'dan', until: START + 24 * HOUR, by: 'admin' });
  const worker = work();
  await ask('run');
  await pass(3 * SECOND);
  expect(told(mail.notices)).toEqual(['ben opened decider', 'dan opened delegate for ann']);
  await worker.stop();
});

test.each([
  ['people', ['eve']],
  ['people and roles', { people: ['eve'], roles: ['nobody'] }],
])('a request that names nobody is told to everyone, given as %s', async (_, everyone) => {
  const { mail, ask, work } = mailing({ needsApproval: true }, { notify: { everyone } });
  const worker = work();
  await ask('run');
  await pass(3 * SECOND);
  expect(told(mail.notices)).toEqual(['eve opened everyone']);
  await worker.stop();
});

test('a person who may not read the request is not told, and the log says so', async () => {
  const { mail, ai, runs, ask, work } = mailing(policy({ people: ['ann', 'ben'] }));
  ai.notices.host({
    mayRead: ({ runId }, person) => runId === 'run' && person !== 'ann',
    links: async ({ id }, { channel, recipient }) => ({
      request: `https://inbox/${id}`,
      decide: `${channel}/${recipient?.person ?? null}`,
    }),
  });
  const worker = work();
  const id = await ask('run');
  await pass(3 * SECOND);
  await runs.decide(id, 'approve', { by: 'ann' });
  await pass(3 * SECOND);
  expect(told(mail.notices)).toEqual(['ben decided told-before', 'ben opened decider', 'clara done requester']);
  expect(mail.notices[0]?.links).toEqual({ request: `https://inbox/${id}`, decide: 'mail/ben' });
  const { items } = await ai.notices.log();
  expect(items.map(({ person, type, outcome }) => `${person} ${type} ${outcome}`)).toContain('ann opened refused');
  await worker.stop();
});

test('a failing directory is asked again', async () => {
  let isAway = true;
  const membersOf = () => {
    if (isAway) throw new Error('the directory is away');
    return ['ann'];
  };
  const { mail, ai, ask, work } = mailing(policy({ roles: ['finance'] }), { people: { membersOf } });
  const worker = work();
  await ask('run').catch(() => undefined);
  await pass(3 * SECOND);
  expect((await ai.notices.channels())[0]).toMatchObject({ waiting: 1, lastError: 'the directory is away' });
  isAway = false;
  await pass(MINUTE);
  expect(told(mail.notices)).toEqual(['ann opened decider']);
  await worker.stop();
});

test('a tool keeps its input out of notices, and what was decided about it', async () => {
  const log = keeping('log', { all: true });
  const { ai, runs, ask, work } = desk(
    { channels: [log.channel] },
    {
      needsApproval: true,
      notice: 'title-only',
      title: 'Pay an invoice',
      inputSchema: z.object({ amount: z.number() }),
    },
  );
  expect(ai).toBeDefined();
  const worker = work();
  const id = await ask('run');
  await runs.decide(id, { type: 'approve', edit: { amount: 4_711 } }, { by: 'ann', note: 'the secret discount' });
  await pass(3 * SECOND);
  expect(log.notices).toMatchObject([
    { type: 'opened', title: 'Pay an invoice', card: null },
    { type: 'decided', title: 'Pay an invoice', card: null, settlement: { by: 'ann', decision: { type: 'approve' } } },
    { type: 'done', title: 'Pay an invoice', card: null, outcome: { state: 'done', text: null } },
  ]);
  expect(JSON.stringify(log.notices)).not.toMatch(/950|4711|secret/);
  await worker.stop();
});

describe('preferences', () => {
  /** Ann wants this; ben has no preferences. */
  async function preferring(preferences: NoticePreferences, config: object = {}) {
    const kit = mailing({ ...policy({ people: ['ann', 'ben'] }), ...config });
    const digests: (readonly string[])[] = [];
    kit.mail.channel.digest = async (notices) => {
      if (notices[0]?.to[0]?.person === 'ann') digests.push(notices.map(({ requestId }) => requestId));
    };
    await kit.ai.notices.setPreferences('ann', preferences);
    return { ...kit, digests, ann: () => told(kit.mail.notices).filter((line) => line.startsWith('ann')) };
  }

  test('a channel can be off', async () => {
    const { ai, ask, work, mail } = await preferring({ channels: { mail: false, chat: true } });
    const worker = work();
    await ask('run');
    await pass(3 * SECOND);
    expect(told(mail.notices)).toEqual(['ben opened decider']);
    expect(await ai.notices.preferencesOf('ann')).toEqual({ channels: { mail: false, chat: true } });
    expect(await ai.notices.preferencesOf('ben')).toEqual({});
    await worker.stop();
  });

  test('quiet hours delay notices until they end, in the time zone of the person', async () => {
    // Tokyo is nine hours ahead: it is a quarter past five in the afternoon.
    const quiet = { from: '17:00', until: '07:00', timeZone: 'Asia/Tokyo' };
    const { ask, work, ann } = await preferring({ quiet });
    const worker = work(MINUTE);
    await ask('run');
    await pass(13 * HOUR + 44 * MINUTE);
    expect(ann()).toEqual([]);
    await pass(3 * MINUTE);
    expect(ann()).toEqual(['ann opened decider']);
    await worker.stop();
  });

  test('quiet hours do not delay requests with high risk, and are over outside of them', async () => {
    const risky = await preferring({ quiet: { from: '08:00', until: '09:00', timeZone: 'UTC' } }, { risk: 'high' });
    const loud = await preferring({ quiet: { from: '09:00', until: '08:15', timeZone: 'UTC' } });
    const workers = [risky.work(), loud.work()];
    await risky.ask('run');
    await loud.ask('run');
    await pass(3 * SECOND);
    expect([risky.ann(), loud.ann()]).toEqual([['ann opened decider'], ['ann opened decider']]);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  test('a request that is over before quiet hours end is not told', async () => {
    const { runs, ask, work, ann, store } = await preferring({
      quiet: { from: '08:00', until: '09:00', timeZone: 'UTC' },
    });
    const worker = work(MINUTE);
    const id = await ask('run');
    await pass(10 * MINUTE);
    await runs.decide(id, 'approve', { by: 'ben' });
    await pass(HOUR);
    expect(ann()).toEqual([]);
    expect(await notesIn(store, 'outbox-mail')).toBe(0);
    await worker.stop();
  });

  test('notices of low risk come together at the full hour', async () => {
    const { ai, runs, ask, work, digests, ann } = await preferring({ digest: 'low-risk' }, { risk: 'low' });
    const worker = work(MINUTE);
    const ids = [await ask('run-1'), await ask('run-2'), await ask('run-3')];
    await pass(20 * MINUTE);
    await runs.decide(ids[1] ?? '', 'approve', { by: 'ben' });
    await pass(24 * MINUTE);
    expect(digests).toEqual([]);
    await pass(3 * MINUTE);
    expect(digests).toEqual([[ids[0], ids[2]]]);
    expect(ann()).toEqual([]);
    expect((await ai.notices.log({ channel: 'mail', limit: 2 })).items).toMatchObject([
      { person: 'ann', type: 'opened', outcome: 'delivered' },
      { person: 'ann', type: 'opened', outcome: 'delivered' },
    ]);
    await pass(2 * HOUR);
    expect(digests).toHaveLength(1);
    await worker.stop();
  });

  test('a digest that fails is tried again as one', async () => {
    const { ask, work, digests, mail } = await preferring({ digest: 'all' });
    const { digest } = mail.channel;
    let failures = 0;
    mail.channel.digest = async (notices, delivering) => {
      failures += 1;
      if (failures === 1) throw new Error('away');
      await digest?.(notices, delivering);
    };
    const worker = work(MINUTE);
    const ids = [await ask('run-1'), await ask('run-2')];
    await pass(50 * MINUTE);
    expect(failures).toBe(2);
    expect(digests).toEqual([ids]);
    await worker.stop();
  });

  test('what would expire before the digest is told at once, and a single notice is delivered as usual', async () => {
    const urgent = await preferring({ digest: 'all' }, { expireAfter: '30m' });
    const single = await preferring({ digest: 'all' });
    const workers = [urgent.work(MINUTE), single.work(MINUTE)];
    await urgent.ask('run');
    await single.ask('run');
    await pass(2 * MINUTE);
    expect([urgent.ann(), single.ann()]).toEqual([['ann opened decider'], []]);
    await pass(45 * MINUTE);
    expect(single.ann()).toEqual(['ann opened decider']);
    expect(single.digests).toEqual([]);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  test.each([
    [{ digest: 'daily' }, '`digest` of `setPreferences` must be one of'],
    [{ channels: { mail: 'no' } }, '`channels` of `setPreferences` must be'],
    [{ quiet: { from: '7', until: '08:00', timeZone: 'UTC' } }, '`from` of `quiet` must be a time such as 22:00'],
    [{ quiet: { from: '07:00', until: '07:00', timeZone: 'UTC' } }, 'end at another time'],
    [{ quiet: { from: '07:00', until: '08:00', timeZone: 'Mars' } }, 'must be a time zone'],
  ])('%j is refused', async (preferences, problem) => {
    const { ai } = desk();
    await expect(ai.notices.setPreferences('ann', preferences as never)).rejects.toThrow(problem);
  });
});

test('a person is told once that someone may decide for them, even if the absence was ended before', async () => {
  const news: string[] = [];
  const informing = keeping('mail', { audience: 'person' });
  const channel: Channel = {
    ...informing.channel,
    inform: async ({ type, person, contact, delegate, by }) => {
      news.push(`${type} ${person} <${contact.mail}> ${delegate} by ${by}`);
      if (news.length === 1) throw new Error('The mail server is away.');
    },
  };
  const { ai, work } = desk({ channels: [channel], people: FINANCE }, policy({ roles: ['finance'] }));
  await ai.people.absent('ann', { delegate: 'ben', until: START + HOUR, by: 'admin' });
  await ai.people.present('ann');
  const worker = work();
  const line = 'delegate-named ann <ann@example.com> ben by admin';
  await pass(3 * SECOND);
  expect(news).toEqual([line]);
  // The first attempt failed. After the second, nobody tells it again.
  await pass(10 * MINUTE);
  expect(news).toEqual([line, line]);
  await worker.stop();
});

test('a comment is told to the people whom it names and to those who take part, and not to its author', async () => {
  const { mail, runs, ask, work } = mailing(policy({ people: ['cem', 'dan'] }));
  const worker = work();
  const id = await ask('run');
  await pass(3 * SECOND);
  const opened = mail.notices.length;
  await runs.comment(id, { by: 'cem', text: '@eva is this their account?' });
  await pass(3 * SECOND);
  expect(told(mail.notices.slice(opened)).filter((line) => !line.includes('clara'))).toEqual([
    'eva commented mentioned',
  ]);
  expect(mail.notices.at(-1)?.card?.progress?.comments).toMatchObject([{ by: 'cem' }]);
  const first = mail.notices.length;
  await runs.comment(id, { by: 'eva', text: 'Yes.' });
  await pass(3 * SECOND);
  expect(told(mail.notices.slice(first)).filter((line) => !line.includes('clara'))).toEqual(['cem commented involved']);
  await runs.decide(id, 'approve', { by: 'dan' });
  await pass(3 * SECOND);
  expect(told(mail.notices.slice(first + 1)).filter((line) => line.includes('decided'))).toContain(
    'eva decided told-before',
  );
  await worker.stop();
});
