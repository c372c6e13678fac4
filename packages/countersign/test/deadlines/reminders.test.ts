// Reminders: while a request waits, channels get a notice after each of its times. Retries and kills: see `notices`.
import { type CountersignOptions, memoryStore, type Notice, type ToolConfig } from 'countersign';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { desk as openDesk } from '../notices/kit.ts';

const MINUTE = 60_000;

// Fakes every clock and timer of this process.
beforeEach(() => vi.useFakeTimers({ now: 1_800_000_000_000 }));
afterEach(() => vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A clerk whose payments get reminders, and a hook that keeps them; `then` runs after each. */
function desk(
  options: CountersignOptions = {},
  waits: Pick<ToolConfig, 'remind' | 'escalate' | 'expireAfter' | 'businessHours'> | { remindAfter: number } = {
    remindAfter: MINUTE,
  },
  then: (notice: Notice) => unknown = () => undefined,
) {
  const opened = openDesk(options, { needsApproval: true, ...waits });
  const reminders: Notice[] = [];
  opened.ai.onRequest('reminders', {
    reminded: (notice) => {
      reminders.push(notice);
      return then(notice);
    },
  });
  return { ...opened, reminders };
}

test('a request is reminded of after its remindAfter, once', async () => {
  const { ask, runs, work, errors, reminders } = desk();
  const worker = work();
  const id = await ask('run');
  await pass(MINUTE - 1);
  expect(reminders).toEqual([]);
  await pass(2_000);
  const card = await runs.request(id);
  expect(reminders).toMatchObject([{ requestId: id, number: 1, attempt: 1, card, at: card.createdAt + MINUTE }]);
  await pass(10 * MINUTE);
  expect(reminders).toHaveLength(1);
  expect(await runs.get('run')).toMatchObject({ status: 'waiting', pending: [id] });
  expect(errors).toEqual([]);
  await worker.stop();
});

test('a request with several reminders gets each of them, a failed one again, from any worker', async () => {
  let isAway = true;
  const { ask, work, reminders, runs } = desk({}, { remind: ['10m', '5m', '20m'] }, ({ number }) => {
    if (number === 2 && isAway) throw new Error('the mail server is away');
  });
  const told = () => reminders.map(({ number, attempt }) => `${number}, attempt ${attempt}`);
  const id = await ask('run');
  const worker = work();
  await pass(6 * MINUTE);
  expect(told()).toEqual(['1, attempt 1']);
  await pass(4 * MINUTE + 2_000);
  isAway = false;
  await pass(2 * MINUTE);
  expect(told().slice(1)).toEqual(['2, attempt 1', '2, attempt 2']);
  await worker.stop();
  const another = work();
  await pass(20 * MINUTE);
  expect(told().slice(3)).toEqual(['3, attempt 1']);
  await runs.decide(id, 'approve');
  expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Paid.' });
  await another.stop();
});

test('a decided or withdrawn request gets no reminder', async () => {
  const { ask, runs, work, reminders } = desk();
  const worker = work();
  await runs.decide(await ask('decided'), 'approve');
  await ask('cancelled');
  await runs.cancel('cancelled');
  const waits = await ask('waits');
  await pass(2 * MINUTE);
  expect(reminders.map(({ requestId }) => requestId)).toEqual([waits]);
  await worker.stop();
});

test('a reminder that was due while no process had a channel is told by the first that has one', async () => {
  const store = memoryStore();
  const without = openDesk({ store }, { needsApproval: true, remindAfter: MINUTE });
  const worker = without.work();
  const id = await without.ask('run');
  await pass(10 * MINUTE);
  await worker.stop();
  const { work, reminders } = desk({ store });
  const other = work();
  await pass(2_000);
  expect(reminders).toMatchObject([{ requestId: id, attempt: 1 }]);
  await other.stop();
});
