// What people are told after a decision: the requester what came of it, the approvers what went wrong, nobody that something was
// approved which did not run.
import { countersign, memoryStore, type Notice, OutcomeUnknown, type Tool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keeping, MINUTE, SECOND } from './kit.ts';

beforeEach(() => vi.useFakeTimers({ now: 1_800_000_000_000 }));
afterEach(() => vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const BOTH = { quorum: [{ of: { people: ['ann', 'ben'] }, count: 2 }] };

/** Clara asks for a payment that runs `body`. Mail reaches each person, `room` is a shared chat, `log` gets everything. */
function payments(body: () => unknown, config: object = {}) {
  const mail = keeping('mail', { audience: 'person' });
  const room = keeping('room');
  const log = keeping('log', { all: true });
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: { amount: 950 } }] },
  );
  const ai = countersign({
    model,
    retry: false,
    store: memoryStore(),
    channels: [mail.channel, room.channel, log.channel],
  });
  const approval = { needsApproval: { policy: { deciders: { people: ['ann', 'ben'] } } } };
  const pay = ai.defineTool({ name: 'pay', description: '', ...approval, ...config }, body) as Tool;
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const worker = ai.runs.work({ pollMs: SECOND, onError: () => undefined });
  return {
    ai,
    runs: ai.runs,
    mail,
    room,
    log,
    worker,
    /** As in `clara done requester`; only after the first `opened` mails. */
    told: () =>
      mail.notices
        .filter(({ type }) => type !== 'opened')
        .map(line)
        .sort(),
    async ask(by = 'clara') {
      await clerk.start('Pay.', { runId: 'run', by });
      const [id = ''] = (await ai.runs.wait('run')).pending;
      await pass(2 * SECOND);
      return id;
    },
  };
}

const line = ({ type, to: [to], outcome }: Notice): string =>
  `${to?.person} ${type} ${to?.why}${outcome ? ` (${outcome.state})` : ''}`;

test('the requester is told once that it is done, the other approvers in one notice with the decision', async () => {
  const { ask, runs, told, room, log, worker } = payments(() => 'receipt 12');
  const id = await ask();
  await runs.decide(id, 'approve', { by: 'ann' });
  await pass(2 * SECOND);
  expect(told()).toEqual(['ben decided told-before (done)', 'clara done requester (done)']);
  expect(room.told()).toEqual(['opened', 'decided']);
  expect(room.notices[1]?.outcome).toMatchObject({ state: 'done', text: 'receipt 12' });
  expect(log.told()).toEqual(['opened', 'decided', 'done']);
  await pass(10 * MINUTE);
  expect(told()).toHaveLength(2);
  await worker.stop();
});

test('an approval waits 15 seconds for its outcome, and the outcome comes when it is known', async () => {
  const bank = Promise.withResolvers<string>();
  const { ask, runs, told, room, log, worker } = payments(() => bank.promise);
  const id = await ask();
  await runs.decide(id, 'approve', { by: 'ann' });
  await pass(10 * SECOND);
  expect(told()).toEqual([]);
  expect(room.told()).toEqual(['opened']);
  expect(log.told()).toEqual(['opened', 'decided']);
  await pass(8 * SECOND);
  expect(told()).toEqual(['ben decided told-before (running)']);
  expect(room.told()).toEqual(['opened', 'decided']);
  bank.resolve('receipt 12');
  await pass(3 * SECOND);
  expect(told()).toEqual(['ben decided told-before (running)', 'clara done requester (done)']);
  expect(room.told()).toEqual(['opened', 'decided', 'done']);
  await worker.stop();
});

test('a failure is told to the requester and to everyone who approved', async () => {
  const { ask, runs, told, mail, worker } = payments(
    () => {
      throw new Error('The bank refused.');
    },
    { needsApproval: { policy: BOTH } },
  );
  const id = await ask();
  await runs.decide(id, 'approve', { by: 'ann' });
  await runs.decide(id, 'approve', { by: 'ben' });
  await pass(3 * SECOND);
  expect(told()).toEqual([
    'ann failed approver (failed)',
    'ben failed approver (failed)',
    'clara failed requester (failed)',
  ]);
  expect(mail.notices.at(-1)?.outcome).toMatchObject({ text: expect.stringContaining('The bank refused.') });
  await worker.stop();
});

test('a rejection is told to the requester, and their own decision is not', async () => {
  const rejected = payments(() => 'paid');
  await rejected.runs.decide(await rejected.ask(), 'reject', { by: 'ann' });
  await pass(3 * SECOND);
  expect(rejected.told()).toEqual(['ben decided told-before (not-run)', 'clara decided requester (not-run)']);
  const own = payments(() => 'paid');
  await own.runs.decide(await own.ask('ann'), 'approve', { by: 'ann' });
  await pass(3 * SECOND);
  expect(own.told()).toEqual(['ben decided told-before (done)']);
  await Promise.all([rejected.worker.stop(), own.worker.stop()]);
});

test('nobody is told that something was approved which asks again because it has changed', async () => {
  let account = 'DE01';
  const { ask, runs, told, mail, worker } = payments(() => 'paid', { preview: () => ({ account }) });
  const id = await ask();
  account = 'DE02';
  await runs.decide(id, 'approve', { by: 'ann' });
  await pass(5 * SECOND);
  expect(told()).toEqual(['ben decided told-before (not-run)']);
  const opened = mail.notices.filter(({ type, requestId }) => type === 'opened' && requestId !== id);
  expect(opened.map(({ to }) => to[0]?.person).sort()).toEqual(['ann', 'ben']);
  await runs.decide(opened[0]?.requestId ?? '', 'approve', { by: 'ann' });
  await pass(5 * SECOND);
  expect(told().filter((one) => one.startsWith('clara'))).toEqual(['clara done requester (done)']);
  await worker.stop();
});

test('an edit that others must agree to is not told as an end', async () => {
  const { ask, runs, told, worker } = payments(() => 'paid', { needsApproval: { policy: BOTH } });
  const id = await ask();
  await runs.decide(id, { type: 'approve', edit: { amount: 900 } }, { by: 'ann' });
  await pass(3 * SECOND);
  expect(told()).toEqual([]);
  await worker.stop();
});

test('an unknown outcome is told to the requester and the approver, and its end once', async () => {
  const { ask, runs, mail, worker } = payments(() => {
    throw new OutcomeUnknown('The line broke.');
  });
  const id = await ask();
  await runs.decide(id, 'approve', { by: 'ann' });
  await pass(3 * SECOND);
  const toldOf = (requestId: string) =>
    mail.notices
      .filter((notice) => notice.requestId === requestId && notice.type !== 'opened')
      .map(line)
      .sort();
  const unknown = [
    'ann unknown approver (unknown)',
    'ben decided told-before (unknown)',
    'clara unknown requester (unknown)',
  ];
  expect(toldOf(id)).toEqual(unknown);
  const doubt = mail.notices.find(({ type }) => type === 'doubt')?.requestId ?? '';
  await runs.decide(doubt, { type: 'respond', output: 'receipt 12' }, { by: 'ben' });
  await pass(3 * SECOND);
  expect(toldOf(id)).toEqual([...unknown, 'clara done requester (done)'].sort());
  expect(toldOf(doubt)).not.toContainEqual(expect.stringContaining('clara'));
  await worker.stop();
});
