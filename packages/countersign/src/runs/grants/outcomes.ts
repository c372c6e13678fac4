// What became of the calls that a grant reserved uses for, read from the runs themselves.

import type { Grant, GrantState } from '../../core/authority/grants/grant.ts';
import { requestId } from '../../core/run/call.ts';
import type { Result, RunEvent } from '../../core/run/event.ts';
import { checkChain } from '../port/chain.ts';
import { readRun } from '../port/read-run.ts';
import type { LoadedRun, RunStatus, Store } from '../port/store.ts';
import { runIdOf } from '../requests/card.ts';
import type { GrantRecord, GrantRecords } from './records.ts';

/** The name of a use: the run, the calls of sub-agents that lead to the call, and the request that would have been asked. */
export function useKey(runId: string, path: readonly string[]): string {
  return `${runId}:${path.map(encodeURIComponent).join('/')}`;
}

/**
 * Records which reserved uses are spent, and releases those of calls that did not run. Only a record of the run that rules the
 * call out releases its use: a run that looks idle may be about to record the call. `except` is left alone.
 */
export async function reconcile(
  store: Store,
  records: GrantRecords,
  record: GrantRecord,
  now: number,
  except?: string,
): Promise<GrantRecord> {
  const { id } = record.state.grant;
  const spent = new Set<string>();
  const released = new Set<string>();
  for (const key of reservedIn(record.state)) {
    const outcome = key === except ? 'open' : await outcomeOf(store, id, key);
    if (outcome !== 'open') (outcome === 'spent' ? spent : released).add(key);
  }
  let latest = record;
  if (spent.size > 0)
    latest = await records.change(id, (state) => {
      const keys = reservedIn(state).filter((key) => spent.has(key));
      return keys.length > 0 ? { type: 'spent', keys, at: now } : undefined;
    });
  if (released.size > 0) latest = await records.release(id, released);
  if (isSpent(latest.state)) await records.close(latest.state);
  return latest;
}

const reservedIn = ({ uses }: GrantState): readonly string[] =>
  [...uses.values()].flatMap(({ key, status }) => (status === 'reserved' ? key : []));

/** No use will ever be free again. */
function isSpent({ grant, uses }: GrantState): boolean {
  return [...uses.values()].filter(({ status }) => status === 'spent').length >= grant.uses;
}

/** `open`: the call may still run, or its outcome is unknown and a person is asked. */
type Outcome = 'spent' | 'released' | 'open';

async function outcomeOf(store: Store, grantId: string, key: string): Promise<Outcome> {
  const loaded = await readRun(store, runIdOf(key));
  // The call was recorded before its use was reserved. So the run was deleted, and it is unknown whether the call ran.
  if (!loaded) return 'spent';
  return (await isIntact(loaded)) ? outcomeIn(loaded, grantId, key) : 'open';
}

/** A run that was changed in the store proves nothing. */
const isIntact = (loaded: LoadedRun): Promise<boolean> =>
  checkChain(loaded).then(
    () => true,
    () => false,
  );

const ENDED: ReadonlySet<RunStatus> = new Set(['done', 'cancelled']);

/** What the record of a run says about one use. */
export function outcomeIn(
  { run, events }: { readonly run: { readonly id: string; readonly status: RunStatus }; readonly events: Events },
  grantId: string,
  key: string,
): Outcome {
  for (const call of callsIn(run.id, events)) {
    const count = call.keys.indexOf(key) + 1;
    if (count > 0) return outcome(call, count, grantId, ENDED.has(run.status));
  }
  return 'open';
}

type Events = readonly RunEvent[];

/** What the events of a run say about one call. */
type CallFacts = {
  readonly outer: CallFacts | undefined;
  /** The name of each use that the call could take: instead of its first request, of its second, and so on. */
  readonly keys: string[];
  /** The ids of its requests. */
  readonly asked: string[];
  /** The grants that answered instead of a person, by the number of the request. */
  readonly granted: Map<number, { readonly grantId: string; isStarted?: true }>;
  isPending?: boolean;
  isStarted?: true;
  result?: Result;
};

function callsIn(runId: string, events: Events): readonly CallFacts[] {
  const calls = new Map<string, CallFacts>();
  collect(calls, runId, [], events);
  return [...calls.values()];
}

function collect(calls: Map<string, CallFacts>, runId: string, path: readonly string[], events: Events): void {
  const factsOf = (callId: string): CallFacts => {
    const id = useKey(runId, [...path, callId]);
    const outer = calls.get(useKey(runId, path));
    const facts = calls.get(id) ?? { outer, keys: [id], asked: [], granted: new Map() };
    calls.set(id, facts);
    return facts;
  };
  for (const event of events) {
    if (event.type === 'model-replied') for (const { id } of event.calls) factsOf(id);
    if (!('callId' in event)) continue;
    const { callId } = event;
    const facts = factsOf(callId);
    const request = facts.keys.length;
    if (event.type === 'call-granted') facts.granted.set(request, { grantId: event.grantId });
    if (event.type === 'call-started') {
      facts.isStarted = true;
      const granted = facts.granted.get(request);
      if (granted) granted.isStarted = true;
    }
    if (event.type === 'call-interrupted' && event.request.kind !== 'inside') {
      facts.asked.push(event.request.id);
      facts.keys.push(useKey(runId, [...path, requestId(callId, request + 1)]));
      facts.isPending = event.request.kind === 'approval';
    }
    if (event.type === 'decision-made') facts.isPending = false;
    if (event.type === 'call-settled') facts.result = event.result;
    if (event.type === 'call-went-on') collect(calls, runId, [...path, callId], event.inside);
  }
}

function outcome({ keys, granted, result, outer }: CallFacts, request: number, id: string, hasEnded: boolean): Outcome {
  const isOver = hasEnded || result !== undefined || hasResult(outer);
  const isAsked = keys.length > request;
  const own = granted.get(request);
  // A person was asked, or another grant let the call run. Before that, its worker may be about to record this one.
  if (own?.grantId !== id) return isOver || isAsked || own ? 'released' : 'open';
  if (!own.isStarted) return isOver || isAsked ? 'released' : 'open';
  return isOver ? ended(result) : 'open';
}

const ended = (result: Result | undefined): Outcome =>
  result?.type === 'error' && result.notPerformed ? 'released' : 'spent';

/** What became of the call itself, whose key is that of its run and the calls that lead to it. */
export async function outcomeOfCall(store: Store, key: string): Promise<Outcome> {
  const loaded = await readRun(store, runIdOf(key));
  if (!loaded) return 'spent';
  if (!(await isIntact(loaded))) return 'open';
  const call = callsIn(loaded.run.id, loaded.events).find(({ keys }) => keys[0] === key);
  if (!call) return 'open';
  if (!ENDED.has(loaded.run.status) && !call.result && !hasResult(call.outer)) return 'open';
  return call.isStarted ? ended(call.result) : 'released';
}

/** The call of a sub-agent cannot start once the call around it has its result. */
const hasResult = (facts: CallFacts | undefined): boolean =>
  facts !== undefined && (facts.result !== undefined || hasResult(facts.outer));

/**
 * Whether the approval that the grant came with still stands; `final` if its call has run. `pending`: the call was asked about
 * again, because its preview had changed. `rejected`: the call did not run, because a person or its tool rejected it then.
 */
export async function approvalOf(
  store: Store,
  { requestId }: Grant,
): Promise<'stands' | 'final' | 'pending' | 'rejected'> {
  const runId = runIdOf(requestId);
  const loaded = await readRun(store, runId);
  if (!loaded || !(await isIntact(loaded))) return 'stands';
  const asked = requestId.slice(runId.length + 1).replace(/~\d+$/, '');
  const call = callsIn(runId, loaded.events).find((facts) => facts.asked.includes(asked));
  if (call?.result) return call.result.type === 'rejected' ? 'rejected' : 'final';
  return call?.isPending ? 'pending' : 'stands';
}
