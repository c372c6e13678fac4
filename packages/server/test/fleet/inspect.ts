// What must hold after a campaign, checked against the ledger and against what the clients saw.
import { type Line, unfinishedOf } from './ledger.ts';
import type { ChangesConnection } from './streams.ts';
import { kindOf, type Order } from './traffic.ts';

export type Kill = {
  readonly pid: number;
  readonly role: string;
  readonly at: number;
  /** The model calls and tool bodies that ran in the process. */
  readonly running: readonly Line[];
};

export type Campaign = {
  readonly orders: readonly Order[];
  readonly lines: readonly Line[];
  readonly kills: readonly Kill[];
  readonly changes: readonly ChangesConnection[];
  readonly takeOverMs: number;
  /** The settled requests, by id. */
  readonly settled: ReadonlyMap<string, { readonly by: string | null; readonly type: string }>;
};

export type Findings = {
  readonly runs: number;
  readonly effects: number;
  readonly decisions: number;
  readonly duplicates: number;
  readonly lostDecisions: number;
  readonly silentStreams: number;
  readonly doubts: number;
  readonly takeOvers: number;
  readonly takeOverMedianMs: number;
  readonly takeOverMaxMs: number;
  readonly streamLagMedianMs: number;
  readonly streamLagMaxMs: number;
  readonly problems: readonly string[];
};

/**
 * A stream that is later than this is silent. When a process is killed, its last event may arrive with the take-over: until then
 * nobody knows of it.
 */
const SILENT_MS = 10_000;
/** A write may become durable this long after its process was killed. */
const LATE_WRITE_MS = 300;
/** A call is still running until its result is recorded, which may take this long. */
const RECORD_MS = 1_000;

export function inspect(campaign: Campaign): Findings {
  const { orders, lines, takeOverMs } = campaign;
  const effects = lines.filter(({ what }) => what === 'effect');
  const duplicates = repeated(effects.map(({ order, tool }) => `${tool} of ${order}`));
  const lostDecisions = lostOf(campaign);
  const lags = orders.flatMap(({ seen }) => seen.map(({ lagMs }) => lagMs));
  const silent = [...silentRuns(orders), ...silentChats(orders), ...silentChanges(campaign)];
  const takeOvers = takeOversOf(campaign);
  const times = takeOvers.map(({ ms }) => ms);
  const { doubts, unfounded } = doubtsOf(campaign);
  const problems = [
    ...orders.flatMap(({ problem }) => problem ?? []),
    ...duplicates.map((text) => `${text} happened twice`),
    ...lostDecisions,
    ...silent,
    ...unfounded,
    ...orders.flatMap((order) => wrongEffects(order, effects, campaign)),
    ...takeOvers.filter(({ ms }) => ms > takeOverMs).map(({ order, ms }) => `${order} was taken over after ${ms} ms`),
  ];
  return {
    runs: orders.length,
    effects: effects.length,
    decisions: orders.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0),
    duplicates: duplicates.length,
    lostDecisions: lostDecisions.length,
    silentStreams: silent.length,
    doubts,
    takeOvers: takeOvers.length,
    takeOverMedianMs: median(times),
    takeOverMaxMs: Math.max(0, ...times),
    streamLagMedianMs: median(lags),
    streamLagMaxMs: Math.max(0, ...lags),
    problems,
  };
}

function repeated(names: readonly string[]): readonly string[] {
  return [...Map.groupBy(names, (name) => name)].flatMap(([name, { length }]) => (length > 1 ? [name] : []));
}

/** Confirmed decisions that are not the recorded ones. */
function lostOf({ orders, settled }: Campaign): readonly string[] {
  return orders.flatMap(({ acknowledged }) =>
    acknowledged.flatMap(({ requestId, by, type }) => {
      const record = settled.get(requestId);
      return record?.by === by && record.type === type ? [] : [`the decision of ${by} on ${requestId} was lost`];
    }),
  );
}

/** All effects of an order happen, except the payment of one that was rejected. */
function wrongEffects({ id, problem }: Order, effects: readonly Line[], { settled }: Campaign): readonly string[] {
  if (problem !== undefined) return [];
  const happened = effects.filter(({ order }) => order === id).map(({ tool }) => tool);
  const isRejected = kindOf(id) === 'rejected' || (kindOf(id) === 'contested' && isPayRejected(id, settled));
  const expected = isRejected ? ['reserve', 'ship'] : ['reserve', 'pay', 'ship'];
  const missing = expected.filter((tool) => !happened.includes(tool));
  const extra = happened.filter((tool) => tool !== undefined && !expected.includes(tool));
  return [
    ...missing.map((tool) => `${id} has no ${tool}`),
    ...extra.map((tool) => `${id} has a ${tool} that nobody approved`),
  ];
}

function isPayRejected(id: string, settled: Campaign['settled']): boolean {
  return [...settled].some(([key, { type }]) => key.startsWith(`${id}:`) && type === 'reject');
}

function silentRuns(orders: readonly Order[]): readonly string[] {
  return orders.flatMap(({ id, seen }) =>
    seen
      .filter(({ lagMs }) => lagMs > SILENT_MS)
      .map(({ type, lagMs }) => `the stream of ${id} got ${type} after ${lagMs} ms`),
  );
}

function silentChats(orders: readonly Order[]): readonly string[] {
  return orders.flatMap(({ id, seen, chatEndedAt }) => {
    if (chatEndedAt === undefined) return [];
    const rests = seen.filter(({ type }) => type === 'call-interrupted' || type === 'run-ended').map(({ at }) => at);
    const rested = rests.findLast((at) => at <= chatEndedAt);
    return rested !== undefined && chatEndedAt - rested <= SILENT_MS ? [] : [`the stream of the chat ${id} was silent`];
  });
}

/** Every pause must have been reported on every stream of changes that was connected then. */
function silentChanges({ orders, changes }: Campaign): readonly string[] {
  const pauses = orders.flatMap(({ id, seen }) =>
    seen.filter(({ type }) => type === 'call-interrupted').map(({ at }) => ({ id, at })),
  );
  return changes.flatMap(({ from, until, reports }) =>
    pauses
      .filter(({ at }) => from + RECORD_MS < at && at + SILENT_MS < until)
      .filter(({ id, at }) => !reports.some((report) => isReportOf(report, id, at)))
      .map(({ id, at }) => {
        const reported = reports.find((report) => (report.runId ?? id) === id && report.at >= at);
        const after = reported ? `after ${reported.at - at} ms` : 'never';
        return `a stream of changes, connected for ${at - from} ms, reported ${id} ${after}`;
      }),
  );
}

function isReportOf(report: ChangesConnection['reports'][number], id: string, at: number): boolean {
  return (report.runId ?? id) === id && report.at >= at && report.at - at <= SILENT_MS;
}

/** How long it took until another process did something with the runs that a killed process was driving. */
function takeOversOf({ orders, lines, kills }: Campaign): readonly { readonly order: string; readonly ms: number }[] {
  const byId = new Map(orders.map((order) => [order.id, order]));
  return kills.flatMap((kill) =>
    [...new Set(kill.running.map(({ order }) => order))].map((order) => {
      const isLater = ({ at }: { readonly at: number }) => at > kill.at + LATE_WRITE_MS;
      const recorded = byId.get(order)?.seen.filter(isLater) ?? [];
      const done = lines.filter((line) => line.order === order && line.pid !== kill.pid && isLater(line));
      return { order, ms: Math.min(...[...recorded, ...done].map(({ at }) => at)) - kill.at };
    }),
  );
}

/** Doubts, and those about a call that no killed process was running. */
function doubtsOf({ orders, lines, kills }: Campaign): {
  readonly doubts: number;
  readonly unfounded: readonly string[];
} {
  let doubts = 0;
  const unfounded: string[] = [];
  for (const { id, seen } of orders)
    for (const { at, callId, interrupt } of seen) {
      if (interrupt?.kind !== 'doubt') continue;
      doubts += 1;
      const started = seen.findLast(
        (event) => event.type === 'call-started' && event.callId === callId && event.at <= at,
      );
      const before = kills.filter((kill) => kill.at <= at && kill.at + RECORD_MS >= (started?.at ?? at));
      const wasRunning = before.some((kill) => {
        const mine = lines.filter((line) => line.pid === kill.pid && line.order === id && line.tool !== undefined);
        const last = mine.at(-1);
        // Killed between the record of the start and the first line of the body, or before the result was recorded.
        if (last === undefined || last.what === 'end') return kill.at - (last ?? started ?? kill).at <= RECORD_MS;
        return unfinishedOf(mine, kill.pid).length > 0;
      });
      if (!wasRunning) unfounded.push(`${id} asks about a call that was not running when its process was killed`);
    }
  return { doubts, unfounded };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
