// Deliveries: in order, retried with growing pauses, given up after half a day, and repeated by hand.
import { memoryStore, ProviderError } from 'countersign';
import type { Store } from 'countersign/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { desk, HOUR, keeping, MINUTE, notesIn, SECOND } from './kit.ts';

// Fakes every clock and timer of this process.
beforeEach(() => vi.useFakeTimers({ now: 1_800_000_000_000 }));
afterEach(() => vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('a channel is told when a request opens and when it is decided, once each', async () => {
  const { channel, notices, told } = keeping('chat');
  const { ai, runs, ask, work, errors, store } = desk({ channels: [channel] });
  const worker = work();
  const id = await ask('run');
  await pass(2 * SECOND);
  expect(told()).toEqual(['opened']);
  expect(notices[0]).toMatchObject({
    requestId: id,
    runId: 'run',
    agent: 'clerk',
    tool: 'pay',
    title: 'pay',
    attempt: 1,
    card: await runs.request(id),
    settlement: null,
    links: null,
  });
  await runs.decide(id, 'approve', { by: 'ann' });
  await pass(2 * SECOND);
  expect(told()).toEqual(['opened', 'decided']);
  expect(notices[1]).toMatchObject({ settlement: { by: 'ann', decision: { type: 'approve' } } });
  expect(new Set(notices.map(({ key }) => key)).size).toBe(2);
  await pass(HOUR);
  expect(notices).toHaveLength(2);
  expect(await notesIn(store, 'outbox-chat')).toBe(0);
  expect(errors).toEqual([]);
  expect(await ai.notices.log()).toMatchObject({
    items: [
      { channel: 'chat', type: 'decided', requestId: id, person: null, outcome: 'delivered', attempt: 1 },
      { type: 'opened' },
    ],
    cursor: null,
  });
  await worker.stop();
});

test('a request that was over long ago is not announced again, even if the store marks it again', async () => {
  const { channel, notices, told } = keeping('report', { all: true });
  const inner = memoryStore();
  let marked: string | undefined;
  const store = changedStore(inner, {
    takeUntold: async (limit: number, leaseMs: number) => {
      const again = marked === undefined ? undefined : await inner.request(marked);
      marked = undefined;
      return again ? [{ request: again, news: 9 }] : ((await inner.takeUntold?.(limit, leaseMs)) ?? []);
    },
  });
  const { runs, ask, work } = desk({ channels: [channel], store });
  const worker = work();
  const id = await ask('run');
  await runs.decide(id, 'reject', { by: 'ann' });
  await pass(2 * SECOND);
  expect(told()).toEqual(['opened', 'decided']);
  // The process says every ten minutes that it has the channel.
  for (let week = 0; week < 6; week += 1) {
    vi.setSystemTime(Date.now() + 7 * 24 * HOUR);
    await pass(11 * MINUTE);
  }
  marked = id;
  await pass(5 * SECOND);
  expect(marked).toBeUndefined();
  expect(notices).toHaveLength(2);
  await worker.stop();
});

test('a process without channels does nothing about notices', async () => {
  const takeUntold = vi.fn();
  const store = Object.assign(memoryStore(), { takeUntold });
  const { ask, work } = desk({ store });
  const worker = work();
  await ask('run');
  await pass(MINUTE);
  expect(takeUntold).not.toHaveBeenCalled();
  await worker.stop();
});

test('a failed delivery is tried again with growing pauses, with the same key and a higher attempt', async () => {
  const at: number[] = [];
  const tries: string[] = [];
  const { channel, told } = keeping('chat', {}, ({ attempt, key }) => {
    at.push(Date.now());
    tries.push(`${attempt} ${key}`);
    if (attempt < 5) throw new Error('the chat server is away');
  });
  const { ai, ask, work, errors } = desk({ channels: [channel] });
  const worker = work();
  await ask('run');
  await pass(HOUR);
  const pauses = at.slice(1).map((time, index) => (time - (at[index] ?? 0)) / SECOND);
  for (const [index, wanted] of [30, 60, 120, 240].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(wanted * 0.8);
    expect(pauses[index]).toBeLessThanOrEqual(wanted * 1.2 + 2);
  }
  expect(new Set(tries.map((line) => line.split(' ')[1])).size).toBe(1);
  expect(tries.map((line) => line.split(' ')[0])).toEqual(['1', '2', '3', '4', '5']);
  expect(told()).toEqual(['opened']);
  expect(errors[0]).toMatchObject({ code: 'notice-failed', details: { channel: 'chat', attempt: 1 } });
  expect((await ai.notices.channels())[0]).toMatchObject({ name: 'chat', waiting: 0, dead: 0, lastError: null });
  await worker.stop();
});

test('while a delivery waits for its next attempt, what happens later waits too, in order', async () => {
  let isAway = true;
  const { channel, told } = keeping('log', { all: true }, () => {
    if (isAway) throw new Error('away');
  });
  const { ai, runs, ask, work } = desk({ channels: [channel] });
  const worker = work();
  const id = await ask('run');
  await pass(2 * SECOND);
  await runs.decide(id, 'reject');
  await pass(2 * SECOND);
  expect((await ai.notices.channels())[0]).toMatchObject({ waiting: 1, lastError: 'away' });
  isAway = false;
  await pass(MINUTE);
  expect(told()).toEqual(['opened', 'decided']);
  await worker.stop();
});

test('an error says when to try again at the earliest', async () => {
  const { channel, told } = keeping('chat', {}, ({ attempt }) => {
    if (attempt === 1) throw Object.assign(new Error('slow down'), { retryAfterMs: 10 * MINUTE });
  });
  const { ask, work } = desk({ channels: [channel] });
  const worker = work();
  await ask('run');
  await pass(9 * MINUTE);
  expect(told()).toEqual([]);
  await pass(2 * MINUTE);
  expect(told()).toEqual(['opened']);
  await worker.stop();
});

test('after half a day a notice is given up, and delivered if someone asks for it', async () => {
  let isAway = true;
  const { channel, told } = keeping('chat', {}, () => {
    if (isAway) throw new Error('away');
  });
  const { ai, ask, work, errors, store } = desk({ channels: [channel] });
  const worker = work(MINUTE);
  const id = await ask('run');
  await pass(8 * HOUR);
  expect((await ai.notices.dead()).items).toEqual([]);
  await pass(8 * HOUR);
  const { items } = await ai.notices.dead();
  expect(items).toMatchObject([{ channel: 'chat', requestId: id, person: null, types: ['opened'], error: 'away' }]);
  expect(await notesIn(store, 'outbox-chat')).toBe(0);
  expect((await ai.notices.channels())[0]).toMatchObject({ waiting: 0, dead: 1, lastError: 'away' });
  expect((await ai.notices.log({ limit: 1 })).items).toMatchObject([{ outcome: 'given-up', attempt: 18 }]);
  expect(errors.length).toBeGreaterThan(1);
  isAway = false;
  expect(await ai.notices.retry('chat', 'unknown')).toBe(false);
  expect(await ai.notices.retry('chat', items[0]?.id ?? '')).toBe(true);
  await pass(2 * MINUTE);
  expect(told()).toEqual(['opened']);
  expect((await ai.notices.dead()).items).toEqual([]);
  await worker.stop();
});

test('an error that says so is given up at once, and later news are tried again', async () => {
  let isGone = true;
  const { channel, told } = keeping('chat', {}, () => {
    if (isGone) throw Object.assign(new Error('no such room'), { retryable: false });
  });
  const { ai, ask, work } = desk({ channels: [channel] }, { needsApproval: true, remindAfter: 10 * MINUTE });
  const worker = work();
  await ask('run');
  await pass(2 * SECOND);
  expect((await ai.notices.dead()).items).toMatchObject([{ attempts: 1, error: 'no such room' }]);
  isGone = false;
  await pass(11 * MINUTE);
  expect(told()).toEqual(['opened']);
  expect((await ai.notices.dead()).items).toEqual([]);
  await worker.stop();
});

test('a delivery that takes too long is aborted and tried again', async () => {
  const signals: AbortSignal[] = [];
  const { channel, told } = keeping('chat', { timeoutMs: 5 * SECOND });
  const { deliver } = channel;
  channel.deliver = async (notice, delivering) => {
    signals.push(delivering.signal);
    await (notice.attempt === 1 ? new Promise(() => undefined) : deliver(notice, delivering));
  };
  const { ai, ask, work } = desk({ channels: [channel] });
  const worker = work();
  await ask('run');
  await pass(4 * SECOND);
  expect(signals[0]?.aborted).toBe(false);
  await pass(2 * SECOND);
  expect(signals[0]?.aborted).toBe(true);
  expect((await ai.notices.log()).items[0]?.error).toContain('longer than 5000 ms');
  await pass(MINUTE);
  expect(told()).toEqual(['opened']);
  await worker.stop();
});

test('a broken channel does not slow another', async () => {
  const stuck = keeping('stuck', {}, () => new Promise(() => undefined));
  const fine = keeping('fine');
  const { ask, work } = desk({ channels: [stuck.channel, fine.channel] });
  const worker = work();
  for (let run = 0; run < 20; run += 1) await ask(`run-${run}`);
  await pass(2 * SECOND);
  expect(fine.notices).toHaveLength(20);
  const stopping = worker.stop();
  await pass(6 * SECOND);
  await stopping;
});

test('a worker that stops leaves unfinished deliveries to the next one, without counting them as failed', async () => {
  const tries: number[] = [];
  const { channel, told } = keeping('chat', {}, ({ attempt }) => {
    tries.push(attempt);
    return tries.length === 1 ? new Promise(() => undefined) : undefined;
  });
  const store = memoryStore();
  const first = desk({ store, channels: [channel] });
  const worker = first.work();
  await first.ask('run');
  await pass(2 * SECOND);
  const stopping = worker.stop();
  await pass(6 * SECOND);
  await stopping;
  expect(told()).toEqual([]);
  const second = desk({ store, channels: [channel] }).work();
  await pass(2 * SECOND);
  expect(tries).toEqual([1, 1]);
  expect(told()).toEqual(['opened']);
  await second.stop();
});

/** The store, with notes that fail while `isAway`. */
function withAwayNotes(kept: Store, isAway: () => boolean): Store {
  const away = () => new ProviderError('store-failed', {}, 'The store is away.', { retryable: true });
  const notes = new Proxy(kept.notes, {
    get:
      (target, name) =>
      async (...given: unknown[]) => {
        if (isAway()) throw away();
        return (Reflect.get(target, name) as (...given: unknown[]) => unknown).apply(target, given);
      },
  });
  return changedStore(kept, { notes });
}

test('a process that dies while it delivers is not a failure of the channel: the next failure waits half a minute', async () => {
  const store = memoryStore();
  const attempts: number[] = [];
  const dead = new Set<number>();
  let isBroken = false;
  const workers = [];
  for (let process = 0; process < 4; process += 1) {
    // Three processes record nothing from the moment that they deliver: as if they had crashed then.
    const { channel } = keeping('chat', {}, ({ attempt }) => {
      if (dead.has(process)) return;
      attempts.push(attempt);
      if (process < 3) dead.add(process);
      else if (!isBroken) {
        isBroken = true;
        throw new Error('the chat server is away');
      }
    });
    const { ask, work } = desk({ store: withAwayNotes(store, () => dead.has(process)), channels: [channel] });
    workers.push(work());
    if (process === 0) await ask('run');
    await pass(MINUTE);
  }
  // The last process failed after at most 30 seconds of its minute, and tried again after at most 36.
  await pass(10 * SECOND);
  expect(attempts).toEqual([1, 1, 1, 1, 2]);
  const stopping = Promise.all(workers.map((worker) => worker.stop()));
  await pass(6 * SECOND);
  await stopping;
});

test('while the store is away nothing is lost, and no attempt counts', async () => {
  const kept = memoryStore();
  let isAway = false;
  const attempts: number[] = [];
  const { channel, told } = keeping('chat', {}, ({ attempt }) => void attempts.push(attempt));
  const { ai, ask, work, errors } = desk({ store: withAwayNotes(kept, () => isAway), channels: [channel] });
  const worker = work();
  await pass(2 * SECOND);
  isAway = true;
  await ask('run');
  await pass(MINUTE);
  expect(told()).toEqual([]);
  expect(errors.length).toBeGreaterThan(0);
  isAway = false;
  await pass(10 * MINUTE);
  expect(told()).toEqual(['opened']);
  expect(attempts).toEqual([1]);
  expect(await ai.notices.channels()).toMatchObject([{ waiting: 0, dead: 0 }]);
  await worker.stop();
});

test('a request that is over before it was announced is not announced, except to programs that want everything', async () => {
  const [chat, log] = [keeping('chat'), keeping('log', { all: true })];
  const { runs, ask, work, store } = desk({ channels: [chat.channel, log.channel] });
  const id = await ask('run');
  // Registers the channels.
  const first = work();
  await first.stop();
  await runs.decide(id, 'reject');
  const worker = work();
  await pass(2 * SECOND);
  expect(chat.told()).toEqual([]);
  expect(log.told()).toEqual(['opened', 'decided']);
  expect(await notesIn(store, 'outbox-chat')).toBe(0);
  await worker.stop();
});

test('a channel that is new announces pending requests, and none that were settled before', async () => {
  const old = keeping('old', { all: true });
  const store = memoryStore();
  const before = desk({ store, channels: [old.channel] });
  const earlier = before.work();
  await before.runs.decide(await before.ask('settled'), 'reject');
  const pending = await before.ask('pending');
  await pass(2 * SECOND);
  await earlier.stop();
  expect(old.notices).toHaveLength(3);
  const added = keeping('added', { all: true });
  const worker = desk({ store, channels: [added.channel] }).work();
  await pass(2 * SECOND);
  expect(added.notices.map(({ requestId, type }) => [requestId, type])).toEqual([[pending, 'opened']]);
  expect(old.notices).toHaveLength(3);
  await worker.stop();
});

test('a channel changes what it sent when the request is over, with its receipt', async () => {
  const { channel, updates, told } = keeping('chat');
  channel.update = async (notice, sent) => void updates.push({ notice, sent });
  const { runs, ask, work } = desk({ channels: [channel] });
  const worker = work();
  const id = await ask('run');
  await pass(2 * SECOND);
  await runs.decide(id, 'approve', { by: 'ann' });
  await pass(2 * SECOND);
  expect(told()).toEqual(['opened']);
  expect(updates).toMatchObject([{ notice: { type: 'decided', requestId: id }, sent: { message: 'chat-1' } }]);
  await worker.stop();
});

test('the last notice is delivered once more if someone asks for it, with the same key', async () => {
  const { channel, notices, told } = keeping('chat');
  const { ai, runs, ask, work } = desk({ channels: [channel] });
  const worker = work();
  const id = await ask('run');
  await pass(2 * SECOND);
  await runs.decide(id, 'approve');
  await pass(2 * SECOND);
  await ai.notices.resend('chat', id);
  await pass(2 * SECOND);
  expect(told()).toEqual(['opened', 'decided', 'decided']);
  expect(notices[2]?.key).toBe(notices[1]?.key);
  await expect(ai.notices.resend('chat', 'unknown')).rejects.toMatchObject({ code: 'unknown-request' });
  await worker.stop();
});

test('reminders and escalations are told in order, and the end of the request too', async () => {
  const { channel, notices, told } = keeping('chat');
  const receipts: unknown[] = [];
  const deliver = channel.deliver.bind(channel);
  channel.deliver = async (notice, delivering) => {
    receipts.push(delivering.sent);
    return (await deliver(notice, delivering)) ?? null;
  };
  const { runs, ask, work } = desk(
    { channels: [channel] },
    {
      needsApproval: {
        policy: { deciders: { people: ['ann'] }, escalate: [{ after: '2h', to: { people: ['boss'] } }] },
      },
      remind: ['1h', '3h'],
      expireAfter: '4h',
    },
  );
  const worker = work(MINUTE);
  await ask('run');
  await pass(5 * HOUR);
  expect(told()).toEqual(['opened', 'reminded 1', 'escalated 1', 'reminded 2', 'expired']);
  expect(notices.map(({ at }) => Math.round((at - (notices[0]?.at ?? 0)) / HOUR))).toEqual([0, 1, 2, 3, 4]);
  expect(notices[2]?.to).toMatchObject([{ person: 'boss', why: 'escalated' }]);
  expect(receipts.slice(0, 3)).toEqual([undefined, { message: 'chat-1' }, { message: 'chat-2' }]);
  await runs.wait('run');
  await worker.stop();
});

test('a deleted run leaves nothing behind', async () => {
  const { channel } = keeping('chat', {}, () => {
    throw new Error('away');
  });
  const { runs, ask, work, store } = desk({ channels: [channel] });
  const worker = work();
  await ask('run');
  await pass(2 * SECOND);
  await runs.cancel('run');
  await runs.delete('run');
  await pass(HOUR);
  expect(await notesIn(store, 'outbox-chat')).toBe(0);
  expect(await notesIn(store, 'deliveries-chat')).toBe(0);
  await worker.stop();
});

test('hooks of a program get every notice of their type', async () => {
  const seen: string[] = [];
  const { ai, runs, ask, work } = desk();
  ai.onRequest('metrics', {
    opened: ({ tool }) => void seen.push(`opened ${tool}`),
    decided: ({ settlement }) => void seen.push(`decided by ${settlement?.by}`),
  });
  const worker = work();
  await runs.decide(await ask('run'), 'approve', { by: 'ann' });
  await pass(2 * SECOND);
  expect(seen).toEqual(['opened pay', 'decided by ann']);
  expect(() => ai.onRequest('late', {})).toThrow('before');
  await worker.stop();
});

test('channels are checked where they are added', () => {
  const { ai } = desk();
  const deliver = async () => undefined;
  expect(() => ai.notices.add({ name: 'a b', deliver })).toThrow('"a b" is not the name of a channel');
  expect(() => ai.notices.add({ name: 'chat' } as never)).toThrow('has no function `deliver`');
  ai.notices.add({ name: 'chat', deliver });
  expect(() => ai.notices.add({ name: 'chat', deliver })).toThrow('exists already');
  expect(() => ai.onRequest('x', { closed: deliver } as never)).toThrow('closed');
  const store = Object.assign(memoryStore(), { takeUntold: undefined });
  expect(() => desk({ store: store as never, channels: [{ name: 'chat', deliver }] })).toThrow('takeUntold');
});
