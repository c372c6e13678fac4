// A campaign on a fleet: servers and workers on one PostgreSQL, a rolling deploy, then each process killed in turn.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createToken } from '@countersign/server';
import { createClient } from '@countersign/server/client';
import { postgresStore } from 'countersign/postgres';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../../../../scripts/free-port.mjs';
import { randomFrom } from '../../../countersign/test/random.ts';
import { type Findings, inspect, type Kill } from './inspect.ts';
import { readLines, unfinishedOf } from './ledger.ts';
import { type Build, Member, type Role } from './members.ts';
import { followChanges } from './streams.ts';
import { type Order, Traffic } from './traffic.ts';

export type CampaignOptions = {
  readonly folder: string;
  /** The URL of an empty database. */
  readonly store: string;
  /** The fleet starts with the first build and is deployed with the second. */
  readonly builds: readonly [previous: Build, current: Build];
  readonly servers: number;
  readonly workers: number;
  /** How often each process is killed. */
  readonly rounds: number;
  /** How many orders are open at any time. */
  readonly atOnce: number;
  /** Pauses between the kills. */
  readonly gapMs: number;
  /** A take-over that takes longer is a problem; 10 seconds by default. */
  readonly takeOverMs?: number;
  readonly seed: number;
  readonly log?: (text: string) => void;
};

export type Figures = Findings & {
  readonly servers: number;
  readonly workers: number;
  readonly kills: number;
  readonly deploySeconds: number;
  readonly seconds: number;
};

/** Orders that wait for a person during the whole deploy. */
const HELD = 6;
/** How long to wait until a process is in the middle of something before it is killed. */
const BUSY_MS = 8_000;

export async function campaign(options: CampaignOptions): Promise<Figures> {
  const { folder, store, builds, seed, atOnce, takeOverMs = 10_000, log = () => undefined } = options;
  const startedAt = performance.now();
  mkdirSync(folder, { recursive: true });
  const ledger = join(folder, 'ledger');
  const members = await membersOf(options, ledger);
  const servers = members.filter(({ role }) => role === 'server');
  const tokens = await tokensOn(store);
  const random = randomFrom(seed);
  const stopOrders = new AbortController();
  const stopChanges = new AbortController();
  const traffic = new Traffic({ servers, ledger, tokens, random });
  try {
    await Promise.all(members.map((member) => member.start(builds[0])));
    const changes = servers.map((server) => followChanges(server, tokens.ann, stopChanges.signal));
    for (let count = 0; count < HELD; count++) void traffic.begin('held');
    const keeping = traffic.keep(atOnce, stopOrders.signal);
    while (traffic.orders.length < HELD + 2 * atOnce) await delay(20);

    log('deploying');
    const deployedAt = performance.now();
    const problems = await deploy(members, builds[1]);
    const deploySeconds = (performance.now() - deployedAt) / 1000;
    traffic.release();
    log('killing');
    const kills = await killInTurn(options, members, ledger);
    log('finishing');
    stopOrders.abort();
    await keeping;
    const orders = await Promise.all(traffic.orders);
    // The streams of changes have this long to report the last pauses.
    await delay(200);
    stopChanges.abort();
    const settled = await settledOn(servers[0] as Member, tokens.ann);
    const lines = readLines(ledger);
    const found = inspect({ orders, lines, kills, changes: changes.flat(), settled, takeOverMs });
    return {
      ...{ servers: options.servers, workers: options.workers, kills: kills.length },
      ...found,
      deploySeconds: rounded(deploySeconds),
      seconds: rounded((performance.now() - startedAt) / 1000),
      problems: [...problems, ...oldHeld(orders, lines, builds[1]), ...found.problems],
    };
  } finally {
    stopOrders.abort();
    stopChanges.abort();
    traffic.release();
    await Promise.all(members.map((member) => member.kill()));
  }
}

async function membersOf({ folder, store, ...options }: CampaignOptions, ledger: string): Promise<readonly Member[]> {
  const roles = Array.from({ length: Math.max(options.servers, options.workers) }, (_, index): readonly Role[] => [
    ...(index < options.servers ? (['server'] as const) : []),
    ...(index < options.workers ? (['worker'] as const) : []),
  ]).flat();
  const members: Member[] = [];
  for (const role of roles) members.push(new Member(role, await freePort(), { folder, store, ledger }));
  return members;
}

async function tokensOn(url: string): Promise<{ readonly ann: string; readonly bob: string }> {
  const store = postgresStore(url);
  try {
    await store.migrate();
    const [ann, bob] = await Promise.all(
      ['ann', 'bob'].map((person) => createToken(store.notes, { person, reach: 'all' })),
    );
    return { ann: ann?.token ?? '', bob: bob?.token ?? '' };
  } finally {
    await store.close();
  }
}

/** Replaces each process by one of the new build, one after the other. Returns the problems. */
async function deploy(members: readonly Member[], build: Build): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const member of members) {
    const problem = await member.stop();
    if (problem !== undefined) problems.push(problem);
    await member.start(build);
  }
  return problems;
}

/** Kills each process while it works on something, and starts it again. */
async function killInTurn(
  options: CampaignOptions,
  members: readonly Member[],
  ledger: string,
): Promise<readonly Kill[]> {
  const kills: Kill[] = [];
  for (let round = 0; round < options.rounds; round++)
    for (const member of members) {
      const until = performance.now() + BUSY_MS;
      const isBusy = () => unfinishedOf(readLines(ledger), member.pid).length > 0;
      while (!isBusy() && performance.now() < until) await delay(5);
      const { pid, at } = await member.kill();
      kills.push({ pid, at, role: member.role, running: unfinishedOf(readLines(ledger), pid) });
      await member.start(options.builds[1]);
      await delay(options.gapMs);
    }
  return kills;
}

/** Orders that waited during the deploy must have been paid by the new build. */
function oldHeld(orders: readonly Order[], lines: ReturnType<typeof readLines>, { name }: Build): readonly string[] {
  const held = new Set(orders.filter(({ id }) => id.startsWith('held')).map(({ id }) => id));
  const paid = lines.filter(({ what, tool, order }) => what === 'effect' && tool === 'pay' && held.has(order));
  return paid.filter(({ build }) => build !== name).map(({ order }) => `${order} was paid by the previous build`);
}

async function settledOn(
  { url }: Member,
  token: string,
): Promise<ReadonlyMap<string, { by: string | null; type: string }>> {
  const client = createClient(url, { token });
  const settled = new Map<string, { by: string | null; type: string }>();
  let cursor: string | undefined;
  do {
    const page = await client.requests.list({
      status: 'settled',
      limit: 200,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { id, decision } of page.items) if (decision) settled.set(id, { by: decision.by, type: decision.type });
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  return settled;
}

const rounded = (seconds: number): number => Math.round(seconds * 10) / 10;
