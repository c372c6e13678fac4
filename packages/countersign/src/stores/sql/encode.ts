// An append as rows of values, for both SQL stores. JSON is stored as text, byte for byte.
import type { Json } from '../../core/json.ts';
import { eventsText } from '../../runs/port/chain.ts';
import type { Append } from '../../runs/port/store.ts';
import { keysOf } from '../rules/deciders.ts';
import { endedAs, outcomeOf } from '../rules/outcomes.ts';
import { searchTextOf } from '../rules/search-text.ts';

export type EncodedAppend = ReturnType<typeof encodeAppend>;

/** Later changes of the caller's objects do not reach the rows. */
export function encodeAppend(append: Append) {
  const { runId, create, claim, events, opened, settled, progressed = [], ended = [] } = append;
  return {
    runId,
    run: {
      run_id: runId,
      expected: append.expectedVersion,
      added: events.length,
      alters: settled.length + progressed.length,
      events: eventsText(events),
      hash: append.hash,
      status: append.status,
      wake_at: append.wakeAt,
      outcome: JSON.stringify(append.outcome),
      how: claim?.how ?? null,
      token: claim?.token ?? null,
      lease_ms: claim === undefined ? null : Math.ceil(claim.leaseMs),
      agent: create?.agent ?? null,
      started_by: create?.startedBy ?? null,
      at: append.at ?? null,
      freezes: append.freezes ?? null,
    },
    opened: opened.map((request) => ({
      run_id: runId,
      id: request.id,
      agent: request.agent,
      tool: request.tool,
      kind: request.kind,
      risk: request.risk,
      digest: request.digest,
      created_at: request.createdAt,
      expires_at: request.expiresAt,
      deciders: JSON.stringify(keysOf(request.deciders)),
      labels: request.labels.length === 0 ? null : JSON.stringify(request.labels),
      search_text: searchTextOf(request),
      card: JSON.stringify(request.card),
      progress: progressText(request.progress),
      ...(request.settlement !== undefined && settledAs(request.settlement, request.outcome)),
    })),
    settled: settled.map(({ id, settlement, outcome }) => ({ run_id: runId, id, ...settledAs(settlement, outcome) })),
    progressed: progressed.map(({ id, progress, deciders }) => {
      const keys = deciders === undefined ? null : JSON.stringify(keysOf(deciders));
      return { run_id: runId, id, progress: progressText(progress), deciders: keys };
    }),
    ended: ended.map(({ id, outcome }) => ({ run_id: runId, id, ...endOf(outcome) })),
  };
}

export type EncodedSettlement = ReturnType<typeof settledAs>;

function settledAs(settlement: Json, end: Json | undefined) {
  const { outcome, edited, expired } = outcomeOf(settlement);
  const flags = { edited: Number(edited), expired: Number(expired), ...endOf(end) };
  return { settlement: JSON.stringify(settlement), outcome, ...flags };
}

function endOf(outcome: Json | undefined): { readonly ended: string | null; readonly ending: string | null } {
  if (outcome == null) return { ended: null, ending: null };
  return { ended: endedAs(outcome), ending: JSON.stringify(outcome) };
}

/** Null is the default, and takes no space. */
function progressText(progress: Json | undefined): string | null {
  return progress == null ? null : JSON.stringify(progress);
}
