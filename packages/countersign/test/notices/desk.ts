// A desk whose payments two people decide, and two channels that post every notice to a receiver in another process.
import { type Channel, countersign, type Notice, z } from '../../src/index.ts';
import type { Store } from '../../src/runs/port/store.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Receipt } from './receiver-child.ts';

export type DeskOptions = {
  readonly store: Store;
  /** The address of the receiver. */
  readonly url: string;
  /** How many payments a run asks for at once; 1 by default. */
  readonly payments?: number;
  /** Called before and after each post. */
  readonly act?: () => void;
  readonly leaseMs?: number;
  readonly clock?: () => number;
};

export const PEOPLE = ['ann', 'ben'];

export function openDesk({ store, url, payments = 1, act = () => undefined, leaseMs = 3_000, clock }: DeskOptions) {
  const channel = (name: string, audience: 'person' | 'shared'): Channel => ({
    name,
    audience,
    all: audience === 'shared',
    async deliver(notice, { signal }) {
      act();
      const body = JSON.stringify(receiptOf(name, notice, audience));
      const { ok, status } = await fetch(url, { method: 'POST', body, signal });
      act();
      if (!ok) throw new Error(`The receiver answered ${status}.`);
    },
  });
  const channels = [channel('events', 'shared'), channel('people', 'person')];
  const calls = Array.from({ length: payments }, (_, index) => ({ name: 'pay', input: { number: index } }));
  const model = scriptedModel(({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls }));
  const ai = countersign({ store, model, leaseMs, retry: false, channels, ...(clock && { clock }) });
  const policy = { deciders: { people: PEOPLE } };
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({ number: z.number() }), needsApproval: { policy } },
    () => 'paid',
  );
  return { ai, runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

function receiptOf(channel: string, { key, requestId, type, to }: Notice, audience: string): Receipt {
  return { channel, key, requestId, type, person: audience === 'person' ? (to[0]?.person ?? null) : null };
}
