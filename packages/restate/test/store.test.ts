// The store on Restate where it differs from others: late changes, cuts, new releases, lost lists, and races through it.
import { setTimeout as delay } from 'node:timers/promises';
import { restateStore, serveRestate } from '@countersign/restate';
import { countersign, memoryStore, z } from 'countersign';
import type { Append, Store, StoredEvent } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { campaignSize } from '../../countersign/test/campaign-size.ts';
import { raceStartsAgainstFreezes } from '../../countersign/test/freezes/racing.ts';
import { proxyTo } from './cut.ts';
import { register } from './restate-node.ts';
import { useRestate } from './subject.ts';

const { place, newName, closeLater } = useRestate();

const event = (step: string): StoredEvent => ({ v: 1, type: 'step-done', callId: 'call', step, output: null, at: 1 });

function creation(runId: string, given: Partial<Append> = {}): Append {
  return {
    ...{ runId, expectedVersion: 0, create: { id: runId, agent: 'agent', startedBy: null }, events: [event('0')] },
    ...{ hash: '', status: 'waiting', wakeAt: null, outcome: null, opened: [], settled: [] },
    ...given,
  };
}

function addition(runId: string, expectedVersion: number, given: Partial<Append> = {}): Append {
  const { create: _, ...append } = creation(runId);
  return { ...append, expectedVersion, ...given };
}

/** Services and a store on them. `via` is where Restate finds the services, if not directly. */
async function serve(name = newName(), lists: Store = memoryStore(), via?: (port: number) => Promise<number>) {
  const endpoint = await serveRestate({ lists, name, port: 0, log: () => {} });
  closeLater(endpoint.close);
  await register(place().admin, via ? await via(endpoint.port) : endpoint.port);
  const open = (timeoutMs = 20_000) => restateStore({ ...place(), name, lists, timeoutMs });
  return { endpoint, lists, name, open };
}

/** An agent that pays after an approval. `effects` has one entry per payment. */
function clerkOn(store: Store, effects: string[], release = 'first') {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: { amount: 5 } }] },
  );
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
    async () => {
      effects.push(release);
      return 'paid';
    },
  );
  return { runs: ai.runs, freezes: ai.freezes, agent: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

async function pausedRun({ agent, runs }: ReturnType<typeof clerkOn>): Promise<string> {
  const { id } = await agent.start('Pay.');
  const [question] = (await runs.wait(id)).pending;
  if (question === undefined) throw new Error('The run did not pause.');
  return question;
}

test('of fifty decisions at the same moment exactly one counts, and the call runs once', async () => {
  const { open } = await serve();
  const effects: string[] = [];
  const clerks = [clerkOn(open(), effects), clerkOn(open(), effects)] as const;
  const id = await pausedRun(clerks[0]);
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, index) => {
      const decision = index % 2 === 0 ? 'approve' : ({ type: 'reject', reason: 'Not now.' } as const);
      return (clerks[index % 2] ?? clerks[0]).runs.decide(id, decision, { by: `person-${index}` });
    }),
  );
  // Who decides the same as the winner is told so. Everyone else is refused.
  const winners = results.flatMap((result) =>
    result.status === 'fulfilled' && 'by' in result.value ? [result.value.by] : [],
  );
  const codes = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
  expect(new Set(winners).size).toBe(1);
  expect([winners.length, new Set(codes)]).toEqual([25, new Set(['already-decided'])]);
  await clerks[0].runs.wait(id.split(':')[0] ?? '');
  expect((await clerks[1].runs.request(id)).settlement).toMatchObject({ by: winners[0] });
  expect(effects).toHaveLength(Number(winners[0]?.split('-')[1]) % 2 === 0 ? 1 : 0);
});

test('a frozen call waits after its approval in every process, and runs once after the freeze is lifted', async () => {
  const { open } = await serve();
  const effects: string[] = [];
  const [one, other] = [clerkOn(open(), effects), clerkOn(open(), effects)];
  const id = await pausedRun(one);
  const runId = id.split(':')[0] ?? '';
  const freeze = await other.freezes.freeze({ tools: ['pay'], reason: 'An incident.' }, { by: 'eve' });
  await one.runs.decide(id, 'approve');
  expect([(await one.runs.wait(runId)).status, effects]).toEqual(['waiting', []]);
  expect((await other.runs.request(id)).outcome).toMatchObject({ state: 'frozen', reason: 'An incident.' });
  await expect.poll(async () => (await other.freezes.lift(freeze.id, { by: 'eve' })).lifted).not.toBeNull();
  expect((await one.runs.wait(runId, { until: 'end' })).status).toBe('done');
  expect(effects).toEqual(['first']);
});

test('no start that was sent after a freeze has returned is recorded before the freeze is lifted', {
  timeout: campaignSize(120_000, 3_600_000),
}, async () => {
  const { open } = await serve();
  await raceStartsAgainstFreezes([open(60_000), open(60_000)], {
    starts: campaignSize(50, 10_000),
    lanes: campaignSize(10, 20),
    between: campaignSize(10, 200),
    lagMs: 1_000,
  });
});

test('a change that was given up does not happen later, and the next read knows', async () => {
  const { endpoint, lists, name, open } = await serve();
  const store = open(1_500);
  await store.append(creation('run'));
  await endpoint.close();
  await expect(store.append(addition('run', 1))).rejects.toMatchObject({ code: 'store-failed', retryable: true });
  // Waits in line behind the append, so it has no answer while the services are away.
  await expect(store.read('run')).rejects.toMatchObject({ code: 'store-failed' });
  const again = await serveRestate({ lists, name, port: endpoint.port, log: () => {} });
  closeLater(again.close);
  await expect.poll(() => store.read('run').catch(() => 'away')).toMatchObject({ run: { version: 1 } });
  await store.append(addition('run', 1));
});

test('an append that Restate could not store is refused before it is sent', async () => {
  const store = (await serve()).open();
  await store.append(creation('run'));
  const large = addition('run', 1, { events: [event('x'.repeat(9_000_000))] });
  await expect(store.append(large)).rejects.toMatchObject({ code: 'store-failed', retryable: false });
  await store.append(addition('run', 1, { events: [event('x'.repeat(7_000_000))] }));
  expect((await store.read('run', { after: 1 }))?.events).toHaveLength(1);
});

test('a run that was paused is decided on a new release, and its call runs once', async () => {
  const { endpoint, lists, name, open } = await serve();
  const effects: string[] = [];
  const id = await pausedRun(clerkOn(open(), effects));
  // The new release is another process at another address. The old one goes away.
  await serve(name, lists);
  await endpoint.close();
  const { runs } = clerkOn(open(), effects, 'second');
  await runs.decide(id, 'approve');
  expect((await runs.wait(id.split(':')[0] ?? '')).status).toBe('done');
  expect(effects).toEqual(['second']);
});

test.each([
  ['and its connections break', 'broken'],
  ['and its connections stay silent', 'silent'],
] as const)('a cut between Restate and the services delays a decision, %s, and the call runs once', async (_, how) => {
  let network: Awaited<ReturnType<typeof proxyTo>> | undefined;
  const { open } = await serve(undefined, undefined, async (port) => {
    network = await proxyTo(port);
    closeLater(network.close);
    return network.port;
  });
  const effects: string[] = [];
  const clerk = clerkOn(open(), effects);
  const id = await pausedRun(clerk);
  network?.cut();
  const deciding = clerk.runs.decide(id, 'approve');
  await delay(1_000);
  network?.mend(how);
  await deciding;
  expect((await clerk.runs.wait(id.split(':')[0] ?? '')).status).toBe('done');
  expect(effects).toEqual(['first']);
});

test('lost lists are rebuilt as they were, and complete themselves with the next change', async () => {
  const { endpoint, lists, name, open } = await serve();
  const store = open();
  const question = (id: string, runId: string) => ({
    ...{ id, runId, agent: 'agent', tool: 'tool', kind: 'approval', risk: null, labels: ['red'], createdAt: 1_000 },
    ...{ expiresAt: null, deciders: null, card: { question: id }, digest: id },
  });
  for (const runId of ['one', 'two', 'three']) {
    const opened = ['a', 'b', 'c'].map((letter) => question(`${runId}:${letter}`, runId));
    await store.append(creation(runId, { opened }));
    await store.append(addition(runId, 1, { settled: [{ id: `${runId}:a`, settlement: 'so' }] }));
    await store.append(addition(runId, 2, { opened: [question(`${runId}:d`, runId)] }));
    await store.append(addition(runId, 3, { settled: [{ id: `${runId}:d`, settlement: 'so' }] }));
    await store.append(addition(runId, 4, { status: 'failed', hash: 'end', events: [event('1'), event('2')] }));
  }
  await store.append(addition('two', 6, { status: 'done' }));
  await store.notes.put('names', 'ann', 'Ann');
  const look = async (from: Store) => ({
    runs: (await from.listRuns({ limit: 10, order: 'oldest' })).items,
    pending: (await from.listRequests({ limit: 20 })).items.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    settled: (await from.listRequests({ limit: 20, settled: true })).items.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    notes: (await from.notes.list('names', { limit: 10 })).items.map(({ key, value }) => ({ key, value })),
  });
  await expect.poll(async () => (await lists.read('two'))?.run.version).toBe(7);
  await expect.poll(async () => (await lists.notes.get('names', 'ann')) !== undefined).toBe(true);
  const before = await look(lists);
  expect(before.settled).toHaveLength(6);

  await endpoint.close();
  const empty = await serve(name);
  await empty.open().append(addition('three', 6, { status: 'done' }));
  await expect.poll(async () => (await empty.lists.read('three'))?.run.version).toBe(7);
  expect((await empty.lists.listRuns({ limit: 10 })).items).toHaveLength(1);
  expect(await empty.open().projection?.rebuild()).toBe(3);
  await expect.poll(async () => (await look(empty.lists)).notes).toEqual(before.notes);
  const after = await look(empty.lists);
  expect(after.runs.filter(({ id }) => id !== 'three')).toEqual(before.runs.filter(({ id }) => id !== 'three'));
  expect({ pending: after.pending, settled: after.settled }).toEqual({
    pending: before.pending,
    settled: before.settled,
  });
});

test('an append costs as much in a long run as in a short one', async () => {
  const store = (await serve()).open();
  const events = (count: number) => Array.from({ length: count }, (_, index) => event(`${index} ${'x'.repeat(400)}`));
  const sizes = { short: 10, long: 5_000 };
  const times = { short: [] as number[], long: [] as number[] };
  for (const name of ['short', 'long'] as const) await store.append(creation(name, { events: events(sizes[name]) }));
  for (let round = 0; round < 15; round += 1) {
    for (const name of ['short', 'long'] as const) {
      const startedAt = performance.now();
      await store.append(addition(name, sizes[name] + round));
      times[name].push(performance.now() - startedAt);
    }
  }
  const median = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  expect(median(times.long)).toBeLessThan(3 * median(times.short));
  expect((await store.read('long', { after: 5_014 }))?.events).toHaveLength(1);
});
