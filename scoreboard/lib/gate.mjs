// Our gate around the tools of another system: one store in a file. People decide in the record, then the system resumes.
import { join } from 'node:path';
import { toldBy } from './model.mjs';

export const TITLE = { pay: ({ to, amount }) => `Pay ${amount} to ${to}` };

/** `engine`: the module `countersign`, and `sqliteStore`. */
export function openGate({ countersign, sqliteStore }, folder, options = {}) {
  const ai = countersign({ store: sqliteStore(join(folder, 'gate.db')), leaseMs: 1_000, ...options });
  const find = async (id, settled) =>
    (await ai.runs.requests({ settled, limit: 100 })).items.filter(({ input }) => input?.to === id);
  const waiting = async (id, kind) =>
    (await find(id, false)).find((request) => (request.kind === 'doubt') === (kind === 'doubt'));
  return {
    ai,
    async decide(id, decision) {
      const request = await waiting(id);
      if (!request) throw new Error('Nothing waits for a decision.');
      await ai.runs.decide(request.id, decision, { by: decision === 'approve' ? 'bea' : 'rob' });
    },
    /** A person says what the bank says. */
    async answer(id, isPaid) {
      const doubt = await waiting(id, 'doubt');
      if (doubt)
        await ai.runs.decide(
          doubt.id,
          isPaid ? { type: 'respond', output: `paid, says the bank, to ${id}` } : 'approve',
          { by: 'bea' },
        );
    },
    async look(id) {
      if (await waiting(id, 'doubt')) return 'asked';
      if (await waiting(id)) return 'waiting';
      const [request] = await find(id, true);
      if (!request) return 'none';
      const run = await ai.runs.get(request.runId);
      return run.status === 'done' ? toldBy(run.text ?? JSON.stringify(run.messages)) : 'unfinished';
    },
  };
}
