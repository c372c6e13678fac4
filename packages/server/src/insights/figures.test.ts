// Figures from settled requests: rates, times, load, what stands out, and drills apart.
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { csvOf } from './csv.ts';
import { figuresOf, quantile } from './figures.ts';
import { type Readable, type SettledRequest, settledRequest } from './settled-request.ts';
import { type Period, readSettled, type SettledRequests, sharedRequests } from './settled-requests.ts';

const NINE = Date.UTC(2026, 0, 31, 9);
const DAY = 86_400_000;

/** A request asked at nine, and decided so many milliseconds later. */
function request(
  tookMs: number,
  given: Partial<Readable> & { readonly by?: string | null; readonly decision?: unknown } = {},
) {
  const { by = 'ann', decision = { type: 'approve' }, ...fields } = given;
  const settlement = { decision, by, channel: 'inbox', note: null, at: NINE + tookMs };
  const whole = {
    tool: 'pay',
    policies: [{}],
    createdAt: NINE,
    settledAt: NINE + tookMs,
    settlement,
    ...fields,
  } as Readable;
  return settledRequest(whole) as SettledRequest;
}

const reject = { type: 'reject' };

test.each([
  [{ type: 'approve' }, 'approved'],
  [{ type: 'approve', edit: null }, 'edited'],
  [{ type: 'restart', resumed: true }, 'approved'],
  [{ type: 'restart', resumed: true, replaceInput: {} }, 'edited'],
  [reject, 'rejected'],
  [{ type: 'respond', output: 0 }, 'answered'],
  [{ type: 'cancel' }, 'cancelled'],
])('%j counts as %s', (decision, outcome) => {
  expect(request(1, { decision }).outcome).toBe(outcome);
});

test('a pending request is not counted, a withdrawn one has no time and no voter', () => {
  expect(
    settledRequest({ tool: 'pay', policies: [{}], createdAt: 1, settledAt: null, settlement: null }),
  ).toBeUndefined();
  const withdrawn = request(5, { settlement: { withdrawn: true, at: NINE } });
  expect(figuresOf([withdrawn])).toMatchObject({ total: { requests: 1, cancelled: 1, medianMs: null }, people: [] });
});

test('the deadline is nobody, but a person of that name is somebody', () => {
  const settlement = { decision: reject, by: 'deadline', note: null, at: NINE };
  const expired = request(5, { settlement: { ...settlement, channel: null } });
  const person = request(5, { settlement: { ...settlement, channel: 'cli' } });
  const { total, people } = figuresOf([expired, person]);
  expect(total).toMatchObject({ expired: 1, rejected: 1, medianMs: 5 });
  expect(people).toMatchObject([{ name: 'deadline', requests: 1 }]);
});

test.each([
  [[], null, null],
  [[7], 7, 7],
  [[1, 2], 1, 2],
  [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 5, 9],
])('of %j the median is %d and the 90th percentile %d', (times, median, p90) => {
  expect([quantile(times, 0.5), quantile(times, 0.9)]).toEqual([median, p90]);
});

test('tools, people and policies are counted, the largest first', () => {
  const all = [
    request(10),
    request(30, { decision: reject, by: 'bob' }),
    request(20, { tool: 'mail', policies: [{ name: 'letters' }] }),
    request(50, { decision: { type: 'approve', edit: {} }, policies: [{}] }),
  ];
  const { total, tools, people, policies } = figuresOf(all);
  expect(total).toEqual({
    requests: 4,
    decided: 4,
    approved: 3,
    edited: 1,
    rejected: 1,
    answered: 0,
    cancelled: 0,
    expired: 0,
    medianMs: 20,
    p90Ms: 50,
  });
  expect(tools.map(({ name, requests }) => [name, requests])).toEqual([
    ['pay', 3],
    ['mail', 1],
  ]);
  expect(people).toMatchObject([
    { name: 'ann', requests: 3, medianMs: 20 },
    { name: 'bob', rejected: 1 },
  ]);
  expect(policies).toMatchObject([{ name: 'letters', requests: 1, medianMs: 20 }]);
});

test('each voter of a request is counted, with their own vote and time', () => {
  const votes = [
    { by: 'ann', decision: { type: 'approve' }, at: NINE + 100 },
    { by: 'bob', decision: reject, at: NINE + 900 },
  ];
  const settlement = { decision: reject, by: 'bob', channel: 'inbox', note: null, at: NINE + 900, votes };
  const { total, people } = figuresOf([request(900, { settlement } as Partial<Readable>)]);
  expect(total).toMatchObject({ requests: 1, approved: 0, rejected: 1 });
  expect(people).toMatchObject([
    { name: 'ann', approved: 1, medianMs: 100 },
    { name: 'bob', rejected: 1, medianMs: 900 },
  ]);
});

test('a selection counts what it names, and every choice stays', () => {
  const all = [request(10), request(20, { tool: 'mail', by: 'bob', policies: [{ name: 'letters' }] })];
  const choices = { tools: ['mail', 'pay'], people: ['ann', 'bob'], policies: ['letters'] };
  for (const selection of [{ tool: 'mail' }, { person: 'bob' }, { policy: 'letters' }])
    expect(figuresOf(all, selection)).toMatchObject({ total: { requests: 1, medianMs: 20 }, choices });
  expect(figuresOf(all, { tool: 'none' }).total).toMatchObject({ requests: 0, medianMs: null });
});

test('days are those on which requests were settled, also without any', () => {
  const late = request(86_400_000, { decision: reject });
  const { days } = figuresOf([request(5), late], {}, ['2026-01-30', '2026-01-31', '2026-02-01']);
  expect(days.map(({ day, decided, approved, rejected }) => [day, decided, approved, rejected])).toEqual([
    ['2026-01-30', 0, 0, 0],
    ['2026-01-31', 1, 1, 0],
    ['2026-02-01', 1, 0, 1],
  ]);
});

test('hours of the day are those of the time zone', () => {
  const { hours, load } = figuresOf([request(0)], { timeZone: 'Asia/Kathmandu' });
  expect(hours.indexOf(1)).toBe(14);
  expect(load).toEqual([{ name: 'ann', hours }]);
});

test.each([
  ['ten approvals within three seconds', Array.from({ length: 10 }, () => 2_999), 1],
  ['nine', Array.from({ length: 9 }, () => 500), 0],
  ['one that took three seconds', [...Array.from({ length: 10 }, () => 500), 3_000], 0],
])('%s', (_name, times, flagged) => {
  const all = [...times.map((tookMs) => request(tookMs)), request(60_000, { decision: reject })];
  expect(figuresOf(all).quick).toHaveLength(flagged);
});

test('the time that the card was in view counts, if the channel reports it', () => {
  const seen = (seenForMs: number) =>
    request(60_000, {
      settlement: {
        decision: { type: 'approve' },
        by: 'ann',
        channel: 'inbox',
        note: null,
        at: NINE + 60_000,
        seenForMs,
      },
    } as Partial<Readable>);
  expect(figuresOf(Array.from({ length: 10 }, () => seen(800))).quick).toEqual([
    { name: 'ann', approvals: 10, medianMs: 800 },
  ]);
  expect(figuresOf(Array.from({ length: 10 }, () => seen(9_000))).quick).toEqual([]);
});

test('drills are counted by person and nowhere else', () => {
  const drill = { drill: true };
  const deadline = { decision: reject, by: 'deadline', channel: null, note: null, at: NINE };
  const all = [
    request(10),
    request(1, { ...drill, decision: reject, warned: true }),
    request(1, { ...drill }),
    request(1, { ...drill, decision: { type: 'cancel' }, by: 'bob' }),
    request(1, { ...drill, settlement: deadline }),
  ];
  const { total, people, hours, drills } = figuresOf(all);
  expect(total.requests).toBe(1);
  expect(people).toMatchObject([{ name: 'ann', requests: 1 }]);
  expect(hours.reduce((sum, count) => sum + count)).toBe(1);
  expect(drills).toEqual({
    warned: 1,
    expired: 1,
    people: [
      { name: 'ann', caught: 1, missed: 1 },
      { name: 'bob', caught: 1, missed: 0 },
    ],
  });
});

test('an observed call counts as that, and as nothing else', () => {
  const observed = { observed: { why: [] }, by: null, at: NINE } as never;
  const all = [request(10), request(0, { tool: 'send', settlement: observed })];
  expect(figuresOf(all)).toMatchObject({ observed: 1, total: { requests: 1 } });
  expect(figuresOf(all, { tool: 'pay' })).toMatchObject({ observed: 0, total: { requests: 1 } });
});

test('a cell of the CSV cannot be a formula or break its row', () => {
  const names = ['=1+1', '+1', '-1', '@x', '\t=1', ' =1', '＝1', 'a"b', 'a,b', 'a\r\nb', 'plain'];
  const figures = figuresOf(names.map((tool) => request(1, { tool })));
  const csv = csvOf({ ...figures, since: 0, isComplete: true, grants: [] });
  const cells = [...csv.matchAll(/^tool,("(?:[^"]|"")*"|[^,]*),/gm)].map(([, cell]) => cell);
  expect(cells.sort()).toEqual(
    [
      `"'=1+1"`,
      `"'+1"`,
      `"'-1"`,
      `"'@x"`,
      `"'\t=1"`,
      `"' =1"`,
      `"'＝1"`,
      '"a""b"',
      '"a,b"',
      '"a\r\nb"',
      'plain',
    ].sort(),
  );
});

test('one read serves every caller of a period for a while', async () => {
  let now = 0;
  const read: Period[] = [];
  const shared = sharedRequests(
    async (period) => {
      read.push(period);
      now += 1_000;
      return { requests: [], since: 0, isComplete: true, days: [], grants: [], readAt: { all: 0, newest: 0 } };
    },
    () => now,
  );
  await Promise.all([shared({ days: 7 }), shared({ days: 7 }), shared({ days: 7, startedBy: 'ann' })]);
  expect(read).toEqual([{ days: 7 }, { days: 7, startedBy: 'ann' }]);
  now += 3_999;
  await shared({ days: 7 });
  expect(read).toHaveLength(2);
  now += 5_000;
  await shared({ days: 7 });
  expect(read).toHaveLength(3);
});

test('a later read adds what was settled since, and reads everything again after a while', async () => {
  let now = NINE;
  const store = memoryStore({ now: () => now });
  const ai = countersign({
    store,
    clock: () => now,
    model: scriptedModel(() => ({ calls: [{ name: 'pay', input: {} }] })),
  });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay], maxTurns: 1 });
  const sinces: (number | undefined)[] = [];
  const { listRequests } = store;
  store.listRequests = (query) => {
    sinces.push(query.settledSince);
    return listRequests(query);
  };
  const rejected = async () => {
    const { id } = await clerk.start('Pay.', { by: 'ann' });
    const [request = ''] = (await ai.runs.wait(id)).pending;
    await ai.runs.decide(request, 'reject', { by: 'ann' });
    now += 1;
  };
  const read = async (before?: SettledRequests, period: Period = { days: 2 }) => {
    sinces.length = 0;
    return readSettled(ai, period, before);
  };
  await rejected();
  const first = await read();
  expect([first.requests.length, sinces]).toEqual([1, [NINE - (NINE % DAY) - DAY]]);
  now += 300_000;
  await rejected();
  const second = await read(first);
  expect([second.requests.length, sinces]).toEqual([2, [NINE + 1 - 120_000]]);
  expect(second.requests.map(({ settledAt }) => settledAt)).toEqual([NINE + 300_001, NINE]);
  now += 300_000;
  expect([(await read(second)).requests.length, sinces]).toEqual([2, [NINE - (NINE % DAY) - DAY]]);
  expect((await read(undefined, { days: 2, startedBy: 'ben' })).requests).toEqual([]);
});

test('a failed read is reported and tried again by the next caller', async () => {
  let reads = 0;
  const shared = sharedRequests(async () => {
    reads += 1;
    throw new Error(`Read ${reads} fails.`);
  });
  await expect(shared({ days: 7 })).rejects.toThrow('Read 1 fails.');
  await expect(shared({ days: 7 })).rejects.toThrow('Read 2 fails.');
});
