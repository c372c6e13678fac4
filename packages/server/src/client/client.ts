// The API as typed functions.
import type { z } from '@hono/zod-openapi';
import type { Replayed, StoredEvent, Undoing } from 'countersign/store';
import type { Absence, AbsentShape, MyAbsence } from '../schemas/absence.ts';
import type { DecidedShape, DecideShape, WaitingShape } from '../schemas/decision.ts';
import type { DecideManyShape, DecisionOutcome } from '../schemas/decisions.ts';
import type { Freeze, FreezeRequestShape, Freezes, MadeFreeze } from '../schemas/freeze.ts';
import type {
  GateAnswer,
  GateAskShape,
  GateGranted,
  GateRenewShape,
  GateReportShape,
  GateStartShape,
} from '../schemas/gate.ts';
import type { Grant, GrantInDetail, GrantQueryShape, SimulatedShape, SimulateShape } from '../schemas/grant.ts';
import type { Insights, InsightsQueryShape } from '../schemas/insights.ts';
import type {
  ChannelStatus,
  DeadLetter,
  Delivery,
  DeliveryQueryShape,
  MyNotices,
  NoticePreferencesShape,
} from '../schemas/notices.ts';
import type { AgentInfo, Me } from '../schemas/person.ts';
import type { Plan } from '../schemas/plan.ts';
import type {
  ApiRequest,
  RequestCountShape,
  RequestFilterShape,
  RequestQueryShape,
  RequestWithMessages,
} from '../schemas/request.ts';
import type { ReplayShape, Rules, Suggestion } from '../schemas/rules.ts';
import type { Run, RunQueryShape, RunSummary, StartShape, VerifiedShape } from '../schemas/run.ts';
import type { Stats } from '../schemas/stats.ts';
import { ApiError } from './api-error.ts';
import { Connection, type ConnectionOptions, type Query } from './connection.ts';

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

/** A plan of a program outside: calls of `tools`, each with exactly its input, or with limits. */
export type GatePlan = Omit<GateAsk, 'input' | 'tool' | 'tools'> & {
  readonly tool?: string;
  readonly tools: NonNullable<GateAsk['tools']>;
  readonly steps: readonly {
    readonly tool: string;
    readonly input: unknown;
    readonly where?: unknown;
    readonly uses?: number;
  }[];
};

/** How long the start of a call is granted for, and a secret of the program. */
export type GateStart = Readonly<z.input<typeof GateStartShape>>;

/** The token of a start, and for how long it is extended. */
export type GateRenew = Readonly<z.input<typeof GateRenewShape>>;

/** Which calls to freeze, and why. */
export type FreezeRequest = Readonly<z.input<typeof FreezeRequestShape>>;

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
export type RequestFilters = Filters<typeof RequestQueryShape>;
type RequestSelection = Filters<typeof RequestFilterShape>;
type RequestCount = Readonly<z.output<typeof RequestCountShape>>;
export type GrantFilters = Filters<typeof GrantQueryShape>;

/** A tool, and the limits of a grant for it. */
export type SimulateGrant = Readonly<z.input<typeof SimulateShape>>;

/** What a grant would have let run, and a suggestion. */
export type SimulatedGrant = Readonly<z.output<typeof SimulatedShape>>;

type Verified = Readonly<z.infer<typeof VerifiedShape>>;

export type InsightFilters = Filters<typeof InsightsQueryShape>;

/** Selects deliveries. */
export type DeliveryFilters = Filters<typeof DeliveryQueryShape>;

/** What a person wants to be told. */
export type NoticePreferencesInput = z.input<typeof NoticePreferencesShape>;

type Waiting = { readonly signal?: AbortSignal | undefined };
type OfPerson = Waiting & { readonly person?: string };
type WithReason = Waiting & { readonly reason?: string | undefined };
type Once = Waiting & {
  /** The same request with the same key acts once. */
  readonly idempotencyKey?: string;
};

/** Small enough for steady progress, and for a request below the limits of any proxy. */
const ITEMS_AT_ONCE = 50;

/**
 * Makes a client of the server at `url`. Every function throws `ApiError` when the server refuses.
 * @example
 * const client = createClient('http://localhost:3000', { token });
 * const { items } = await client.requests.list({ risk: 'high' });
 */
export function createClient(url: string, options: ClientOptions = {}) {
  const connection = new Connection(url, options);
  const get = <T>(path: string, query?: Query, ask?: Waiting): Promise<T> => connection.json(path, { query, ...ask });
  const post = <T>(path: string, body?: unknown, ask?: Once): Promise<T> =>
    connection.json(path, { method: 'POST', body, ...ask });
  const run = (runId: string) => `/runs/${encodeURIComponent(runId)}`;
  const request = (requestId: string) => `/requests/${encodeURIComponent(requestId)}`;
  const grant = (grantId: string) => `/grants/${encodeURIComponent(grantId)}`;
  const gate = (id: string) => `/gate/${encodeURIComponent(id)}`;
  const items = async <T>(path: string, ask?: Waiting) => (await get<{ items: readonly T[] }>(path, {}, ask)).items;
  const readRun = (runId: string, ask?: Waiting) => get<Run>(run(runId), {}, ask);

  /** Yields the ids of changed runs; null after each connect and whenever anything may have changed. */
  async function* changes(ask: Waiting = {}): AsyncGenerator<string | null> {
    for await (const { event, data } of connection.events('/changes', ask))
      yield event === 'connected' ? null : (JSON.parse(data).runId as string | null);
  }

  return {
    me: (ask?: Waiting) => get<Me>('/me', {}, ask),
    agents: (ask?: Waiting) => items<AgentInfo>('/agents', ask),
    stats: ({ days, signal }: Waiting & { readonly days?: number } = {}) => get<Stats>('/stats', { days }, { signal }),
    /** How people decide: times, outcomes, load, and findings. */
    insights: (filters?: InsightFilters, ask?: Waiting) => get<Insights>('/insights', filters, ask),
    changes,
    absences: {
      /** Absences that have not ended: all, or those that concern the caller, by their reach. */
      list: (ask?: Waiting) => items<Absence>('/absences', ask),
      /** The absence of the caller, or of another person, and for whom they decide. */
      get: ({ person, signal }: OfPerson = {}) => get<MyAbsence>('/me/absence', { person }, { signal }),
      /** The caller, or `person`, is away until then, and `delegate` decides for them. */
      set: (absent: Absent, ask?: Waiting) => post<MyAbsence>('/me/absence', absent, ask),
      end: ({ person, signal }: OfPerson = {}): Promise<MyAbsence> =>
        connection.json('/me/absence', { method: 'DELETE', query: { person }, signal }),
    },
    /** Channels and their deliveries, for callers who reach all runs; and what the caller wants to be told. */
    notices: {
      channels: (ask?: Waiting) => items<ChannelStatus>('/notices/channels', ask),
      /** Deliveries of the last seven days, newest first. */
      deliveries: (filters?: DeliveryFilters, ask?: Waiting) =>
        get<Page<Delivery>>('/notices/deliveries', filters, ask),
      /** Notices that were given up. */
      dead: (filters?: DeliveryFilters, ask?: Waiting) => get<Page<DeadLetter>>('/notices/dead', filters, ask),
      /** Resolves with false if the dead letter does not exist. */
      retry: async ({ channel, id }: Pick<DeadLetter, 'channel' | 'id'>, ask?: Waiting) =>
        (await post<{ retried: boolean }>('/notices/retry', { channel, id }, ask)).retried,
      /** Delivers the last notice about a request again. */
      resend: async ({ channel, requestId }: Pick<DeadLetter, 'channel' | 'requestId'>, ask?: Waiting) => {
        await post('/notices/resend', { channel, requestId }, ask);
      },
      preferences: (ask?: Waiting) => get<MyNotices>('/me/notices', {}, ask),
      setPreferences: (preferences: NoticePreferencesInput, ask?: Waiting) =>
        post<MyNotices>('/me/notices', preferences, ask),
    },
    runs: {
      start: (started: StartRun, ask?: Once) => post<Run>('/runs', started, ask),
      list: (filters?: RunFilters, ask?: Waiting) => get<Page<RunSummary>>('/runs', filters, ask),
      get: readRun,
      /** Resolves when the run waits for a person, failed or has ended; with `until: 'end'`, it does not stop at a request. */
      async wait(
        runId: string,
        { until = 'pause', ...ask }: Waiting & { readonly until?: 'pause' | 'end' } = {},
      ): Promise<Run> {
        // Reads the run when the stream of changes has connected, and after each of its changes.
        for await (const changed of changes(ask)) {
          if (changed !== null && changed !== runId) continue;
          const found = await readRun(runId, ask);
          if (found.status !== 'running' && !(until === 'end' && found.status === 'waiting')) return found;
        }
        ask.signal?.throwIfAborted();
        throw new ApiError(0, 'unreachable', 'The stream of changes ended.');
      },
      cancel: (runId: string, { reason, signal }: WithReason = {}) =>
        post<Run>(`${run(runId)}/cancel`, { reason }, { signal }),
      /** Resumes a failed run. */
      drive: (runId: string, ask?: Waiting) => post<Run>(`${run(runId)}/drive`, undefined, ask),
      verify: (runId: string, ask?: Waiting) => get<Verified>(`${run(runId)}/verify`, {}, ask),
      /** The evidence of a run as the text of a file. `verifyEvidence` checks it byte for byte. */
      evidence: (runId: string, ask?: Waiting) => connection.text(`${run(runId)}/evidence`, ask),
      events: (
        runId: string,
        {
          signal,
          ...query
        }: Waiting & { readonly after?: number; readonly cursor?: string; readonly limit?: number } = {},
      ) => get<Page<RunEvent>>(`${run(runId)}/events`, query, { signal }),
      /** Undoes the calls of a run that has ended, the newest first. Send it again to continue. */
      undo: (runId: string, ask?: Waiting) => post<Undoing>(`${run(runId)}/undo`, {}, ask),
      /** Yields every event after `after` until the run has ended; reconnects when the connection drops. */
      async *follow(
        runId: string,
        { after = 0, signal }: Waiting & { readonly after?: number } = {},
      ): AsyncGenerator<RunEvent> {
        for await (const { data } of connection.events(`${run(runId)}/events`, { signal }, after))
          yield JSON.parse(data) as RunEvent;
      },
    },
    requests: {
      list: (filters?: RequestFilters, ask?: Waiting) => get<Page<ApiRequest>>('/requests', filters, ask),
      /** How many there are. `isComplete` is false if there are more. */
      count: (filters?: RequestSelection, ask?: Waiting) => get<RequestCount>('/requests/count', filters, ask),
      /** All of them as the text of a CSV file. */
      csv: (filters?: RequestSelection, ask?: Waiting) => connection.text('/requests.csv', { query: filters, ...ask }),
      /** The steps of a plan, with what came of each; none if the request is not a plan. */
      plan: (requestId: string, ask?: Waiting) => get<Plan>(`${request(requestId)}/plan`, {}, ask),
      get: (requestId: string, ask?: Waiting) => get<RequestWithMessages>(request(requestId), {}, ask),
      decide: async (requestId: string, decide: Decide, ask?: Once): Promise<DecideResult> => {
        refuseLost(decide.decision);
        return post(`${request(requestId)}/decide`, decide, ask);
      },
      /**
       * Decides any number of requests, each for itself, and returns the outcome of each, in their order. They are sent 50 at a
       * time, and `onProgress` gets the outcomes so far. If it throws, the rest was not sent; doing it again is safe.
       */
      async decideMany(
        { items: asked, ...all }: DecideMany,
        { onProgress, signal }: Waiting & { readonly onProgress?: (outcomes: readonly DecisionOutcome[]) => void } = {},
      ): Promise<readonly DecisionOutcome[]> {
        for (const { decision } of asked) refuseLost(decision);
        const outcomes: DecisionOutcome[] = [];
        for (let sent = 0; sent < asked.length; sent += ITEMS_AT_ONCE) {
          const body = { ...all, items: asked.slice(sent, sent + ITEMS_AT_ONCE) };
          const decided = await post<{ items: readonly DecisionOutcome[] }>('/decisions', body, { signal });
          outcomes.push(...decided.items);
          onProgress?.([...outcomes]);
        }
        return outcomes;
      },
      /** Assigns the request to a person; null removes the assignment. Others can still decide. */
      assign: (requestId: string, to: string | null, ask?: Waiting) =>
        post<ApiRequest>(`${request(requestId)}/assignee`, { to }, ask),
      /** Comments on a pending request. It decides nothing. `@ann` in the text names a person, who is told. */
      comment: (requestId: string, text: string, ask?: Waiting) =>
        post<ApiRequest>(`${request(requestId)}/comments`, { text }, ask),
      /** Recalls an approved call that waits to start. */
      recall: (requestId: string, { reason, signal }: WithReason = {}) =>
        post<DecideResult>(`${request(requestId)}/recall`, { reason }, { signal }),
      /** Asks for the undo of the call. People decide it; asking again says how far it is. */
      undo: (requestId: string, ask?: Waiting) => post<Undoing>(`${request(requestId)}/undo`, {}, ask),
      /** Assigns it to the caller while they review it, for five minutes by default. Send it again to renew it. */
      take: (requestId: string, { forMs = 300_000, signal }: Waiting & { readonly forMs?: number } = {}) =>
        post<ApiRequest>(`${request(requestId)}/assignee`, { forMs }, { signal }),
      /** Ends what `take` began. */
      release: (requestId: string, ask?: Waiting): Promise<ApiRequest> =>
        connection.json(`${request(requestId)}/assignee`, { method: 'DELETE', ...ask }),
    },
    /** Calls of programs outside. `id` is the `runId` of the call, or the `id` of its request. */
    gate: {
      /** Asks for the call, or finds it: the same key asks once. `wait`: for so many seconds while it is pending or started. */
      ask: (call: GateAsk, ask?: Waiting) => post<GateAnswer>('/gate', call, ask),
      /** Proposes several calls as one request. Once it is approved, they run without another, each once. */
      plan: ({ steps, ...plan }: GatePlan, ask?: Waiting) =>
        post<GateAnswer>('/gate', { tool: 'plan', ...plan, input: { steps } }, ask),
      get: (id: string, { wait, signal }: Waiting & { readonly wait?: number } = {}) =>
        get<GateAnswer>(gate(id), { wait }, { signal }),
      /** Granted once; then do exactly the `input` and report. Throws `start-refused` if it is not granted. */
      start: (id: string, start: GateStart = {}, ask?: Waiting) => post<GateGranted>(`${gate(id)}/started`, start, ask),
      /** Extends the lease while the program works. Throws `start-refused` once the lease has ended. */
      renew: (id: string, renew: GateRenew, ask?: Waiting) => post<GateGranted>(`${gate(id)}/renew`, renew, ask),
      finish: (id: string, report: GateReport, ask?: Waiting) => post<GateAnswer>(`${gate(id)}/result`, report, ask),
      /** A pending or approved call will never start. */
      withdraw: (id: string, { reason, signal }: WithReason = {}) =>
        post<GateAnswer>(`${gate(id)}/withdraw`, { reason }, { signal }),
    },
    /** Approvals that cover the next calls too. They are given with a decision. */
    grants: {
      list: (filters?: GrantFilters, ask?: Waiting) => get<Page<Grant>>('/grants', filters, ask),
      get: (grantId: string, ask?: Waiting) => get<GrantInDetail>(grant(grantId), {}, ask),
      /** The next call is asked about again. */
      revoke: (grantId: string, { reason, signal }: WithReason = {}) =>
        post<Grant>(`${grant(grantId)}/revoke`, { reason }, { signal }),
      /** Counts what a grant would have let run, and suggests one. Nothing is recorded. */
      simulate: (asked: SimulateGrant, ask?: Waiting) => post<SimulatedGrant>('/grants/simulate', asked, ask),
    },
    /** Calls that must not start. Once `freeze` resolves, none that it covers starts. */
    freezes: {
      list: ({ lifted, signal }: Waiting & { readonly lifted?: boolean } = {}) =>
        get<Freezes>('/freezes', lifted ? { lifted: 'true' } : {}, { signal }),
      freeze: (freeze: FreezeRequest, ask?: Waiting) => post<MadeFreeze>('/freezes', freeze, ask),
      lift: (freezeId: string, note?: string, ask?: Waiting) =>
        post<Freeze>(`/freezes/${encodeURIComponent(freezeId)}/lift`, { note }, ask),
    },
    /** Only for callers with the reach `all`. */
    rules: {
      get: (ask?: Waiting) => get<Rules>('/rules', {}, ask),
      /** What other rules would have done with past calls. Nothing is recorded. */
      replay: (rules: Replay, ask?: Waiting) => post<Replayed>('/rules/replay', rules, ask),
      suggestions: (days?: number, ask?: Waiting) => items<Suggestion>(`/rules/suggestions?days=${days ?? 90}`, ask),
    },
  } as const;
}

/** Rules instead of those of the server, policies beside or instead of its own, and grants to try: 90 days by default. */
export type Replay = z.input<typeof ReplayShape>;
export type { Replayed };

/** The API of a server as typed functions. */
export type Client = ReturnType<typeof createClient>;

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
