// Runs as lists show them: with their titles, and the oldest pending request of those that wait.
import type { Message, RunRequest, Runs } from 'countersign';
import type { ListedRun } from 'countersign/store';
import type { RunSummary } from '../../schemas/run.ts';

const MAX_LENGTH = 120;
/** How many values are cached. */
const MAX_KNOWN = 10_000;

export function summaryOf(run: ListedRun, title: string | null, waitsFor: RunSummary['waitsFor']): RunSummary {
  const { id, agent, usage, failures, status, startedBy, createdAt, updatedAt, version, drill } = run;
  const summary = { id, agent, title, waitsFor, usage, failures, status, startedBy, createdAt, updatedAt, version };
  return drill ? { ...summary, drill } : summary;
}

/** The first words of the user on one line, or null if the user said nothing. */
export function titleOf(messages: readonly Message[]): string | null {
  const said = messages.find(({ role }) => role === 'user')?.content ?? [];
  const text = said.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join(' ');
  const words = text.replaceAll(/\s+/g, ' ').trim();
  // Cut between characters, never inside a surrogate pair.
  const start = [...words.slice(0, 2 * MAX_LENGTH)];
  if (start.length === 0) return null;
  return start.length > MAX_LENGTH ? `${start.slice(0, MAX_LENGTH).join('').trimEnd()}…` : words;
}

export const oldestOf = ([oldest]: readonly RunRequest[]): RunSummary['waitsFor'] =>
  oldest ? { requestId: oldest.id, tool: oldest.tool, title: oldest.title } : null;

/** Returns a function that summarizes runs, in their order. */
export function runSummaries(runs: RunsToRead): (listed: readonly ListedRun[]) => Promise<readonly RunSummary[]> {
  // A first event never changes.
  const titleFor = readOnce(async (runId: string) => {
    const first = (await runs.store.read(runId, { limit: 1 }))?.events[0];
    return first?.type === 'user-spoke' ? titleOf(first.messages) : null;
  });
  const waitsFor = readOnce(async (runId: string, _version: number) =>
    oldestOf((await runs.requests({ runId, limit: 1 })).items),
  );
  return async (listed) => {
    const summaries: RunSummary[] = [];
    for (const run of listed) {
      const waiting = run.status === 'waiting' ? await waitsFor(run.id, run.version) : null;
      summaries.push(summaryOf(run, await titleFor(run.id), waiting));
    }
    return summaries;
  };
}

type RunsToRead = { readonly store: Pick<Runs['store'], 'read'>; readonly requests: Runs['requests'] };

/** Reads each value once. */
function readOnce<Key extends readonly (string | number)[], Value>(read: (...key: Key) => Promise<Value>) {
  const known = new Map<string, Value>();
  return async (...key: Key): Promise<Value> => {
    const name = key.join('@');
    const found = known.get(name);
    if (found !== undefined) return found;
    // SQLite answers synchronously, and a first message may be large: this lets other requests run in between.
    await new Promise(setImmediate);
    const value = await read(...key);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(name, value);
    return value;
  };
}
