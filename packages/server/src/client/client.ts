// The API as typed functions.
import type { z } from '@hono/zod-openapi';
import type { StoredEvent } from 'countersign/store';
import type { Insights } from '../insights/settled-requests.ts';
import type { Absence, AbsentShape, MyAbsence } from '../schemas/absence.ts';
import type { DecidedShape, DecideShape, WaitingShape } from '../schemas/decision.ts';
import type { DecideManyShape, DecisionOutcome } from '../schemas/decisions.ts';
import type { GateAnswer, GateAskShape, GateGranted, GateReportShape, GateStartShape } from '../schemas/gate.ts';
import type { Grant, GrantInDetail, GrantQueryShape, SimulatedShape, SimulateShape } from '../schemas/grant.ts';
import type { InsightsQueryShape } from '../schemas/insights.ts';
import type { Interrupt, InterruptQueryShape, InterruptWithMessages } from '../schemas/interrupt.ts';
import type {
  ChannelStatus,
  DeadLetter,
  Delivery,
  DeliveryQueryShape,
  MyNotices,
  NoticePreferencesShape,
} from '../schemas/notices.ts';
import type { AgentInfo, Me } from '../schemas/person.ts';
import type { Run, RunQueryShape, RunSummary, StartShape } from '../schemas/run.ts';
import type { Stats } from '../schemas/stats.ts';
import { ApiError } from './api-error.ts';
import { Connection, type ConnectionOptions } from './connection.ts';

/** How to reach the server. Pages of the server itself use the browser's session instead of a token. */
export type ClientOptions = ConnectionOptions;

/** A page of a list; `cursor` leads to the next page and is null on the last. */
export type Page<T> = { readonly items: readonly T[]; readonly cursor: string | null };

/** An event of a run with its number. */
export type RunEvent = StoredEvent & { readonly seq: number };

/** The options of a new run. */
export type StartRun = Readonly<z.input<typeof StartShape>>;

/** A decision with the digest of the card that it was made on. */
export type Decide = Readonly<z.input<typeof DecideShape>>;

/** A person's decision. */
export type Decision = Decide['decision'];

/** A recorded decision. */
export type Decided = Readonly<z.infer<typeof DecidedShape>> & { readonly decision: Decision };
/** The recorded decision, or the votes so far if the policy of the request asks for more. */
export type DecideResult = Decided | Readonly<z.infer<typeof WaitingShape>>;

/** Decisions on many requests, each with the digest of its card, and one reason and one note for all. */
export type DecideMany = Readonly<z.input<typeof DecideManyShape>>;

/** A call to ask for before it is done. */
export type GateAsk = Readonly<z.input<typeof GateAskShape>>;

/** How long the start of a call is granted for, and a secret of the program. */
export type GateStart = Readonly<z.input<typeof GateStartShape>>;

/** What came of a started call. */
export type GateReport = Readonly<z.input<typeof GateReportShape>>;

/** A period: `delegate` decides for the caller, or for `person`, during it. */
export type Absent = Readonly<z.input<typeof AbsentShape>>;

/** Query parameters as the client takes them: whole numbers are numbers. */
type Filters<Shape extends z.ZodType> = {
  readonly [name in keyof z.input<Shape>]: name extends Numeric ? number : z.input<Shape>[name];
};
type Numeric = 'limit' | 'createdBefore' | 'createdAfter' | 'days';

export type RunFilters = Filters<typeof RunQueryShape>;
export type InterruptFilters = Filters<typeof InterruptQueryShape>;
export type GrantFilters = Filters<typeof GrantQueryShape>;

/** A tool, and the limits of a grant for it. */
export type SimulateGrant = Readonly<z.input<typeof SimulateShape>>;

/** What a grant would have let run, and a suggestion. */
export type SimulatedGrant = Readonly<z.output<typeof SimulatedShape>>;

export type InsightFilters = Filters<typeof InsightsQueryShape>;

/** Selects deliveries. */
export type DeliveryFilters = Filters<typeof DeliveryQueryShape>;

/** What a person wants to be told. */
export type NoticePreferencesInput = z.input<typeof NoticePreferencesShape>;

type Waiting = { readonly signal?: AbortSignal };
type Once = Waiting & {
  /** The same request with the same key acts once. */
  readonly idempotencyKey?: string;
};

/** The API of a server. Every function throws `ApiError` when the server refuses. */
export type Client = {
  me(options?: Waiting): Promise<Me>;
  agents(options?: Waiting): Promise<readonly AgentInfo[]>;
  stats(options?: Waiting & { readonly days?: number }): Promise<Stats>;
  /** How people decide: times, outcomes, load, and findings. */
  insights(filters?: InsightFilters, options?: Waiting): Promise<Insights>;
  /** Yields the ids of changed runs; null after each connect and whenever anything may have changed. */
  changes(options?: Waiting): AsyncGenerator<string | null>;
  readonly absences: {
    /** Absences that have not ended: all, or those that concern the caller, by their reach. */
    list(options?: Waiting): Promise<readonly Absence[]>;
    /** The absence of the caller, or of another person, and for whom they decide. */
    get(options?: Waiting & { readonly person?: string }): Promise<MyAbsence>;
    /** The caller, or `person`, is away until then, and `delegate` decides for them. */
    set(absent: Absent, options?: Waiting): Promise<MyAbsence>;
    end(options?: Waiting & { readonly person?: string }): Promise<MyAbsence>;
  };
  /** Channels and their deliveries, for callers who reach all runs; and what the caller wants to be told. */
  readonly notices: {
    channels(options?: Waiting): Promise<readonly ChannelStatus[]>;
    /** Deliveries of the last seven days, newest first. */
    deliveries(filters?: DeliveryFilters, options?: Waiting): Promise<Page<Delivery>>;
    /** Notices that were given up. */
    dead(filters?: DeliveryFilters, options?: Waiting): Promise<Page<DeadLetter>>;
    /** Resolves with false if the dead letter does not exist. */
    retry(letter: Pick<DeadLetter, 'channel' | 'id'>, options?: Waiting): Promise<boolean>;
    /** Delivers the last notice about a request again. */
    resend(what: Pick<DeadLetter, 'channel' | 'requestId'>, options?: Waiting): Promise<void>;
    preferences(options?: Waiting): Promise<MyNotices>;
    setPreferences(preferences: NoticePreferencesInput, options?: Waiting): Promise<MyNotices>;
  };
  readonly runs: {
    start(run: StartRun, options?: Once): Promise<Run>;
    list(filters?: RunFilters, options?: Waiting): Promise<Page<RunSummary>>;
    get(runId: string, options?: Waiting): Promise<Run>;
    /** Resolves when the run waits for a person, failed or has ended; with `until: 'end'`, it does not stop at a request. */
    wait(runId: string, options?: Waiting & { readonly until?: 'pause' | 'end' }): Promise<Run>;
    cancel(runId: string, options?: Waiting & { readonly reason?: string }): Promise<Run>;
    /** Resumes a failed run. */
    drive(runId: string, options?: Waiting): Promise<Run>;
    verify(
      runId: string,
      options?: Waiting,
    ): Promise<{ readonly ok: boolean; readonly events: number; readonly problem: string | null }>;
    /** The evidence of a run as the text of a file. `verifyEvidence` checks it byte for byte. */
    evidence(runId: string, options?: Waiting): Promise<string>;
    events(
      runId: string,
      options?: Waiting & { readonly after?: number; readonly cursor?: string; readonly limit?: number },
    ): Promise<Page<RunEvent>>;
    /** Yields every event after `after` until the run has ended; reconnects when the connection drops. */
    follow(runId: string, options?: Waiting & { readonly after?: number }): AsyncGenerator<RunEvent>;
  };
  readonly interrupts: {
    list(filters?: InterruptFilters, options?: Waiting): Promise<Page<Interrupt>>;
    get(interruptId: string, options?: Waiting): Promise<InterruptWithMessages>;
    decide(interruptId: string, decide: Decide, options?: Once): Promise<DecideResult>;
    /**
     * Decides any number of requests, each for itself, and returns the outcome of each, in their order. They are sent 50 at a
     * time, and `onProgress` gets the outcomes so far. If it throws, the rest was not sent; doing it again is safe.
     */
    decideMany(
      many: DecideMany,
      options?: Waiting & { readonly onProgress?: (outcomes: readonly DecisionOutcome[]) => void },
    ): Promise<readonly DecisionOutcome[]>;
    /** Assigns the request to a person; null removes the assignment. Others can still decide. */
    assign(interruptId: string, to: string | null, options?: Waiting): Promise<Interrupt>;
    /** Assigns it to the caller while they review it, for five minutes by default. Send it again to renew it. */
    take(interruptId: string, options?: Waiting & { readonly forMs?: number }): Promise<Interrupt>;
    /** Ends what `take` began. */
    release(interruptId: string, options?: Waiting): Promise<Interrupt>;
  };
  /** Calls of programs outside. `id` is the `runId` of the call, or the `id` of its request. */
  readonly gate: {
    /** Asks for the call, or finds it: the same key asks once. `wait`: for so many seconds while it is pending or started. */
    ask(call: GateAsk, options?: Waiting): Promise<GateAnswer>;
    get(id: string, options?: Waiting & { readonly wait?: number }): Promise<GateAnswer>;
    /** Granted once; then do exactly the `input` and report. Throws `start-refused` if it is not granted. */
    start(id: string, start?: GateStart, options?: Waiting): Promise<GateGranted>;
    finish(id: string, report: GateReport, options?: Waiting): Promise<GateAnswer>;
    /** A pending or approved call will never start. */
    withdraw(id: string, options?: Waiting & { readonly reason?: string }): Promise<GateAnswer>;
  };
  /** Approvals that cover the next calls too. They are given with a decision. */
  readonly grants: {
    list(filters?: GrantFilters, options?: Waiting): Promise<Page<Grant>>;
    get(grantId: string, options?: Waiting): Promise<GrantInDetail>;
    /** The next call is asked about again. */
    revoke(grantId: string, options?: Waiting & { readonly reason?: string }): Promise<Grant>;
    /** Counts what a grant would have let run, and suggests one. Nothing is recorded. */
    simulate(grant: SimulateGrant, options?: Waiting): Promise<SimulatedGrant>;
  };
};

/** Small enough for steady progress, and for a request below the limits of any proxy. */
const ITEMS_AT_ONCE = 50;

/**
 * Makes a client of the server at `url`.
 * @example
 * const client = createClient('http://localhost:3000', { token });
 * const { items } = await client.interrupts.list({ risk: 'high' });
 */
export function createClient(url: string, options: ClientOptions = {}): Client {
  const connection = new Connection(url, options);
  const run = (runId: string) => `/runs/${encodeURIComponent(runId)}`;
  const interrupt = (interruptId: string) => `/interrupts/${encodeURIComponent(interruptId)}`;
  const grant = (grantId: string) => `/grants/${encodeURIComponent(grantId)}`;
  const gate = (id: string) => `/gate/${encodeURIComponent(id)}`;
  const client: Client = {
    me: (ask) => connection.json('/me', ask),
    agents: async (ask) => (await connection.json<{ items: readonly AgentInfo[] }>('/agents', ask)).items,
    stats: ({ days, signal } = {}) => connection.json('/stats', { query: { days }, signal }),
    insights: (query, ask) => connection.json('/insights', { query, ...ask }),
    changes: async function* (ask = {}) {
      for await (const { event, data } of connection.events('/changes', ask))
        yield event === 'connected' ? null : (JSON.parse(data).runId as string | null);
    },
    absences: {
      list: async (ask) => (await connection.json<{ items: readonly Absence[] }>('/absences', ask)).items,
      get: ({ person, signal } = {}) => connection.json('/me/absence', { query: { person }, signal }),
      set: (body, ask) => connection.json('/me/absence', { method: 'POST', body, ...ask }),
      end: ({ person, signal } = {}) => connection.json('/me/absence', { method: 'DELETE', query: { person }, signal }),
    },
    notices: {
      channels: async (ask) =>
        (await connection.json<{ items: readonly ChannelStatus[] }>('/notices/channels', ask)).items,
      deliveries: (query, ask) => connection.json('/notices/deliveries', { query, ...ask }),
      dead: (query, ask) => connection.json('/notices/dead', { query, ...ask }),
      retry: async ({ channel, id }, ask) => {
        const body = { channel, id };
        return (await connection.json<{ retried: boolean }>('/notices/retry', { method: 'POST', body, ...ask }))
          .retried;
      },
      resend: async ({ channel, requestId }, ask) => {
        await connection.json('/notices/resend', { method: 'POST', body: { channel, requestId }, ...ask });
      },
      preferences: (ask) => connection.json('/me/notices', ask),
      setPreferences: (body, ask) => connection.json('/me/notices', { method: 'POST', body, ...ask }),
    },
    runs: {
      start: (body, ask) => connection.json('/runs', { method: 'POST', body, ...ask }),
      list: (query, ask) => connection.json('/runs', { query, ...ask }),
      get: (runId, ask) => connection.json(run(runId), ask),
      wait: (runId, { until = 'pause', signal } = {}) => untilAtRest(client, runId, until, signal),
      cancel: (runId, { reason, signal } = {}) =>
        connection.json(`${run(runId)}/cancel`, {
          method: 'POST',
          body: reason === undefined ? {} : { reason },
          signal,
        }),
      drive: (runId, ask) => connection.json(`${run(runId)}/drive`, { method: 'POST', ...ask }),
      verify: (runId, ask) => connection.json(`${run(runId)}/verify`, ask),
      evidence: (runId, ask) => connection.text(`${run(runId)}/evidence`, ask),
      events: (runId, { signal, ...query } = {}) => connection.json(`${run(runId)}/events`, { query, signal }),
      follow: async function* (runId, { after = 0, signal } = {}) {
        for await (const { data } of connection.events(`${run(runId)}/events`, { signal }, after))
          yield JSON.parse(data) as RunEvent;
      },
    },
    interrupts: {
      list: (query, ask) => connection.json('/interrupts', { query, ...ask }),
      get: (interruptId, ask) => connection.json(interrupt(interruptId), ask),
      decide: async (interruptId, body, ask) => {
        refuseLost(body.decision);
        return connection.json(`${interrupt(interruptId)}/decide`, { method: 'POST', body, ...ask });
      },
      decideMany: async ({ items, ...all }, { onProgress, signal } = {}) => {
        for (const { decision } of items) refuseLost(decision);
        const outcomes: DecisionOutcome[] = [];
        for (let sent = 0; sent < items.length; sent += ITEMS_AT_ONCE) {
          const body = { ...all, items: items.slice(sent, sent + ITEMS_AT_ONCE) };
          const ask = { method: 'POST', body, signal } as const;
          outcomes.push(...(await connection.json<{ items: readonly DecisionOutcome[] }>('/decisions', ask)).items);
          onProgress?.([...outcomes]);
        }
        return outcomes;
      },
      assign: (interruptId, to, ask) =>
        connection.json(`${interrupt(interruptId)}/assignee`, { method: 'POST', body: { to }, ...ask }),
      take: (interruptId, { forMs = 300_000, signal } = {}) =>
        connection.json(`${interrupt(interruptId)}/assignee`, { method: 'POST', body: { forMs }, signal }),
      release: (interruptId, ask) =>
        connection.json(`${interrupt(interruptId)}/assignee`, { method: 'DELETE', ...ask }),
    },
    gate: {
      ask: (body, ask) => connection.json('/gate', { method: 'POST', body, ...ask }),
      get: (id, { wait, signal } = {}) => connection.json(gate(id), { query: { wait }, signal }),
      start: (id, body = {}, ask = {}) => connection.json(`${gate(id)}/started`, { method: 'POST', body, ...ask }),
      finish: (id, body, ask) => connection.json(`${gate(id)}/result`, { method: 'POST', body, ...ask }),
      withdraw: (id, { reason, signal } = {}) =>
        connection.json(`${gate(id)}/withdraw`, {
          method: 'POST',
          body: reason === undefined ? {} : { reason },
          signal,
        }),
    },
    grants: {
      list: (query, ask) => connection.json('/grants', { query, ...ask }),
      get: (grantId, ask) => connection.json(grant(grantId), ask),
      revoke: (grantId, { reason, signal } = {}) => {
        const body = reason === undefined ? {} : { reason };
        return connection.json(`${grant(grantId)}/revoke`, { method: 'POST', body, signal });
      },
      simulate: (body, ask) => connection.json('/grants/simulate', { method: 'POST', body, ...ask }),
    },
  };
  return client;
}

/** Reads the run when the stream of changes has connected, and after each of its changes. */
async function untilAtRest(
  { changes, runs }: Client,
  runId: string,
  until: 'pause' | 'end',
  signal: AbortSignal | undefined,
): Promise<Run> {
  const waiting = signal ? { signal } : {};
  for await (const changed of changes(waiting)) {
    if (changed !== null && changed !== runId) continue;
    const run = await runs.get(runId, waiting);
    if (run.status !== 'running' && !(until === 'end' && run.status === 'waiting')) return run;
  }
  signal?.throwIfAborted();
  throw new ApiError(0, 'unreachable', 'The stream of changes ended.');
}

/** JSON omits undefined values, so the server would run the input without the intended edit. */
function refuseLost(decision: { readonly [field: string]: unknown }): void {
  if (typeof decision !== 'object' || decision === null)
    throw new ApiError(
      422,
      'invalid-decision',
      "Invalid decision: expected an object such as { type: 'approve' }. Nothing was sent.",
    );
  const lost = ['edit', 'replaceInput', 'output'].find((field) => field in decision && decision[field] === undefined);
  if (lost === undefined) return;
  const message = `Invalid decision: ${lost} is undefined. Nothing was sent. Leave it out, or pass null.`;
  throw new ApiError(422, 'invalid-decision', message);
}
