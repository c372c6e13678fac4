// What clusters of 3, 6 and 12 nodes would carry: a small simulation of queues, fed with measured CPU times.
//
//   node packages/restate/scripts/simulate.ts
//
// Assumptions:
// - A round trip (start, pause, decision, call, end) is the one of case F of the benchmark, with its CPU times at 32 at once, taken
//   on one machine. A third of the CPU time of a change falls on each of: the leader of the run's partition twice, and one follower.
// - Nodes have 8 cores of that machine. Partitions are spread evenly; a run is in the partition of the hash of its id.
// - Restate scales with its nodes: partitions share nothing. The network takes 0.5 ms between machines, a flush 1 ms.
// - Service processes and the database of the lists are on other machines and are not the limit: they are counted, not simulated.
// - One node is down, and the others carry its load.
// - People decide in their own time: the number of pending requests is the rate of starts times the time until the decision.
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    /** Milliseconds of CPU per round trip: of all nodes, of the services, of the database of the lists. */
    nodes: { type: 'string', default: '43' },
    services: { type: 'string', default: '13' },
    database: { type: 'string', default: '3' },
    changes: { type: 'string', default: '7' },
    /** Bytes of state per paused run, on each of its two nodes. */
    bytes: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '20' },
  },
});
const CHANGES = Number(values.changes);
const CPU_MS = Number(values.nodes) / CHANGES;
const CORES = 8;
const NETWORK_MS = 0.5;
const FLUSH_MS = 1;
/** The most that the slowest hundredth of the changes may take. */
const MOST_P99_MS = 100;
const HOUR_S = 3_600;

/** A node: work waits until one of its cores is free. */
class Node {
  readonly #freeAt: number[] = new Array(CORES).fill(0);

  /** When work that arrives at `at` is done. */
  work(at: number, ms: number): number {
    const first = Math.min(...this.#freeAt);
    const done = Math.max(at, first) + ms;
    this.#freeAt[this.#freeAt.indexOf(first)] = done;
    return done;
  }
}

/** Round trips arrive at random at this rate. Returns the latency of a change. */
function simulate(count: number, perSecond: number, seconds: number): { readonly p50: number; readonly p99: number } {
  const nodes = Array.from({ length: count }, () => new Node());
  const workOn = (node: number, at: number): number => nodes[node]?.work(at, exponential(CPU_MS / 3)) ?? at;
  const endMs = seconds * 1_000;
  const latencies: number[] = [];
  const changes: number[] = [];
  for (let at = 0; at < endMs; at += exponential(1_000 / (perSecond * CHANGES))) changes.push(at);
  for (const at of changes) {
    const leader = Math.floor(Math.random() * count);
    const follower = (leader + 1 + Math.floor(Math.random() * (count - 1))) % count;
    // The call arrives and is recorded on two nodes; the services answer; the answer is recorded.
    const received = workOn(leader, at);
    const copied = workOn(follower, received + NETWORK_MS) + FLUSH_MS + NETWORK_MS;
    const answered = workOn(leader, copied + 2 * NETWORK_MS);
    latencies.push(answered - at);
  }
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

function exponential(mean: number): number {
  return -mean * Math.log(1 - Math.random());
}

/** The highest rate at which changes are still quick. */
function mostPerSecond(count: number): number {
  let [low, high] = [1, (count * CORES * 1_000) / (CPU_MS * CHANGES)];
  for (let step = 0; step < 12; step += 1) {
    const middle = (low + high) / 2;
    if (simulate(count, middle, Number(values.seconds)).p99 <= MOST_P99_MS) low = middle;
    else high = middle;
  }
  return low;
}

const rows = [3, 6, 12].flatMap((count) => {
  const most = mostPerSecond(count - 1);
  const { p50, p99 } = simulate(count - 1, most / 2, Number(values.seconds));
  return [10_000, 100_000].map((pending) => ({
    nodes: count,
    'most round trips/s, one node down': Math.round(most),
    'change p50 ms at half of it': Math.round(p50 * 10) / 10,
    'change p99 ms at half of it': Math.round(p99 * 10) / 10,
    pending,
    'starts/s if a decision takes 1 h': Math.round((pending / HOUR_S) * 10) / 10,
    'load on the nodes': `${Math.round((100 * pending) / HOUR_S / most)} %`,
    'minutes to decide all of them': Math.round(pending / most / 6) / 10,
    'state per node': `${Math.round((pending * Number(values.bytes) * 2) / count / 1e6)} MB`,
    'cores for services': Math.ceil(((pending / HOUR_S) * Number(values.services)) / 1_000),
    'cores for lists': Math.ceil(((pending / HOUR_S) * Number(values.database)) / 1_000),
  }));
});
for (const row of rows) console.log(JSON.stringify(row));
