// Case C only: a history that we have never seen, with the system message beside it. The other rows pass the same
// array each time, as a conversation that is kept in memory does; here nothing that was noted about it can help.
import { SYSTEM } from '../../lib/plan.mjs';
import { create as base, meta as m } from './adapter.mjs';

export const meta = { ...m, id: 'ours:fresh-history', label: 'Countersign (fresh history)', variantOf: 'ours' };
export async function create(options) {
  const driver = await base(options);
  const system = { role: 'system', content: [{ text: SYSTEM }] };
  return { ...driver, pause: (history) => driver.pause(history && [system, ...history]) };
}
