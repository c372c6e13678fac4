// The metrics of this process, in the text format of Prometheus.
import type { Countersign } from 'countersign';
import type { Usage } from 'countersign/request';
import { cachedRead } from '../live/cached-read.ts';

/** Upper bounds of the latency histogram, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
/** How long the numbers of the store are cached, which take time in proportion to all requests of a month. */
const FRESH_MS = 10_000;
/** The same for the queue, which is cheap to read and must be recent: servers and workers are added by it. */
const QUEUE_FRESH_MS = 1_000;

/** Reading the store takes at most one part in so many of the time. */
const SHARE = 20;

type Labels = Readonly<Record<string, string>>;

/** One metric: a value for each set of labels. */
class Metric {
  readonly #name: string;
  readonly #head: string;
  readonly #values = new Map<string, number>();

  constructor(name: string, type: 'counter' | 'gauge' | 'histogram', help: string) {
    this.#name = `countersign_${name}`;
    this.#head = `# HELP ${this.#name} ${help}\n# TYPE ${this.#name} ${type}\n`;
  }

  add(labels: Labels, amount = 1, suffix = ''): this {
    const sample = `${this.#name}${suffix}${labelText(labels)}`;
    this.#values.set(sample, (this.#values.get(sample) ?? 0) + amount);
    return this;
  }

  get text(): string {
    return this.#head + [...this.#values].map(([sample, value]) => `${sample} ${value}\n`).join('');
  }
}

export class Measures {
  readonly #requests = new Metric('http_requests_total', 'counter', 'Requests, by route and status.');
  readonly #durations = new Metric('http_request_duration_seconds', 'histogram', 'Time until the response began.');
  readonly #started = new Metric('runs_started_total', 'counter', 'Runs started in this process.');
  readonly #tokens = new Metric('tokens_total', 'counter', 'Tokens of replies in this process, by agent and type.');
  readonly #decisions = new Metric('decisions_total', 'counter', 'Decisions of this process, by outcome and channel.');
  readonly #rested = new Metric(
    'runs_rested_total',
    'counter',
    'Runs that paused or ended in this process, by status.',
  );
  readonly #streams = new Metric('open_streams', 'gauge', 'Open server-sent event streams.').add({}, 0);
  readonly #store = cachedRead(storeText, { shortestMs: FRESH_MS, share: SHARE });
  readonly #queue = cachedRead(queueText, { shortestMs: QUEUE_FRESH_MS, share: SHARE });

  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.add({ method, route, status: String(status) });
    const labels = { method, route };
    for (const bound of BUCKETS)
      this.#durations.add({ ...labels, le: String(bound) }, seconds <= bound ? 1 : 0, '_bucket');
    this.#durations.add({ ...labels, le: '+Inf' }, 1, '_bucket');
    this.#durations.add(labels, seconds, '_sum').add(labels, 1, '_count');
  }

  runStarted(agent: string): void {
    this.#started.add({ agent });
  }

  tokensUsed(agent: string, { inputTokens, outputTokens }: Usage): void {
    this.#tokens.add({ agent, type: 'input' }, inputTokens).add({ agent, type: 'output' }, outputTokens);
  }

  /** `channel` is `deadline` for an expired request and `none` if it is unknown. */
  decided(outcome: string, channel: string): void {
    this.#decisions.add({ outcome, channel });
  }

  /** Counts a stream that opened (1) or ended (-1). */
  stream(change: 1 | -1): void {
    this.#streams.add({}, change);
  }

  runRested(status: string): void {
    this.#rested.add({ status });
  }

  /** All metrics in the text format of Prometheus. */
  async text(ai: Countersign): Promise<string> {
    const runs = [this.#started, this.#tokens, this.#decisions, this.#rested];
    const own = [this.#requests, this.#durations, ...runs, this.#streams];
    const stored = await Promise.all([this.#queue(ai), this.#store(ai)]);
    return [...own.map(({ text }) => text), ...stored].join('');
  }
}

const OUTCOMES = ['approved', 'rejected', 'answered', 'cancelled'] as const;

/** The metrics of the store, which are the same in every process that uses it. */
async function storeText(ai: Countersign): Promise<string> {
  const [stats, counts] = await Promise.all([ai.runs.stats({ days: 30 }), ai.runs.store.countRuns()]);
  const runs = new Metric('runs', 'gauge', 'Runs, by status.');
  const waiting = new Metric('requests_waiting', 'gauge', 'Pending requests, by tool.');
  const oldest = new Metric('oldest_waiting_timestamp_seconds', 'gauge', 'Time of the oldest pending request, or 0.');
  const settled = new Metric('settled_30d', 'gauge', 'Requests settled in the last 30 days, by tool and outcome.');
  for (const [status, count] of Object.entries(counts)) runs.add({ status }, count);
  oldest.add({}, (stats.oldestWaitingAt ?? 0) / 1000);
  for (const { tool, ...numbers } of stats.tools) {
    waiting.add({ tool }, numbers.waiting);
    for (const outcome of OUTCOMES) settled.add({ tool, outcome }, numbers[outcome]);
  }
  const lists = new Metric('list_lag_seconds', 'gauge', 'Age of the oldest change that the lists of the store lack.');
  const { projection } = ai.runs.store;
  // Without its admin API, the store still works.
  if (projection !== undefined) lists.add({}, (await projection.lagMs().catch(() => Number.NaN)) / 1000);
  const channels = await ai.notices.channels();
  const notices = new Metric('notices_waiting', 'gauge', 'Notices that wait to be delivered, by channel.');
  const dead = new Metric('notices_dead', 'gauge', 'Notices that were given up, by channel.');
  for (const { name: channel, ...numbers } of channels) {
    notices.add({ channel }, numbers.waiting);
    dead.add({ channel }, numbers.dead);
  }
  const all = [runs, waiting, oldest, settled, notices, dead, ...(projection === undefined ? [] : [lists])];
  return all.map(({ text }) => text).join('');
}

/** How much work there is, by agent: also the same in every process. Agents of this process without work count as 0. */
async function queueText(ai: Countersign): Promise<string> {
  const { store } = ai.runs;
  const [now, queues] = await Promise.all([store.now(), store.queue()]);
  const due = new Metric('runs_due', 'gauge', 'Runs that wait for a worker, by agent.');
  const claimed = new Metric('runs_claimed', 'gauge', 'Runs that a process drives, by agent.');
  const age = new Metric(
    'queue_age_seconds',
    'gauge',
    'How long the longest due run has waited for a worker, by agent.',
  );
  const oldest = new Metric('oldest_due_timestamp_seconds', 'gauge', 'Since when the longest due run waits, or 0.');
  const idle = [...ai.agents.keys()].filter((agent) => !queues.some((queue) => queue.agent === agent));
  for (const agent of idle) for (const metric of [due, claimed, age]) metric.add({ agent }, 0);
  for (const { agent, ...queue } of queues) {
    due.add({ agent }, queue.due);
    claimed.add({ agent }, queue.claimed);
    age.add({ agent }, queue.dueSince === null ? 0 : Math.max(0, now - queue.dueSince) / 1000);
  }
  const since = queues.flatMap(({ dueSince }) => dueSince ?? []);
  oldest.add({}, since.length === 0 ? 0 : Math.min(...since) / 1000);
  return [due, claimed, age, oldest].map(({ text }) => text).join('');
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
