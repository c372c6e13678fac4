// What a grant would have done in the past, and which grant the past suggests.
import { commonConditions } from '../../core/authority/common-conditions.ts';
import { fieldOf } from '../../core/authority/condition.ts';
import type { GrantRequest } from '../../core/authority/grants/grant.ts';
import { isAmount } from '../../core/authority/grants/grant-maximum.ts';
import { matchesOffer, offered, offeredGrant } from '../../core/authority/grants/grant-offer.ts';
import { defined, isObject, type Json } from '../../core/json.ts';
import { Turn } from '../port/in-turns.ts';
import { mapValid } from '../port/skip-invalid.ts';
import type { RequestQuery, Store } from '../port/store.ts';
import { isUnasked } from '../requests/decision.ts';
import { type RunRequest, requestView } from '../requests/view.ts';
import { fits } from './give.ts';

/** How many settled requests of a tool are looked at, the newest first, whether or not they count. */
const MOST = 1_000;
const PAGE = 100;
/** Requests with large inputs come in more pages, of about half a megabyte each. */
const MOST_PAGES = 40;

/** The requests of the past that the grant would have let run. */
export type GrantSimulation = {
  /** How many settled requests of the tool count, among the newest 1,000, or fewer if they are large. */
  readonly requests: number;
  /** Older ones exist that were not looked at. */
  readonly more: boolean;
  /** How many of them meet its conditions. */
  readonly matching: number;
  /** How many would have run, in order, until its uses or its budget were taken. */
  readonly letThrough: number;
  /** Of the matching ones: how many a person approved unchanged, edited or rejected. The rest expired or were withdrawn. */
  readonly approved: number;
  readonly edited: number;
  readonly rejected: number;
  /** The ids of matching requests that were not approved unchanged, at most 20. */
  readonly otherwise: readonly string[];
};

/** A grant that the approved requests of a tool suggest; null if fewer than two were approved unchanged. */
export type GrantSuggestion = {
  readonly tool: string;
  readonly grant: GrantRequest | null;
  readonly simulation: GrantSimulation | null;
};

export type SimulatedGrant = Omit<GrantRequest, 'expiresAt'> & { readonly tool: string; readonly expiresAt?: number };

/** `among` selects the requests that count; all by default. `deciders`: only requests that these people may decide. */
export type HistoryOptions = {
  readonly among?: (request: RunRequest) => boolean | Promise<boolean>;
  readonly deciders?: RequestQuery['deciders'];
};

/** The requests that count, oldest first. */
export type History = { readonly requests: readonly RunRequest[]; readonly more: boolean };

/** Counts what the grant would have done. Its expiry does not count, because the past is over. */
export async function simulate(
  store: Store,
  { tool, ...request }: SimulatedGrant,
  options: HistoryOptions,
): Promise<GrantSimulation> {
  return replay(await settledRequests(store, tool, options), tool, request);
}

/** Suggests the conditions that all approved requests of the tool have in common. */
export async function suggest(
  store: Store,
  tool: string,
  now: number,
  options: HistoryOptions,
): Promise<GrantSuggestion> {
  const history = await settledRequests(store, tool, options);
  const approved = history.requests.filter((request) => outcomeOf(request) === 'approved');
  if (approved.length < 2) return { tool, grant: null, simulation: null };
  const grant = commonGrant(approved, now);
  return { tool, grant, simulation: await replay(history, tool, grant) };
}

export async function settledRequests(
  store: Store,
  tool: string,
  { among = () => true, deciders }: HistoryOptions,
): Promise<History> {
  const found: RunRequest[] = [];
  const turn = new Turn();
  let after: string | undefined;
  for (let looked = 0, pages = 0; looked < MOST && pages < MOST_PAGES; pages++) {
    const query = { tool, kind: 'approval', settled: true, order: 'newest', limit: PAGE } as const;
    const { items, cursor } = await store.listRequests({ ...query, ...defined({ after, deciders }) });
    for (const request of mapValid(items, requestView)) {
      if (turn.isLong) await turn.pass();
      // A call that ran unasked was decided by nobody.
      if (!request.drill && !isUnasked(request.settlement) && (await among(request))) found.push(request);
    }
    looked += items.length;
    if (cursor === null) return { requests: found.toReversed(), more: false };
    after = cursor;
  }
  return { requests: found.toReversed(), more: true };
}

type Outcome = 'approved' | 'edited' | 'rejected' | 'other';

export function outcomeOf({ settlement }: RunRequest): Outcome {
  const decision = settlement?.decision;
  if (!isObject(decision)) return 'other';
  if (decision.type === 'reject' || decision.type === 'revise') return 'rejected';
  if (decision.type !== 'approve') return 'other';
  return decision.edit === undefined ? 'approved' : 'edited';
}

export async function replay(
  { requests, more }: History,
  tool: string,
  { schema, ...limits }: Omit<GrantRequest, 'expiresAt'>,
): Promise<GrantSimulation> {
  let events = offeredGrant({ ...limits, tool });
  const counts: Record<Outcome, number> = { approved: 0, edited: 0, rejected: 0, other: 0 };
  const otherwise: string[] = [];
  const turn = new Turn();
  for (const request of requests) {
    if (turn.isLong) await turn.pass();
    const { id: key, input } = request;
    if (!matchesOffer(events, true, request) || !fits({ ...(schema && { schema }) }, input)) continue;
    const outcome = outcomeOf(request);
    counts[outcome] += 1;
    if (outcome !== 'approved' && otherwise.length < MOST_SHOWN) otherwise.push(key);
    events = offered({ events, key, fitsSchema: true }, request) ?? events;
  }
  const { other, ...decided } = counts;
  const matching = Object.values(decided).reduce((sum, count) => sum + count, other);
  return { requests: requests.length, more, matching, letThrough: events.length - 1, ...decided, otherwise };
}

const MOST_SHOWN = 20;
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

/** What the inputs have in common. The numeric field with the largest sum becomes the budget. */
export function commonGrant(approved: readonly RunRequest[], now: number): GrantRequest {
  const inputs = approved.map(({ input }) => input).filter(isObject) as readonly { readonly [key: string]: Json }[];
  const where = commonConditions(inputs);
  let budget: GrantRequest['budget'];
  for (const { field, atMost } of where) {
    if (atMost === undefined) continue;
    const total = Math.ceil(inputs.reduce((sum, input) => sum + (fieldOf(input, field) as number), 0));
    if (isAmount(total) && total > (budget?.total ?? 0)) budget = { field, total };
  }
  const uses = Math.min(approved.length, 100);
  return { where, uses, ...(budget && { budget }), expiresAt: now + WEEK_MS };
}
