// What became of the calls that a grant reserved uses for, read from the runs themselves.

import type { GrantState } from '../../core/authority/grant.ts';
import type { Result, RunEvent } from '../../core/run/event.ts';
import { checkChain } from '../port/chain.ts';
import { readRun } from '../port/read-run.ts';
import type { RunStatus, Store } from '../port/store.ts';
import type { GrantRecord, GrantRecords } from './records.ts';

/** The name of a call in a grant: its run, and the calls of sub-agents that lead to it. */
export function useKey(runId: string, path: readonly string[]): string {
  return `${runId}:${path.map(encodeURIComponent).join('/')}`;
}

export const runOfUse = (key: string): string => key.slice(0, key.indexOf(':'));

/** Records which reserved uses are spent, and releases those of calls that did not run. `except` is left alone. */
export async function reconcile(
  store: Store,
  records: GrantRecords,
  record: GrantRecord,
  now: number,
  except?: string,
): Promise<GrantRecord> {
  const { id } = record.state.grant;
  const reserved = [...record.state.uses.values()].filter(({ key, status }) => status === 'reserved' && key !== except);
  const outcomes = new Map<string, Outcome>();
  for (const { key } of reserved) outcomes.set(key, await outcomeOf(store, id, key));
  let latest = record;
  for (const type of ['spent', 'released'] as const) {
    const known = new Set([...outcomes].flatMap(([key, outcome]) => (outcome === type ? key : [])));
    if (known.size === 0) continue;
    latest = await records.change(id, (state) => {
      const keys = stillReserved(state).filter((key) => known.has(key));
      return keys.length > 0 ? { type, keys, at: now } : undefined;
    });
  }
  if (isSpent(latest.state)) await records.close(latest.state);
  return latest;
}

const stillReserved = ({ uses }: GrantState): readonly string[] =>
  [...uses.values()].flatMap(({ key, status }) => (status === 'reserved' ? key : []));

/** No use will ever be free again. */
function isSpent({ grant, uses }: GrantState): boolean {
  return [...uses.values()].filter(({ status }) => status === 'spent').length >= grant.uses;
}

/** `open`: the call may still run, or its outcome is unknown and a person is asked. */
type Outcome = 'spent' | 'released' | 'open';

async function outcomeOf(store: Store, grantId: string, key: string): Promise<Outcome> {
  const loaded = await readRun(store, runOfUse(key));
  // The record no longer shows whether the call ran.
  if (!loaded) return 'spent';
  try {
    await checkChain(loaded);
  } catch {
    // A run that was changed in the store proves nothing.
    return 'open';
  }
  const calls = new Map<string, CallFacts>();
  collect(calls, loaded.run.id, [], loaded.events);
  const { status } = loaded.run;
  const facts = calls.get(key);
  // The process died before the call was recorded, and the run continued without it.
  if (!facts) return status === 'running' ? 'open' : 'released';
  return outcome(facts, grantId, ENDED.has(status));
}

const ENDED: ReadonlySet<RunStatus> = new Set(['done', 'cancelled']);

/** What the events of a run say about one call. */
type CallFacts = { grantId?: string; isStarted?: true; isAsked?: true; result?: Result };

function collect(
  calls: Map<string, CallFacts>,
  runId: string,
  path: readonly string[],
  events: readonly RunEvent[],
): void {
  for (const event of events) {
    if (!('callId' in event)) continue;
    const own = [...path, event.callId];
    const key = useKey(runId, own);
    const facts: CallFacts = calls.get(key) ?? {};
    calls.set(key, facts);
    if (event.type === 'call-granted') facts.grantId = event.grantId;
    if (event.type === 'call-started') facts.isStarted = true;
    if (event.type === 'call-interrupted') facts.isAsked = true;
    if (event.type === 'call-settled') facts.result = event.result;
    if (event.type === 'call-went-on') collect(calls, runId, own, event.inside);
  }
}

function outcome(facts: CallFacts, grantId: string, hasEnded: boolean): Outcome {
  const { isStarted, isAsked, result } = facts;
  const isOver = hasEnded || result !== undefined;
  // The call was asked about, or another grant let it run. Before that, its worker may be about to record this one.
  if (facts.grantId !== grantId) return isOver || isAsked || facts.grantId !== undefined ? 'released' : 'open';
  if (!isOver) return 'open';
  return !isStarted || (result?.type === 'error' && result.notPerformed) ? 'released' : 'spent';
}
