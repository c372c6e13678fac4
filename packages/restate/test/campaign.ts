// A campaign of kills: workers drive runs on a cluster while workers, services and nodes are killed. Then every run is
// completed and checked against the ledger of effects.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunRequest, Runs } from 'countersign';
import type { Append, RunRecord, Store } from 'countersign/store';
import { type Ack, effectsOf, type Line, openBank, openStore, type Place, readLines, truthOn } from './bank.ts';
import { type RestateNode, register } from './restate-node.ts';

export type Victim = 'worker' | 'service' | 'node' | 'service and node';

export type CampaignOptions = {
  readonly folder: string;
  /** Started. */
  readonly nodes: readonly RestateNode[];
  readonly kills: number;
  /** Whom to kill, in turns. */
  readonly victims: readonly Victim[];
  /** How long a worker pauses between two starts. */
  readonly pauseMs: number;
  /** How long a cluster has to settle before the next kill, in addition to a random moment. Default: 0. */
  readonly settleMs?: number;
  readonly log?: (line: string) => void;
};

export type Figures = {
  readonly kills: number;
  readonly runs: number;
  readonly effects: number;
  readonly doubts: number;
  readonly duplicates: number;
  readonly acknowledged: number;
  readonly lost: number;
  readonly unfinished: number;
  readonly problems: readonly string[];
  /** From each death of a node to the first answer to a change, in milliseconds. */
  readonly answeredAfterMs: readonly number[];
  readonly seconds: number;
};

const WORKERS = 2;

export async function campaign(options: CampaignOptions): Promise<Figures> {
  const { folder, nodes, kills, victims, settleMs = 0, log = () => {} } = options;
  const [first] = nodes;
  if (first === undefined) throw new Error('A campaign needs a node.');
  const startedAt = performance.now();
  const place: Place = {
    ...{ ingress: nodes.map(({ ingress }) => ingress), admin: first.admin, lists: join(folder, 'lists.db') },
    ...{ ledger: join(folder, 'ledger'), acks: join(folder, 'acks') },
  };
  const problems: string[] = [];
  const service = await startService(place.lists, 0);
  await register(first.admin, service.port);
  const store = openStore(place);
  await store.append(PROBE);
  const workers = Array.from({ length: WORKERS }, () => startWorker(place, options.pauseMs, problems));
  const answeredAfterMs: number[] = [];
  let killed = 0;
  for (let turn = 0; killed < kills; turn += 1) {
    const victim = victims[turn % victims.length] ?? 'worker';
    const node = nodes[Math.floor(Math.random() * nodes.length)] ?? first;
    await delay(settleMs + 200 + Math.random() * 500);
    const diedAt = performance.now();
    if (victim === 'worker') {
      await workers[turn % WORKERS]?.restart();
      killed += 1;
      continue;
    }
    const deaths = [];
    if (victim !== 'node') deaths.push(service.kill());
    if (victim !== 'service') deaths.push(node.kill());
    killed += deaths.length;
    await Promise.all(deaths);
    const back = [];
    if (victim !== 'node') back.push(delay(Math.random() * 300).then(() => service.start()));
    // One node cannot stand in for itself.
    if (victim !== 'service' && nodes.length === 1) back.push(node.start());
    if (victim === 'node') answeredAfterMs.push(await firstAnswer(store, diedAt));
    if (victim !== 'service' && nodes.length > 1) back.push(node.start());
    await Promise.all(back);
    log(
      `${killed} kills, ${Math.round((performance.now() - startedAt) / 1000)} s, last: ${victim}, answer after ${Math.round(answeredAfterMs.at(-1) ?? 0)} ms`,
    );
  }
  for (const worker of workers) await worker.stop();
  try {
    const doubts = await recover(store, place);
    const found = await inspect(store, place);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    return { ...found, kills: killed, doubts, problems: [...problems, ...found.problems], answeredAfterMs, seconds };
  } finally {
    await store.close();
    await service.kill();
  }
}

/** A run of its own, to see when the cluster answers again. */
const PROBE: Append = {
  ...{ runId: 'probe', expectedVersion: 0, create: { id: 'probe', agent: 'probe', startedBy: null } },
  events: [{ v: 1, type: 'step-done', callId: 'call', step: 'one', output: null, at: 0 }],
  ...{ hash: '', status: 'cancelled', wakeAt: null, outcome: null, opened: [], settled: [] },
};

/** Until a change is on record. The store itself tries one node after the other. */
async function firstAnswer(store: Store, since: number): Promise<number> {
  for (;;) {
    try {
      const { run } = (await store.read('probe')) ?? { run: { version: 0 } };
      const { create: _, ...probe } = PROBE;
      await store.append({ ...probe, expectedVersion: run.version });
      return performance.now() - since;
    } catch {
      await delay(20);
    }
  }
}

async function startService(lists: string, wantedPort: number) {
  let port = wantedPort;
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = startChild('service-child.ts', { lists, port });
    port = Number(await firstLine(child));
  };
  await start();
  return {
    get port() {
      return port;
    },
    start,
    kill: () => kill(child),
  };
}

function startWorker(place: Place, pauseMs: number, problems: string[]) {
  const spawnOne = (): ChildProcess => {
    const child = startChild('worker-child.ts', { place, pauseMs });
    const errors: string[] = [];
    child.stderr?.setEncoding('utf8').on('data', (text: string) => errors.push(text));
    child.once('close', (code) => {
      if (code !== null) problems.push(`a worker ended by itself with ${code}: ${errors.join('')}`);
    });
    return child;
  };
  let child = spawnOne();
  return {
    restart: async (): Promise<void> => {
      await kill(child);
      child = spawnOne();
      await firstLine(child);
    },
    stop: () => kill(child),
  };
}

function startChild(program: string, options: unknown): ChildProcess {
  const stdio = ['pipe', 'pipe', 'pipe'] as const;
  return spawn(process.execPath, [join(import.meta.dirname, program), JSON.stringify(options)], {
    stdio: [...stdio],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) return '';
  for await (const line of createInterface({ input: child.stdout })) return line;
  return '';
}

async function kill(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

/** Completes all runs, with a person who knows what happened. Returns the number of doubts. */
async function recover(store: Store, place: Place): Promise<number> {
  const { runs } = openBank(store, place, () => 0);
  const worker = runs.work({ concurrency: 16, pollMs: 100 });
  let doubts = 0;
  try {
    for (const until = performance.now() + 600_000; performance.now() < until; await delay(100)) {
      const { items } = await runs.requests({ limit: 20 });
      const lines = readLines<Line>(place.ledger);
      await Promise.all(
        items.map(async (card) => {
          const isDoubt = card.kind === 'doubt';
          try {
            await runs.decide(card.id, isDoubt ? truthOn(card, lines) : 'approve', { by: 'auditor' });
            doubts += isDoubt ? 1 : 0;
          } catch (error) {
            // The lists lag: it was decided a moment ago.
            if ((error as { code?: unknown }).code !== 'already-decided') throw error;
          }
        }),
      );
      const { running, waiting } = await store.countRuns();
      if (running + waiting === 0 && (await store.projection?.lagMs()) === 0) break;
    }
  } finally {
    await worker.stop();
  }
  return doubts;
}

type Inspection = Omit<Figures, 'kills' | 'doubts' | 'answeredAfterMs' | 'seconds'>;

async function inspect(store: Store, place: Place): Promise<Inspection> {
  const problems: string[] = [];
  const { runs } = openBank(store, place, () => 0);
  const records = (await all<RunRecord>((page) => runs.list({ limit: 200, ...page }))).filter(
    ({ id }) => id !== 'probe',
  );
  const cards = await all<RunRequest>((page) => runs.requests({ settled: true, limit: 200, ...page }));
  const lines = readLines<Line>(place.ledger);
  const acks = readLines<Ack>(place.acks);

  const unfinished = records.filter(({ status }) => status !== 'done');
  for (const { id, status, outcome } of unfinished) problems.push(`${id} is ${status}: ${JSON.stringify(outcome)}`);

  // A call that is declared idempotent may run again.
  const paid = Map.groupBy(
    lines.filter(({ tool }) => tool === 'pay'),
    ({ key }) => key,
  );
  const duplicates = [...paid].filter(([, same]) => same.length > 1);
  for (const [key] of duplicates) problems.push(`happened twice: ${key}`);

  const known = new Set(records.map(({ id }) => id));
  const settlements = new Map(cards.map(({ id, settlement }) => [id, settlement as { readonly by?: string }]));
  const lost = acks.filter((ack) =>
    'start' in ack ? !known.has(ack.start) : settlements.get(ack.decided)?.by !== ack.by,
  );
  for (const ack of lost) problems.push(`acknowledged, then lost: ${JSON.stringify(ack)}`);

  const byRun = Map.groupBy(lines, ({ run }) => run);
  for (const { id } of records) {
    const happened = [...new Set((byRun.get(id) ?? []).map(({ tool, key }) => `${tool} ${key}`))];
    const tools = happened.map((line) => line.split(' ')[0]).toSorted();
    if (tools.join() !== effectsOf(id).join()) problems.push(`${id} had the effects ${tools.join()}`);
  }
  await verifySome(runs, records, problems);
  const acknowledged = acks.length;
  const figures = { runs: records.length, effects: lines.length, duplicates: duplicates.length, acknowledged };
  return { ...figures, lost: lost.length, unfinished: unfinished.length, problems };
}

/** The hash chain of the runs themselves, and not of their copies. */
async function verifySome(runs: Runs, records: readonly RunRecord[], problems: string[]): Promise<void> {
  for (const { id } of records.slice(0, 50)) {
    const { problem } = await runs.verify(id);
    if (problem !== null) problems.push(`${id}: ${problem}`);
  }
}

async function all<T>(
  list: (page: {
    readonly cursor?: string;
  }) => Promise<{ readonly items: readonly T[]; readonly cursor: string | null }>,
): Promise<readonly T[]> {
  const items: T[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await list(cursor === undefined ? {} : { cursor });
    items.push(...page.items);
    cursor = page.cursor;
  }
  return items;
}
