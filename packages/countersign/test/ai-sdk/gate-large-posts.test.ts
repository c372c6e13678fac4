// Large posts to a gate: limits are enforced, and the work grows with the size of the post.
import { tool } from 'ai';
import { countersign, memoryStore } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { expect, test } from 'vitest';
import { z } from 'zod';

const who = { key: 'chat-1', by: 'ann' };
const tools = { pay: tool({ inputSchema: z.object({ amount: z.number() }), execute: async () => 'paid' }) };
const SECRET = 'a secret of at least thirty-two bytes!';
const gates = [
  [
    'with a store',
    () =>
      gateTools(tools, {
        ...who,
        ai: countersign({ store: memoryStore() }),
        approve: (_, input: any) => input.amount > 10,
      }),
  ],
  ['with a secret', () => gateTools(tools, { ...who, secret: SECRET, approve: (_, input: any) => input.amount > 10 })],
] as const;

const message = (parts: readonly object[]) => ({ id: 'm', role: 'assistant' as const, parts: parts as never });
const part = (input: unknown) => ({ type: 'tool-pay', toolCallId: 'c', state: 'output-available', input, output: 1 });

test.each(gates)('%s, too many parts or messages are rejected', async (_, open) => {
  const refused = expect.objectContaining({ code: 'too-large', details: expect.objectContaining({ status: 413 }) });
  const parts = Array.from({ length: 13_000 }, () => part({ amount: 1 }));
  await expect(open().receive([message(parts)])).rejects.toEqual(refused);
  await expect(open().receive(Array.from({ length: 6_000 }, () => message([])))).rejects.toEqual(refused);
});

test.each(gates)('%s, many parts under the id of a recorded call are each read a few times', async (_, open) => {
  const PARTS = 2_000;
  const gated = open();
  const call = { toolCallId: 'c', messages: [] };
  await gated.tools.pay.onInputAvailable?.({ ...call, input: { amount: 500 } } as never);
  let reads = 0;
  const counted = (amount: number) =>
    new Proxy(
      { amount },
      {
        ownKeys: (target) => {
          reads += 1;
          return Reflect.ownKeys(target);
        },
        get: (target, key) => {
          reads += 1;
          return Reflect.get(target, key);
        },
      },
    );
  const beside = Array.from({ length: PARTS }, () => part(counted(1)));
  const recorded = { ...part(counted(500)), state: 'approval-requested', approval: { id: 'a' } };
  await gated.receive([message([...beside, recorded])]);
  expect(reads).toBeLessThan(60 * PARTS);
});
