// The lease of a granted start is extended by the program that holds its token, and by nobody else, and never once it has ended.
import { countersign, memoryStore } from 'countersign';
import type { Store } from 'countersign/store';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

const TOKEN = 'a secret of the program';

function openProcess(store: Store, clock: () => number) {
  const ai = countersign({ store, clock });
  return { ai, gate: ai.gate({ name: 'deploy' }) };
}

/** A call whose start was granted for a second. */
async function started(change: (store: Store) => Store = (store) => store) {
  const time = { now: 1_800_000_000_000 };
  const clock = () => time.now;
  const store = memoryStore({ now: clock });
  const { ai, gate } = openProcess(store, clock);
  const asked = await gate.request({ to: 'production' }, { key: 'k' });
  if (asked.status !== 'pending') throw new Error(`The call is ${asked.status}.`);
  await ai.runs.decide(asked.id, { type: 'approve', edit: { to: 'staging' } });
  const granted = await gate.start(asked.id, { token: TOKEN, lease: 1_000 });
  expect(granted).toMatchObject({ status: 'granted', until: time.now + 1_000 });
  return { time, store, ai, gate, id: asked.runId, other: openProcess(change(store), clock).gate };
}

test('a renewal extends the lease, also for other processes, and the call is in doubt at its new end', async () => {
  const { time, gate, id, other, ai, store } = await started();
  time.now += 900;
  const until = time.now + 5_000;
  const renewed = await gate.renew(id, TOKEN, { lease: 5_000 });
  expect(renewed).toEqual({ status: 'granted', runId: id, token: TOKEN, input: { to: 'staging' }, until });
  time.now += 4_999;
  expect(await other.read(id)).toMatchObject({ status: 'started', until });
  // A worker looks again when the renewed lease ends, and not before.
  expect((await store.read(id))?.run.wakeAt).toBe(until);
  expect(await gate.start(id, { token: TOKEN })).toMatchObject({ status: 'granted', until });
  time.now += 1;
  expect(await other.read(id)).toMatchObject({ status: 'doubt' });
  expect(await gate.finish(id, TOKEN, { output: 0 })).toMatchObject({ status: 'done', output: 0 });
  expect(await ai.runs.verify(id)).toMatchObject({ ok: true });
});

test('a renewal never shortens the lease', async () => {
  const { time, gate, id, store } = await started();
  const before = (await store.read(id))?.run.version;
  expect(await gate.renew(id, TOKEN, { lease: 10 })).toMatchObject({ status: 'granted', until: time.now + 1_000 });
  expect((await store.read(id))?.run.version).toBe(before);
});

test('only the holder of the token renews', async () => {
  const { time, gate, id } = await started();
  for (const token of ['guessed', ''])
    await expect(gate.renew(id, token)).rejects.toMatchObject({ code: 'not-granted' });
  time.now += 1_000;
  expect(await gate.read(id)).toMatchObject({ status: 'doubt' });
});

test('a call that was not started is not renewed', async () => {
  const { gate } = openProcess(memoryStore(), Date.now);
  const { runId } = await gate.request({}, { key: 'pending' });
  await expect(gate.renew(runId, TOKEN)).rejects.toMatchObject({ code: 'not-granted' });
  await expect(gate.renew({ key: 'unknown' }, TOKEN)).rejects.toMatchObject({ code: 'unknown-run' });
});

test('a lease that has ended is not renewed, even if nobody was asked about it yet', async () => {
  const { time, gate, id } = await started();
  time.now += 1_000;
  expect(await gate.renew(id, TOKEN)).toMatchObject({ status: 'doubt' });
  expect(await gate.renew(id, TOKEN)).toMatchObject({ status: 'doubt' });
});

test('a call with a result is not renewed', async () => {
  const { gate, id, store } = await started();
  await gate.finish(id, TOKEN, { output: false });
  expect(await gate.renew(id, TOKEN)).toMatchObject({ status: 'done', output: false });
  expect((await store.read(id))?.events.map(({ type }) => type)).not.toContain('call-renewed');
});

test('a person lets the call start again: the first program cannot renew the start of the second', async () => {
  const { time, ai, gate, id } = await started();
  time.now += 1_000;
  const doubt = await gate.read(id);
  await ai.runs.decide('id' in doubt ? doubt.id : '', { type: 'approve' });
  expect(await gate.start(id, { token: 'second', lease: 1_000 })).toMatchObject({ status: 'granted' });
  const until = time.now + 1_000;
  expect(await gate.renew(id, TOKEN, { lease: 60_000 })).toMatchObject({ status: 'started', until });
  expect(await gate.renew(id, 'second', { lease: 2_000 })).toMatchObject({ status: 'granted', until: until + 1_000 });
});

/** Runs `act` once, right before a renewal is appended. */
function beforeRenewal(store: Store, act: () => Promise<unknown>): Store {
  let isOver = false;
  return changedStore(store, {
    append: async (append) => {
      if (!isOver && append.events.some(({ type }) => type === 'call-renewed')) {
        isOver = true;
        await act();
      }
      return store.append(append);
    },
  });
}

test.each([
  ['a doubt', 'doubt'],
  ['a report', 'done'],
] as const)('%s that is recorded just before a renewal stands', async (_name, status) => {
  let act = async (): Promise<unknown> => undefined;
  const { time, gate, id, other, store } = await started((store) => beforeRenewal(store, () => act()));
  act = async () => {
    if (status === 'done') return gate.finish(id, TOKEN, { output: null });
    time.now += 1_000;
    return gate.read(id);
  };
  expect(await other.renew(id, TOKEN)).toMatchObject({ status });
  expect((await store.read(id))?.events.map(({ type }) => type)).not.toContain('call-renewed');
});

test('two renewals at once both hold, and the longer one counts', async () => {
  const { time, gate, id, other } = await started();
  const both = await Promise.all([gate.renew(id, TOKEN, { lease: 9_000 }), other.renew(id, TOKEN, { lease: 5_000 })]);
  expect(both.map(({ status }) => status)).toEqual(['granted', 'granted']);
  expect(await gate.read(id)).toMatchObject({ status: 'started', until: time.now + 9_000 });
});

test('renewals cannot grow a run without end, and a full run still takes its result', async () => {
  const time = { now: 1_800_000_000_000 };
  const ai = countersign({ store: memoryStore({ now: () => time.now }), clock: () => time.now, maxRunEvents: 20 });
  const gate = ai.gate({ name: 'deploy' });
  const asked = await gate.request({}, { key: 'k' });
  await ai.runs.decide('id' in asked ? asked.id : '', 'approve');
  await gate.start(asked.runId, { token: TOKEN });
  const renewAll = async () => {
    for (let tries = 0; tries < 30; tries++) {
      time.now += 1;
      await gate.renew(asked.runId, TOKEN);
    }
  };
  await expect(renewAll()).rejects.toMatchObject({ code: 'run-too-large' });
  expect(await gate.finish(asked.runId, TOKEN, { output: 1 })).toMatchObject({ status: 'done' });
});
