// A withdrawal and a start at the same moment: one of them is recorded first, and the other changes nothing.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { countersign, type GateResult, memoryStore } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { expect, onTestFinished, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { changedStore } from '../changed-store.ts';
import { randomFrom } from '../random.ts';

const ROUNDS = campaignSize(40, 2_000);

function openProcess(store: Store) {
  const ai = countersign({ store });
  return { ai, gate: ai.gate({ name: 'deploy' }) };
}

/** Runs `act` once, right before such an event is appended. */
function justBefore(store: Store, type: string, act: () => Promise<unknown>): Store {
  let isOver = false;
  return changedStore(store, {
    append: async (append) => {
      if (!isOver && append.events.some((event) => event.type === type)) {
        isOver = true;
        await act();
      }
      return store.append(append);
    },
  });
}

async function approved({ ai, gate }: ReturnType<typeof openProcess>, key: string): Promise<string> {
  const asked = await gate.request({}, { key });
  if (asked.status !== 'pending') throw new Error(`The call is ${asked.status}.`);
  await ai.runs.decide(asked.id, 'approve', { by: 'bea' });
  return asked.runId;
}

test('a start that is recorded just before a withdrawal stands, and its result is recorded', async () => {
  const store = memoryStore();
  const one = openProcess(store);
  const id = await approved(one, 'k');
  const two = openProcess(justBefore(store, 'run-ended', () => one.gate.start(id, { token: 't' })));
  expect(await two.gate.withdraw(id)).toMatchObject({ status: 'started' });
  expect(await one.gate.finish(id, 't', { output: 'deployed' })).toMatchObject({ status: 'done', output: 'deployed' });
});

test('a start after a withdrawal is refused, even if it was about to be recorded', async () => {
  const store = memoryStore();
  const one = openProcess(store);
  const id = await approved(one, 'k');
  const two = openProcess(justBefore(store, 'call-started', () => one.gate.withdraw(id)));
  expect(await two.gate.start(id)).toMatchObject({ status: 'rejected' });
  expect((await store.read(id))?.events.map(({ type }) => type)).not.toContain('call-started');
});

test('a withdrawal leaves a body alone that has just started', async () => {
  const store = memoryStore();
  const one = openProcess(store);
  const id = await approved(one, 'k');
  const begun = Promise.withResolvers<void>();
  const body = Promise.withResolvers<string>();
  let running: Promise<GateResult> | undefined;
  const run = () => {
    begun.resolve();
    return body.promise;
  };
  const begin = () => {
    running = one.gate.request({}, { key: 'k', run });
    return begun.promise;
  };
  const two = openProcess(justBefore(store, 'run-ended', begin));
  const withdrawing = two.gate.withdraw(id);
  await begun.promise;
  body.resolve('deployed');
  expect(await withdrawing).toMatchObject({ status: 'done', output: 'deployed' });
  expect(await running).toMatchObject({ status: 'done', output: 'deployed' });
  expect((await one.ai.runs.get(id)).status).toBe('done');
});

test('a run whose call a program outside has started cannot be cancelled, nor can the doubt about it', async () => {
  let now = Date.now();
  const ai = countersign({ store: memoryStore({ now: () => now }), clock: () => now });
  const gate = ai.gate({ name: 'deploy' });
  const id = await approved({ ai, gate }, 'k');
  await gate.start(id, { token: 't', lease: 1_000 });
  await expect(ai.runs.cancel(id, { by: 'boss' })).rejects.toMatchObject({ code: 'call-started' });
  now += 1_001;
  expect(await gate.withdraw(id)).toMatchObject({ status: 'doubt' });
  await expect(ai.runs.cancel(id, { by: 'boss' })).rejects.toMatchObject({ code: 'call-started' });
  expect((await ai.runs.requests()).items).toMatchObject([{ kind: 'doubt' }]);
  expect(await gate.finish(id, 't', { output: 0 })).toMatchObject({ status: 'done', output: 0 });
});

test('starts, reports and withdrawals at once on one SQLite file: each call is either withdrawn or reported', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-withdraw-'));
  const stores = [0, 1].map(() => sqliteStore(join(folder, 'calls.db')));
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const [one, two] = stores.map(openProcess) as [ReturnType<typeof openProcess>, ReturnType<typeof openProcess>];
  const random = randomFrom(33);
  const later = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let turns = random.below(12); turns > 0; turns--) await nextTurn();
    return work();
  };
  const ended = { granted: 0, withdrawn: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const id = await approved(one, `k${round}`);
    const [caller, other] = random.chance(0.5) ? [one, two] : [two, one];
    const startAndReport = async () => {
      const start = await caller.gate.start(id);
      if (start.status !== 'granted') return start;
      return { granted: await later(() => caller.gate.finish(id, start.token, { output: round })) };
    };
    const [started, withdrawn] = await Promise.all([
      later(startAndReport),
      later(() => other.gate.withdraw(id)),
      later(() => other.ai.runs.cancel(id).catch((error) => expect(error).toMatchObject({ code: 'call-started' }))),
    ]);
    const last = await one.gate.read(id);
    if ('granted' in started) {
      ended.granted += 1;
      expect(started.granted).toMatchObject({ status: 'done', output: round });
      expect(['started', 'done']).toContain(withdrawn.status);
      expect(last).toMatchObject({ status: 'done', output: round });
    } else {
      ended.withdrawn += 1;
      expect([started.status, withdrawn.status, last.status]).toEqual(['rejected', 'rejected', 'rejected']);
    }
  }
  expect(ended.granted).toBeGreaterThan(0);
  expect(ended.withdrawn).toBeGreaterThan(0);
});
