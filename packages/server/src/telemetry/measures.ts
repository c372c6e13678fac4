// The metrics of this process, in the text format of Prometheus.
import type { Countersign } from 'countersign';
import type { Hub } from '../live/hub.ts';

/** Upper bounds of the latency histogram, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
/** How long the numbers of the store are cached. */
const FRESH_MS = 10_000;

/** Reading the store takes at most one part in so many of the time. */
const SHARE = 20;

/** How many runs are remembered as counted. */
const REMEMBERED = 10_000;
/** Greater than any event's number, so that only the record of the run is read. */
const NO_EVENTS = 2_147_483_647;

type Labels = Readonly<Record<string, string>>;
type Sample = { readonly name: string; readonly labels: Labels; readonly value: number };

/** Counts one metric, by its labels. */
class Counter {
  readonly #name: string;
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>();

  constructor(name: string) {
    this.#name = name;
  }

  add(labels: Labels, amount = 1): void {
    const key = Object.values(labels).join('\0');
    const known = this.#values.get(key);
    if (known) known.value += amount;
    else this.#values.set(key, { labels, value: amount });
  }

  samples(): readonly Sample[] {
    return [...this.#values.values()].map(({ labels, value }) => ({ name: this.#name, labels, value }));
  }
}

export class Measures {
  readonly #requests = new Counter('countersign_http_requests_total');
  readonly #buckets = new Counter('countersign_http_request_duration_seconds_bucket');
  readonly #seconds = new Counter('countersign_http_request_duration_seconds_sum');
  readonly #counted = new Counter('countersign_http_request_duration_seconds_count');
  readonly #started = new Counter('countersign_runs_started_total');
  readonly #decisions = new Counter('countersign_decisions_total');
  readonly #rested = new Counter('countersign_runs_rested_total');
  /** The version of each run when it was last counted. */
  readonly #seen = new Map<string, number>();
  #stopWatching: (() => void) | undefined;
  #streams = 0;
  #store: { readonly until: number; readonly text: Promise<string> } | undefined;

  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.add({ method, route, status: String(status) });
    const labels = { method, route };
    for (const bound of BUCKETS) this.#buckets.add({ ...labels, le: String(bound) }, seconds <= bound ? 1 : 0);
    this.#buckets.add({ ...labels, le: '+Inf' });
    this.#seconds.add(labels, seconds);
    this.#counted.add(labels);
  }

  runStarted(agent: string): void {
    this.#started.add({ agent });
  }

  /** `channel` is `deadline` for an expired request and `none` if it is unknown. */
  decided(outcome: string, channel: string): void {
    this.#decisions.add({ outcome, channel });
  }

  /** Counts a stream that opened (1) or ended (-1). */
  stream(change: 1 | -1): void {
    this.#streams += change;
  }

  /** Counts the runs that pause or end from now on, in any process. Further calls change nothing. */
  watch(ai: Countersign, hub: Hub): void {
    this.#stopWatching ??= hub.listen((changed) => {
      if (changed !== 'all') for (const runId of changed) void this.#look(ai, runId).catch(() => undefined);
    });
  }

  async #look(ai: Countersign, runId: string): Promise<void> {
    const loaded = await ai.runs.find(runId, { after: NO_EVENTS });
    if (!loaded || loaded.run.status === 'running') return;
    const { status, version } = loaded.run;
    if (this.#seen.get(runId) === version) return;
    if (this.#seen.size >= REMEMBERED) this.#seen.clear();
    this.#seen.set(runId, version);
    this.#rested.add({ status });
  }

  /** All metrics in the text format of Prometheus. */
  async text(ai: Countersign): Promise<string> {
    return [
      family('countersign_http_requests_total', 'counter', 'Requests, by route and status.', this.#requests.samples()),
      family('countersign_http_request_duration_seconds', 'histogram', 'Time until the response began.', [
        ...this.#buckets.samples(),
        ...this.#seconds.samples(),
        ...this.#counted.samples(),
      ]),
      family('countersign_runs_started_total', 'counter', 'Runs started in this process.', this.#started.samples()),
      family(
        'countersign_decisions_total',
        'counter',
        'Decisions recorded by this process, by outcome and channel.',
        this.#decisions.samples(),
      ),
      family(
        'countersign_runs_rested_total',
        'counter',
        'Runs that paused or ended since the first read of these metrics, by status.',
        this.#rested.samples(),
      ),
      family('countersign_open_streams', 'gauge', 'Open server-sent event streams.', [
        { name: 'countersign_open_streams', labels: {}, value: this.#streams },
      ]),
      await this.#storeText(ai),
    ].join('');
  }

  /** Reads the store once in a while, less often the longer it takes. */
  #storeText(ai: Countersign): Promise<string> {
    const now = performance.now();
    if (this.#store && now < this.#store.until) return this.#store.text;
    const text = storeText(ai);
    this.#store = { until: now + FRESH_MS, text };
    text.then(
      () => {
        const took = performance.now() - now;
        this.#store = { until: now + Math.max(FRESH_MS, SHARE * took), text };
      },
      // Current callers get the error; the next one reads again.
      () => {
        this.#store = undefined;
      },
    );
    return text;
  }
}

const OUTCOMES = ['approved', 'rejected', 'answered', 'cancelled'] as const;

/** The metrics of the store, which are the same in every process that uses it. */
async function storeText(ai: Countersign): Promise<string> {
  const [stats, counts] = await Promise.all([ai.runs.stats({ days: 30 }), ai.runs.store.countRuns()]);
  const gauge = (name: string, labels: Labels, value: number): Sample => ({ name, labels, value });
  return [
    family(
      'countersign_runs',
      'gauge',
      'Runs, by status.',
      Object.entries(counts).map(([status, count]) => gauge('countersign_runs', { status }, count)),
    ),
    family(
      'countersign_interrupts_waiting',
      'gauge',
      'Pending requests, by tool.',
      stats.tools.map(({ tool, waiting }) => gauge('countersign_interrupts_waiting', { tool }, waiting)),
    ),
    family(
      'countersign_oldest_waiting_timestamp_seconds',
      'gauge',
      'When the oldest pending request was made; 0 if none.',
      [gauge('countersign_oldest_waiting_timestamp_seconds', {}, (stats.oldestWaitingAt ?? 0) / 1000)],
    ),
    family(
      'countersign_settled_30d',
      'gauge',
      'Requests settled in the last 30 days, by tool and outcome.',
      stats.tools.flatMap((tool) =>
        OUTCOMES.map((outcome) => gauge('countersign_settled_30d', { tool: tool.tool, outcome }, tool[outcome])),
      ),
    ),
  ].join('');
}

function family(name: string, type: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(({ name, labels, value }) => `${name}${labelText(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
