// One schedule from one seed: the bank, its people and clients, the faults, and the laws that must hold afterwards.
import type { GrantEvent } from '../../src/core/authority/grants/grant.ts';
import { forgetDrawnIds } from '../../src/random-id.ts';
import type { Store } from '../../src/runs/port/store.ts';
import { Chance } from '../../src/testing/simulate/chance.ts';
import { Life } from '../../src/testing/simulate/life.ts';
import { type RecordedCall, readRecords } from '../../src/testing/simulate/records.ts';
import { type Bank, FINANCE, openBank, PEOPLE, type Told } from './bank.ts';
import { Claims } from './claims.ts';
import { Clients } from './clients.ts';
import { controlsOf } from './controls/controls.ts';
import { Counts } from './controls/counts.ts';
import { isQuiet, LAWS } from './laws.ts';
import { Acts, person } from './people.ts';
import { sizeOf } from './plan.ts';
import type { KeptGrant, Remains } from './remains.ts';
import { storesOf } from './stores.ts';
import type { TornStore } from './torn.ts';

export type ScheduleResult = {
  readonly seed: number;
  /** The same for the same seed: it stands for every event in its order. */
  readonly hash: string;
  readonly problems: readonly string[];
  readonly trace: readonly string[];
  readonly figures: Figures;
};

export type Figures = {
  schedules: number;
  events: number;
  virtualMs: number;
  runs: number;
  decisions: number;
  doubts: number;
  effects: number;
  deaths: number;
  stops: number;
  /** How often the power of the store failed in the middle of a commit. */
  torn: number;
  /** How many calls ran under a grant. */
  granted: number;
  /** How many freezes a person knew of. */
  frozen: number;
  /** How many calls of a tool under a limit started. */
  limited: number;
  /** How many calls were undone, as an answer said. */
  undone: number;
  /** How many calls were recalled, as an answer said. */
  recalled: number;
};

/** How long faults happen, and how long a schedule may then take to end. */
const FAULTS_MS = 25_000;
const PATIENCE_MS = 900_000;

export async function runSchedule(seed: number, makeStore = storesOf('memory')): Promise<ScheduleResult> {
  forgetDrawnIds();
  const size = new Chance(seed ^ 0x5bd1e995);
  const leaseMs = size.pick([1_000, 3_000, 7_500]);
  const told: Told[] = [];
  const claims = new Claims();
  const counts = new Counts();
  const { much, controls } = controlsOf(new Chance(seed ^ 0x3c6ef372), sizeOf(size));
  const shared = {
    ...{ leaseMs, told, claims, controls },
    maxTurns: size.pick([100, 100, 1]),
    pollMs: size.pick([1_000, 2_000, 4_000]),
    hasChannel: size.is(0.25),
    tools: new Set(much.tools),
  };
  const acts = new Acts();
  let isLate = false;
  const processes = 1 + size.below(3);
  const life = new Life<Bank>({
    seed,
    leaseMs,
    processes,
    makeStore: (now, hold) => claims.watched(counts.watched(makeStore(now, hold)), now),
    stop: ({ ai }) => ai.runs.stop(),
    open: (life, node) => openBank(life, node, shared),
  });
  const clients = new Clients(life, much, controls, () => isLate);
  for (let run = much.runs; run > 0; run -= 1) life.actor(`client ${run}`, () => clients.run(run));
  for (let call = much.programs; call > 0; call -= 1) life.actor(`program ${call}`, () => clients.outside(call));
  for (const name of PEOPLE) {
    const isThere = isNeeded(name, shared.tools) || size.is(name === 'dan' ? 0.7 : much.people);
    if (isThere || name === 'dan') life.actor(name, () => person(life, acts, { name, isThere, isLate: () => isLate }));
  }
  let isOver = false;
  const { timeline, store } = life;
  await timeline.run(FAULTS_MS, () => life.problems.length > 0);
  isLate = true;
  life.calm();
  const remains = async () => ({
    ...{
      store,
      world: life.world,
      acts,
      starts: claims.starts,
      started: clients.started,
      undoings: clients.undoings,
      told,
      maxTurns: shared.maxTurns,
      ...{ controls, counts },
    },
    records: await readRecords(store),
    toldSince: await channelSince(store),
    grants: await keptGrants(store),
  });
  watchForTheEnd(life, clients, remains, shared.hasChannel, () => {
    isOver = true;
  });
  await timeline.run(timeline.now + PATIENCE_MS, () => isOver || life.problems.length > 0);
  const left = await remains();
  const problems = [...life.problems, ...claims.problems.map((problem) => `one worker drives a run: ${problem}`)];
  for (const [law, check] of Object.entries(LAWS)) {
    if (problems.length > 0) break;
    for (const problem of await check(left)) problems.push(`${law}: ${problem}`);
  }
  forgetDrawnIds();
  await store.close();
  const requests = left.records.flatMap((record) => record.requests);
  return {
    ...{ seed, problems, hash: timeline.hash, trace: timeline.trace },
    figures: {
      schedules: 1,
      events: timeline.happened,
      virtualMs: Math.round(timeline.now),
      runs: left.records.length,
      decisions: acts.said.length,
      doubts: requests.filter(({ kind }) => kind === 'doubt').length,
      effects: life.world.effects.length,
      deaths: life.deaths,
      stops: life.stops,
      torn: (store as Partial<TornStore>).torn?.() ?? 0,
      granted: left.records.flatMap(({ calls }) => [...calls.values()].filter(isGranted)).length,
      frozen: acts.frozen.length,
      recalled: acts.said.filter(({ card, answer }) => card.kind === 'recall' && answer).length,
      undone: clients.undoings.filter(({ isDone, steps }) => isDone && steps.length > 0).length,
      limited: controls.limited ? counts.started.size : 0,
    },
  };
}

const isGranted = ({ events }: RecordedCall): boolean => events.some(({ type }) => type === 'call-granted');

async function channelSince({ notes }: Store): Promise<number> {
  const [channel] = (await notes.list('channels', { limit: 1 })).items;
  return (channel?.value as { since?: number } | undefined)?.since ?? Number.POSITIVE_INFINITY;
}

async function keptGrants({ notes }: Store): Promise<readonly KeptGrant[]> {
  const { items } = await notes.list('grants', { limit: 500 });
  return items.flatMap(({ value }) => {
    const [made] = (value as unknown as { events: GrantEvent[] }).events;
    if (made?.type !== 'made') return [];
    const { id, uses, budget, expiresAt, requestId } = made.grant;
    return [{ id, uses, total: budget?.total ?? 0, expiresAt, requestId }];
  });
}

/** One of finance, and for a quorum two more are always there, or nothing would ever end. Without the boss, requests escalate. */
const isNeeded = (name: string, tools: ReadonlySet<string>): boolean =>
  name === 'ann' || (tools.has('wire') && FINANCE.includes(name));

/** Looks into the store now and then. After the last run has ended, it waits for the notices, and for what should not come. */
function watchForTheEnd(
  life: Life<Bank>,
  clients: Clients,
  remains: () => Promise<Remains>,
  hasChannel: boolean,
  end: () => void,
): void {
  const { timeline, store } = life;
  let calmSince: number | undefined;
  const look = async () => {
    const { running, waiting, failed } = await store.countRuns();
    const isBusy = running + waiting + failed > 0 || clients.started.some(({ isKnown }) => !isKnown);
    if (isBusy) calmSince = undefined;
    else calmSince ??= timeline.now;
    // A process that is frozen still has notices to deliver, and one that failed is tried again after minutes.
    const calmMs = calmSince === undefined ? 0 : Math.min(timeline.now - calmSince, life.awakeMs);
    if (calmMs > 300_000 || (calmMs > 8_000 && (await isQuiet(life, remains, hasChannel)))) return end();
    timeline.after(3_000, life.server, '', () => void look());
  };
  timeline.after(3_000, life.server, '', () => void look());
}
