// What this process counts, and the text in which Prometheus reads it.
import type { Countersign } from 'countersign';
import type { Hub } from '../live/hub.ts';

/** Upper bounds of the latency histogram, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
/** How long the numbers of the store are good for. */
const FRESH_MS = 10_000;

/** Asking the store costs this part of the time at most. */
const SHARE = 20;

/** Of so many runs it is known that they were counted. */
const REMEMBERED = 10_000;
/** Beyond every event: only the record of a run is read. */
const NO_EVENTS = 2_147_483_647;

type Labels = Readonly<Record<string, string>>;
type Sample = { readonly name: string; readonly labels: Labels; readonly value: number };

/** One thing that is counted, by its labels. */
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
  /** The version at which a run was last counted. */
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

  /** `channel`: through what; `deadline` where time has decided, `none` where nobody said. */
  decided(outcome: string, channel: string): void {
    this.#decisions.add({ outcome, channel });
  }

  /** A stream was opened (1) or has ended (-1). */
  stream(change: 1 | -1): void {
    this.#streams += change;
  }

  /** Counts the runs that come to rest from now on, whoever drives them. Asked again, it goes on as it is. */
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

  /** Everything, in the text format of Prometheus. */
  async text(ai: Countersign): Promise<string> {
    return [
      family('countersign_http_requests_total', 'counter', 'Requests, by route and status.', this.#requests.samples()),
      family('countersign_http_request_duration_seconds', 'histogram', 'How long answers took to begin.', [
        ...this.#buckets.samples(),
        ...this.#seconds.samples(),
        ...this.#counted.samples(),
      ]),
      family(
        'countersign_runs_started_total',
        'counter',
        'Runs started in this process, however they were.',
        this.#started.samples(),
      ),
      family(
        'countersign_decisions_total',
        'counter',
        'Decisions that this process has recorded, however they were made, by outcome and channel.',
        this.#decisions.samples(),
      ),
      family(
        'countersign_runs_rested_total',
        'counter',
        'Runs that came to rest since this process was first asked for its numbers, by status.',
        this.#rested.samples(),
      ),
      family('countersign_open_streams', 'gauge', 'Server-sent event streams that are open.', [
        { name: 'countersign_open_streams', labels: {}, value: this.#streams },
      ]),
      await this.#storeText(ai),
    ].join('');
  }

  /** However often somebody asks, the store is asked once in a while, and the less often the longer it takes. */
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
      // Those who asked are told; the next one asks again.
      () => {
        this.#store = undefined;
      },
    );
    return text;
  }
}

const OUTCOMES = ['approved', 'rejected', 'answered', 'cancelled'] as const;

/** What the store knows, whoever did it: the same from every process that has this store. */
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
      'Questions that wait for a person, by tool.',
      stats.tools.map(({ tool, waiting }) => gauge('countersign_interrupts_waiting', { tool }, waiting)),
    ),
    family(
      'countersign_oldest_waiting_timestamp_seconds',
      'gauge',
      'Since when the oldest question waits; 0 if none.',
      [gauge('countersign_oldest_waiting_timestamp_seconds', {}, (stats.oldestWaitingAt ?? 0) / 1000)],
    ),
    family(
      'countersign_settled_30d',
      'gauge',
      'Questions settled in the last 30 days, by tool and outcome.',
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
