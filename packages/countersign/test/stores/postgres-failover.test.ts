// A primary with a synchronous standby dies in the middle of the work, and the standby takes its place and its address.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { countersign, z } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { scriptedModel } from 'countersign/testing';
import { afterAll, expect, test } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from '../../../../scripts/postgres.mjs';
import { eventually } from '../eventually.ts';
import { onServer, testServer } from './postgres-server.ts';

const RUNS = 40;

// Says whether there is a PostgreSQL.
const found = await testServer();
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
}, 60_000);

/** The address that clients use, whichever server has it. */
async function openAddress(port: number) {
  let target = port;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
      one.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `postgres://postgres@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`,
    lead: (to: number) => {
      target = to;
    },
  };
}

/** Two servers; every commit waits until the standby has it. */
async function openPair() {
  const settings = { fsync: 'off', wal_level: 'replica', max_wal_senders: 4, hot_standby: 'on' };
  const primary = await startPostgres({ settings });
  closing.push(() => primary.stop());
  const standby = await startPostgres({ settings, standbyOf: primary.port });
  closing.push(() => standby.stop());
  await onServer(primary.url(), "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
  await onServer(primary.url(), 'SELECT pg_reload_conf()');
  const isSynchronous = async () => {
    const [row] = await onServer(primary.url(), 'SELECT sync_state FROM pg_stat_replication');
    expect(row?.sync_state).toBe('sync');
  };
  await eventually(isSynchronous);
  return { primary, standby };
}

test.runIf(found)(
  'nothing acknowledged is lost, and no call runs twice, when a synchronous standby takes over',
  {
    timeout: 180_000,
  },
  async () => {
    const { primary, standby } = await openPair();
    const address = await openAddress(primary.port);
    const paid: number[] = [];
    const open = () => {
      const store = postgresStore({ url: address.url, poolMax: 8 });
      closing.push(() => store.close());
      const model = scriptedModel(({ messages }) => {
        if (messages.some(({ role }) => role === 'tool')) return 'Done.';
        const [part] = messages.at(-1)?.content ?? [];
        return { calls: [{ name: 'pay', input: { run: Number(part && 'text' in part ? part.text : -1) } }] };
      });
      const ai = countersign({ model, store });
      const pay = ai.defineTool(
        { name: 'pay', description: 'Pays.', inputSchema: z.object({ run: z.number() }), needsApproval: true },
        ({ run }) => void paid.push(run),
      );
      return { ai, agent: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
    };
    const [one, other] = [open(), open()];
    const acknowledged = new Set<number>();
    const idOf = (run: number) => `run-${run}`;
    const insistOn = async <T>(act: () => Promise<T>): Promise<T> => {
      for (;;) {
        try {
          return await act();
        } catch (error) {
          const { code, retryable } = error as { readonly code?: string; readonly retryable?: boolean };
          if (code !== 'store-failed' || !retryable) throw error;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    };
    const play = async (run: number): Promise<void> => {
      const { ai } = run % 2 ? one : other;
      const start = () => one.agent.start({ prompt: String(run) }, { runId: idOf(run) });
      await insistOn(start).catch((error: { readonly code?: string }) => {
        // The first attempt was recorded, and its answer was lost.
        if (error.code !== 'run-exists') throw error;
      });
      const request = await eventually(async () => {
        const [item] = (await insistOn(() => ai.runs.requests({ runId: idOf(run) }))).items;
        if (!item) throw new Error(`Run ${run} has not asked yet.`);
        return item;
      });
      await insistOn(() => ai.runs.decide(request.id, 'approve', { by: 'ann' }));
      acknowledged.add(run);
    };
    const players = Array.from({ length: 8 }, async (_, player) => {
      for (let run = player; run < RUNS; run += 8) await play(run);
    });
    await eventually(() => expect(acknowledged.size).toBeGreaterThan(RUNS / 4));
    expect(acknowledged.size).toBeLessThan(RUNS);
    const before = [...acknowledged];
    await primary.crash();
    await onServer(standby.url(), 'SELECT pg_promote()');
    address.lead(standby.port);
    await Promise.all(players);

    // What a crash left unknown is asked, and a person who looks at the bank answers.
    const { runs } = one.ai;
    const workers = [one, other].map(({ ai }) => ai.runs.work());
    closing.push(() => Promise.all(workers.map((worker) => worker.stop())));
    await eventually(async () => {
      for (const { id, kind, runId } of (await runs.requests({ limit: 100 })).items) {
        expect(kind).toBe('doubt');
        const happened = paid.includes(Number(runId.slice(4)));
        await runs.decide(id, happened ? { type: 'respond', output: null } : { type: 'restart' }, { by: 'ann' });
      }
      const { items } = await runs.list({ status: 'done', limit: 100 });
      expect(items).toHaveLength(RUNS);
    });
    for (const run of before) expect(await runs.get(idOf(run))).toMatchObject({ status: 'done' });
    for (let run = 0; run < RUNS; run += 1) expect(await runs.verify(idOf(run))).toMatchObject({ ok: true });
    expect(paid.toSorted((a, b) => a - b)).toEqual(Array.from({ length: RUNS }, (_, run) => run));
  },
);
