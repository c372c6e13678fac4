// The agents file of a fleet. An order is reserved, paid after approval, and shipped; the id of its run says how it is paid.
import { setTimeout as delay } from 'node:timers/promises';
import { type Countersign, countersign, z } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { type Line, writeLine } from './ledger.ts';

const { FLEET_LEDGER = '', FLEET_BUILD = '' } = process.env;

/** How long a request of the kind `expiring` waits before it counts as approved, which a worker finds out. */
const EXPIRES_MS = 300;

export const server = { inboxDir: false as const, metrics: 'open' as const };

export default function agents({ store }: { readonly store: Store }): Countersign {
  const model = scriptedModel(async ({ messages }) => {
    const said = messages.find(({ role }) => role === 'user')?.content[0];
    const order = said && 'text' in said ? said.text : '';
    note({ what: 'ask', order });
    await aWhile(60);
    note({ what: 'reply', order });
    const replies = messages.filter(({ role }) => role === 'model').length;
    const name = (['reserve', 'pay', 'ship'] as const)[replies];
    return name === undefined ? `Done ${order}.` : { calls: [{ name, ref: name, input: { order } }] };
  });
  const ai = countersign({ store, model });
  const inputSchema = z.object({ order: z.string() });
  const body =
    (tool: string, ms: number) =>
    async ({ order }: { readonly order: string }) => {
      note({ what: 'begin', order, tool });
      await aWhile(ms);
      note({ what: 'effect', order, tool });
      await aWhile(ms);
      note({ what: 'end', order, tool });
      return { order, tool, build: FLEET_BUILD };
    };
  const tools = [
    ai.defineTool({ name: 'reserve', description: 'Reserves an order.', inputSchema }, body('reserve', 60)),
    ai.defineTool(
      {
        name: 'pay',
        description: `Pays an order, as ${FLEET_BUILD} does.`,
        inputSchema,
        needsApproval: ({ order }) =>
          order.startsWith('expiring') ? { expiresIn: EXPIRES_MS, onExpiry: 'approve' } : true,
      },
      body('pay', 500),
    ),
    ai.defineTool({ name: 'ship', description: 'Ships an order.', inputSchema }, body('ship', 60)),
  ];
  ai.defineAgent({ name: 'clerk', tools });
  return ai;
}

function note(line: Pick<Line, 'what' | 'order' | 'tool'>): void {
  writeLine(FLEET_LEDGER, { ...line, pid: process.pid, build: FLEET_BUILD, at: Date.now() });
}

const aWhile = (ms: number): Promise<void> => delay(ms / 2 + (ms / 2) * Math.random());
