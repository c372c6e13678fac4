// The statistics of the memory store, as the rows that the SQL stores get from their databases.
import { isDrill } from '../../core/drill.ts';
import type { InterruptRecord } from '../../runs/port/store.ts';
import { outcomeOf } from '../rules/outcomes.ts';
import { DAY_MS, type StatsRequest, type StatsRow } from '../rules/stats.ts';

export function memoryStats(interrupts: Iterable<InterruptRecord>, request: StatsRequest): readonly StatsRow[] {
  const groups = new Map<string, Pick<StatsRow, 'part' | 'tool' | 'day'> & { readonly of: InterruptRecord[] }>();
  const add = (of: InterruptRecord, part: StatsRow['part'], tool: string | null, day: number | null): void => {
    const key = JSON.stringify([part, tool, day]);
    const group = groups.get(key) ?? { part, tool, day, of: [] };
    groups.set(key, group);
    group.of.push(of);
  };
  for (const interrupt of interrupts) {
    const { tool, settledAt, startedBy } = interrupt;
    if (request.startedBy !== undefined && startedBy !== request.startedBy) continue;
    if (settledAt === null) {
      add(interrupt, 'waiting', tool, null);
    } else if (settledAt >= request.since && settledAt <= request.until && !isDrill(interrupt)) {
      add(interrupt, 'tool', tool, null);
      add(interrupt, 'day', null, Math.floor(settledAt / DAY_MS));
      add(interrupt, 'all', null, null);
    }
  }
  return [...groups.values()].map(({ of, ...group }) => ({ ...group, ...summaryOf(group.part, of) }));
}

function summaryOf(part: StatsRow['part'], of: readonly InterruptRecord[]): Omit<StatsRow, 'part' | 'tool' | 'day'> {
  const waits = part === 'waiting';
  const outcomes = waits ? [] : of.map(({ settlement }) => outcomeOf(settlement).outcome);
  const count = (wanted: string): number => outcomes.filter((outcome) => outcome === wanted).length;
  const took = of
    .filter(({ settlement }) => outcomeOf(settlement).outcome !== 'withdrawn')
    .map(({ settledAt, createdAt }) => Math.max(0, (settledAt ?? 0) - createdAt))
    .sort((a, b) => a - b);
  const timed = part === 'tool' || part === 'all';
  return {
    waiting: waits ? of.length : 0,
    oldest_at: waits ? of.reduce((oldest, { createdAt }) => Math.min(oldest, createdAt), Infinity) : null,
    approved: count('approved'),
    rejected: count('rejected'),
    answered: count('answered'),
    cancelled: count('cancelled') + count('withdrawn'),
    decided: waits ? 0 : took.length,
    median_ms: timed ? (took[Math.ceil(took.length / 2) - 1] ?? null) : null,
    p95_ms: timed ? (took[Math.ceil(took.length * 0.95) - 1] ?? null) : null,
  };
}
