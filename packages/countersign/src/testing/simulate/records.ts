// What the store has after a schedule: every run with its events, calls and requests, read without the engine that wrote it.
import type { RunEvent } from '../../core/run/event.ts';
import type { RunRecord, Store, StoredEvent } from '../../runs/port/store.ts';
import { type RunRequest, requestView } from '../../runs/requests/view.ts';

/** One call, with what its record says, in order. */
export type RecordedCall = { readonly id: string; readonly key: string; tool: string; readonly events: StoredEvent[] };

export type RecordedRun = {
  readonly run: RunRecord;
  readonly events: readonly StoredEvent[];
  readonly calls: ReadonlyMap<string, RecordedCall>;
  readonly requests: readonly RunRequest[];
};

export async function readRecords(store: Store): Promise<readonly RecordedRun[]> {
  const runs: RunRecord[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.listRuns({ limit: 200, ...(after && { after }) });
    runs.push(...page.items);
    if (page.cursor === null) break;
    after = page.cursor;
  }
  return Promise.all(runs.map((run) => readRecord(store, run)));
}

async function readRecord(store: Store, run: RunRecord): Promise<RecordedRun> {
  const events: StoredEvent[] = [];
  for (;;) {
    const loaded = await store.read(run.id, { after: events.length });
    if (!loaded || loaded.events.length === 0) break;
    events.push(...loaded.events);
  }
  const requests: RunRequest[] = [];
  for (const settled of [false, true]) {
    for (let after: string | undefined; ; ) {
      const page = await store.listRequests({ runId: run.id, settled, limit: 200, ...(after && { after }) });
      requests.push(...page.items.map(requestView));
      if (page.cursor === null) break;
      after = page.cursor;
    }
  }
  return { run, events, calls: callsIn(run.id, events), requests };
}

/** The key under which the outside knows the call of a request: that of the run for a call of a program outside. */
export const keyOf = ({ runId, part }: RunRequest): string =>
  runId.startsWith('gate.') ? `gate:${runId}` : String(part.metadata?.callId ?? part.toolRequest.ref);

/** What the settled request was decided as. */
export const decidedAs = ({ settlement }: RunRequest): string | undefined =>
  (settlement?.decision as { readonly type?: string } | undefined)?.type;

function callsIn(runId: string, events: readonly StoredEvent[]): ReadonlyMap<string, RecordedCall> {
  const calls = new Map<string, RecordedCall>();
  const callOf = (id: string): RecordedCall => {
    const key = runId.startsWith('gate.') ? `gate:${runId}` : id;
    const call = calls.get(id) ?? { id, key, tool: '', events: [] };
    calls.set(id, call);
    return call;
  };
  const take = (event: RunEvent, at: number): void => {
    if (event.type === 'model-replied') {
      const names = event.content.flatMap((part) => ('toolRequest' in part ? [part.toolRequest.name] : []));
      event.calls.forEach(({ id }, index) => {
        callOf(id).tool = names[index] ?? '';
      });
    }
    if ('callId' in event && typeof event.callId === 'string')
      callOf(event.callId).events.push({ ...event, at } as StoredEvent);
    if (event.type === 'call-went-on') for (const inner of event.inside) take(inner, at);
  };
  for (const event of events) take(event, event.at);
  return calls;
}
