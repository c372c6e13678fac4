// What waiting runs wait for: the oldest pending request of each.
import type { RunInterrupt, Runs } from 'countersign';
import type { RunRecord } from 'countersign/store';
import type { RunSummary } from '../../schemas/run.ts';

type WaitsFor = RunSummary['waitsFor'];

/** How many are cached. */
const MAX_KNOWN = 10_000;

export function oldestOf([oldest]: readonly RunInterrupt[]): WaitsFor {
  return oldest ? { interruptId: oldest.id, tool: oldest.tool, title: oldest.title } : null;
}

/** Returns a function that reads what runs wait for, in their order. Each version of a run is read once. */
export function createWaitsFor(runs: Runs): (listed: readonly RunRecord[]) => Promise<readonly WaitsFor[]> {
  const known = new Map<string, WaitsFor>();

  async function read(runId: string, key: string): Promise<WaitsFor> {
    // SQLite answers synchronously: this lets other requests run in between.
    await new Promise(setImmediate);
    const waitsFor = oldestOf((await runs.interrupts({ runId, limit: 1 })).items);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, waitsFor);
    return waitsFor;
  }

  return async (listed) => {
    const found: WaitsFor[] = [];
    for (const { id, version, status } of listed) {
      const key = `${id}@${version}`;
      const waitsFor = status === 'waiting' ? known.get(key) : null;
      found.push(waitsFor === undefined ? await read(id, key) : waitsFor);
    }
    return found;
  };
}
