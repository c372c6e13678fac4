// A bank for processes that get killed: its agent, and files with one line per effect and per acknowledgement.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { restateStore } from '@countersign/restate';
import { countersign, type RunRequest, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';

/** Where the runs are stored, and the files beside them. */
export type Place = {
  readonly ingress: readonly string[];
  readonly admin: string;
  /** The SQLite file of the lists. */
  readonly lists: string;
  readonly ledger: string;
  readonly acks: string;
};

/** An effect that cannot be undone. */
export type Line = { readonly run: string; readonly tool: string; readonly key: string };
/** What a process was told, and must hold. */
export type Ack = { readonly start: string } | { readonly decided: string; readonly by: string };

export const LEASE_MS = 4_000;

/** The tools that the model calls for each kind of run, turn by turn. The kind is the first word of the run's id. */
const TURNS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  pay: [['pay']],
  two: [['pay', 'pay']],
  chain: [['look', 'pay'], ['pay']],
  look: [['look']],
};
export const KINDS = Object.keys(TURNS);
const turnsOf = (runId: string): readonly (readonly string[])[] => TURNS[runId.split('-')[0] ?? ''] ?? [];

/** The effects that a run of this id has in the end. */
export const effectsOf = (runId: string): readonly string[] => turnsOf(runId).flat().toSorted();

export const openStore = ({ ingress, admin, lists }: Place): Store =>
  restateStore({ ingress, admin, lists: sqliteStore(lists) });

export function writeLine(path: string, line: Line | Ack): void {
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}

export function readLines<T>(path: string): readonly T[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line): T => JSON.parse(line));
}

/** `slowMs`: how long a body takes before and after its effect. */
export function openBank(store: Store, place: Place, slowMs: () => number) {
  const model = scriptedModel(({ messages }) => {
    const said = messages.find(({ role }) => role === 'user')?.content[0];
    const run = said && 'text' in said ? said.text : '';
    const turn = messages.filter(({ role }) => role === 'tool').length;
    const names = turnsOf(run)[turn];
    if (!names) return { text: `Done ${run}` };
    return { calls: names.map((name, index) => ({ name, ref: `${name}-${turn}-${index}`, input: { run } })) };
  });
  const ai = countersign({ model, store, leaseMs: LEASE_MS, retry: false });
  const act =
    (tool: string) =>
    async ({ run }: { readonly run: string }, ctx: { readonly idempotencyKey: string }) => {
      await delay(slowMs());
      writeLine(place.ledger, { run, tool, key: ctx.idempotencyKey });
      await delay(slowMs());
      return `${tool} of ${run}`;
    };
  const base = { description: '', inputSchema: z.object({ run: z.string() }) };
  const tools = [
    ai.defineTool({ ...base, name: 'pay', needsApproval: true }, act('pay')),
    ai.defineTool({ ...base, name: 'look', idempotent: true }, act('look')),
  ];
  const agent = ai.defineAgent({ name: 'clerk', tools });
  return { ai, runs: ai.runs, start: (runId: string) => agent.start(runId, { runId }) };
}

/** Decides a doubt by the ledger: reports an effect that happened, and runs the call otherwise. */
export function truthOn({ part, tool, runId }: RunRequest, lines: readonly Line[]) {
  const { callId } = (part.metadata ?? {}) as { readonly callId?: string };
  const happened = lines.some(({ key }) => key === callId);
  return happened ? ({ type: 'respond', output: `${tool} of ${runId}` } as const) : ('approve' as const);
}
