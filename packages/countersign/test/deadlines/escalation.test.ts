// Escalations: after a while without a decision, more people are asked. A worker records it, and any worker tells them.
import { type CountersignOptions, countersign, memoryStore, type Notice, type ToolConfig } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

// Fakes every clock and timer of this process.
beforeEach(() => vi.useFakeTimers({ now: 1_800_000_000_000 }));
afterEach(() => vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A clerk whose payments wait like this, and workers that each test stops. */
function desk(
  waits: Partial<ToolConfig>,
  options: CountersignOptions = {},
  then: (notice: Notice) => unknown = () => undefined,
) {
  const { store = memoryStore() } = options;
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
  );
  const told: string[] = [];
  const reminders: number[] = [];
  const ai = countersign({ model, retry: false, ...options, store });
  ai.onRequest('escalations', {
    escalated: (notice) => {
      const { number, attempt, card } = notice;
      told.push(`${number} to ${JSON.stringify(card?.progress?.escalatedTo[number - 1])}, attempt ${attempt}`);
      return then(notice);
    },
    reminded: ({ number }) => void reminders.push(number),
  });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true, ...waits }, () => 'paid');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const errors: unknown[] = [];
  return {
    runs: ai.runs,
    told,
    reminders,
    errors,
    work: () => ai.runs.work({ onError: (error) => errors.push(error) }),
    ask: async (runId = 'run'): Promise<string> => {
      await clerk.start('Pay.', { runId, by: 'ann' });
      const [id = ''] = (await ai.runs.wait(runId)).pending;
      return id;
    },
    escalations: async () =>
      (await ai.runs.recorded('run')).flatMap((event) => (event.type === 'request-escalated' ? [event.to] : [])),
  };
}

test.each([
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(':memory:')],
])('a worker records escalations when they are due and tells channels of each, on %s', async (_, open) => {
  const lead = { roles: ['lead'] };
  const boss = { people: ['boss'] };
  const escalate = [
    { after: '2m', to: lead },
    { after: '4m', to: boss },
  ] as const;
  const store = open();
  const { ask, work, runs, told, reminders, errors, escalations } = desk(
    { escalate, remind: ['1m', '3m'], expireAfter: '6m' },
    { store },
  );
  const id = await ask();
  const start = Date.now();
  expect(await runs.get('run')).toMatchObject({ wakeAt: start + 2 * MINUTE });
  const worker = work();
  await pass(2 * MINUTE - 2_000);
  expect([await escalations(), told, reminders]).toEqual([[], [], [1]]);
  await pass(4_000);
  expect(await escalations()).toEqual([lead]);
  expect(told).toEqual(['1 to {"roles":["lead"]}, attempt 1']);
  expect(await runs.get('run')).toMatchObject({ status: 'waiting', pending: [id], wakeAt: start + 4 * MINUTE });
  expect(await runs.request(id)).toMatchObject({ progress: { escalatedTo: [lead] }, expiresAt: start + 6 * MINUTE });
  await pass(MINUTE);
  expect(reminders).toEqual([1, 2]);
  await worker.stop();
  // Another worker continues.
  const another = work();
  await pass(MINUTE + 2_000);
  expect([await escalations(), told[1], told.length]).toEqual([[lead, boss], '2 to {"people":["boss"]}, attempt 1', 2]);
  await pass(2 * MINUTE);
  expect(await runs.get('run')).toMatchObject({ status: 'done' });
  expect(await runs.request(id)).toMatchObject({ settlement: { by: 'deadline', decision: { type: 'reject' } } });
  expect([reminders, told.length, errors]).toEqual([[1, 2], 2, []]);
  expect(await runs.verify('run')).toMatchObject({ ok: true });
  await another.stop();
  await store.close();
});

test('a notice of an escalation that fails is repeated until it is delivered, by any worker', async () => {
  let failures = 2;
  const attempts: number[] = [];
  const { ask, work, errors } = desk({ escalate: [{ after: '1h', to: { people: ['boss'] } }] }, {}, ({ attempt }) => {
    attempts.push(attempt);
    if (failures-- > 0) throw new Error('the mail server is away');
  });
  await ask();
  const worker = work();
  await pass(HOUR + 2_000);
  await worker.stop();
  const another = work();
  await pass(HOUR);
  expect(attempts).toEqual([1, 2, 3]);
  // Each worker reports the same error of a channel once in a while.
  expect(errors[0]).toMatchObject({ code: 'notice-failed', cause: { message: 'the mail server is away' } });
  await another.stop();
});

test('a worker that comes late records all escalations that are due, and tells of each', async () => {
  const escalate = (['1h', '2h', '2h'] as const).map((after, index) => ({ after, to: { people: [`boss ${index}`] } }));
  const { ask, work, told, escalations } = desk({ escalate });
  await ask();
  await pass(3 * HOUR);
  const worker = work();
  await pass(2_000);
  expect(await escalations()).toEqual(escalate.map(({ to }) => to));
  expect(told).toEqual([0, 1, 2].map((index) => `${index + 1} to {"people":["boss ${index}"]}, attempt 1`));
  await worker.stop();
});

test('the managers of today are asked, and recorded as people', async () => {
  const managers: { [person: string]: string } = { ann: 'ben' };
  const escalate = [
    { after: '1h', to: 'manager' },
    { after: '2h', to: 'manager' },
  ] as const;
  const people = { managerOf: (person: string) => managers[person] };
  const { ask, work, escalations } = desk({ escalate }, { people });
  await ask();
  managers.ann = 'cara';
  managers.cara = 'dora';
  const worker = work();
  await pass(3 * HOUR);
  expect(await escalations()).toEqual([{ people: ['cara'] }, { people: ['dora', 'cara'] }]);
  await worker.stop();
});

test('a directory that fails is reported and asked again, and does not hold up the deadline', async () => {
  let isAway = true;
  const managerOf = () => {
    if (isAway) throw new Error('the directory is away');
    return 'boss';
  };
  const waits = { escalate: [{ after: '1h', to: 'manager' }], expireAfter: '3h' } as const;
  const { ask, work, errors, runs, escalations, told } = desk(waits, { people: { managerOf } });
  await ask();
  const worker = work();
  await pass(HOUR + 5_000);
  expect(errors[0]).toMatchObject({ code: 'people-failed', message: expect.stringContaining('the directory is away') });
  expect(errors).toHaveLength(1);
  isAway = false;
  await pass(5_000);
  expect(await escalations()).toEqual([{ people: ['boss'] }]);
  expect(told).toHaveLength(1);
  isAway = true;
  await ask('other');
  await pass(4 * HOUR);
  expect(await runs.get('other')).toMatchObject({ status: 'done' });
  await worker.stop();
});

test('a decision without a worker counts after the escalation that is due', async () => {
  const { ask, runs, escalations } = desk({ escalate: [{ after: '1h', to: { people: ['boss'] } }] });
  const id = await ask();
  await pass(2 * HOUR);
  await runs.decide(id, 'approve', { by: 'boss' });
  expect(await escalations()).toEqual([{ people: ['boss'] }]);
  expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Done.' });
});

test('an escalation in a failed run is recorded, and the run stays failed', async () => {
  const model = scriptedModel([
    {
      calls: [
        { name: 'pay', input: {} },
        { name: 'look', input: {} },
      ],
    },
  ]);
  const store = memoryStore();
  const ai = countersign({ model, retry: false, store });
  const pay = ai.defineTool(
    { name: 'pay', description: '', needsApproval: true, escalate: [{ after: '1h', to: { people: ['boss'] } }] },
    () => 'paid',
  );
  const look = ai.defineTool({ name: 'look', description: '' }, () => 'seen');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, look] });
  await clerk.start('Pay.', { runId: 'run', by: 'ann' });
  const [id = ''] = (await ai.runs.wait('run')).pending;
  await internalsOf(ai.runs).speak('run', (run) =>
    run.record({
      v: 1,
      type: 'run-failed',
      error: { error: { code: 'provider-failed', message: 'away', retryable: false } },
    }),
  );
  expect(await ai.runs.get('run')).toMatchObject({ status: 'failed', pending: [id] });
  const worker = ai.runs.work();
  await pass(2 * HOUR);
  expect(await ai.runs.get('run')).toMatchObject({ status: 'failed', error: { message: 'away' }, wakeAt: null });
  expect(await ai.runs.request(id)).toMatchObject({ progress: { escalatedTo: [{ people: ['boss'] }] } });
  await worker.stop();
});
