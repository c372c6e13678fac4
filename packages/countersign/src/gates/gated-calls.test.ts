// After a person asked for changes, the next call of the tool in the same conversation is the second round.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { countersign } from '../countersign.ts';
import type { GateResult } from '../runs/gates/gate-result.ts';
import { memoryStore } from '../stores/memory/memory.ts';
import { GatedCalls } from './gated-calls.ts';

const inputSchema = z.object({ amount: z.number() });

function openAgent(store = memoryStore()) {
  const ai = countersign({ store });
  const needsApproval = ({ amount }: { amount: number }) => amount > 50;
  const calls = new GatedCalls('agents', [{ name: 'pay', inputSchema }], {
    ai,
    key: 'chat-1',
    asks: { pay: { needsApproval } },
  });
  const body = () => 'paid';
  const ask = (callId: string, amount: number, conversation?: string) =>
    calls.ask('pay', callId, { amount }, body, conversation);
  const cardOf = (result: GateResult) => ai.runs.request('id' in result ? result.id : '');
  const revise = async (result: GateResult) =>
    ai.runs.decide((await cardOf(result)).id, { type: 'revise', comment: 'Less.' }, { by: 'bea' });
  return { ai, ask, cardOf, revise, anotherProcess: () => openAgent(store) };
}

test('the next call asks as the second round, even if it would not ask on its own, and the one after is its own', async () => {
  const { ai, ask, cardOf, revise } = openAgent();
  const first = await ask('1', 100);
  const beside = await ask('2', 70);
  await revise(first);
  expect(await ask('1', 100)).toMatchObject({ status: 'rejected', revise: { comment: 'Less.' } });
  expect((await cardOf(await ask('2', 70))).id).toBe((await cardOf(beside)).id);
  const second = await ask('3', 40);
  expect((await cardOf(second)).previous).toMatchObject({ comment: 'Less.', input: { amount: 100 }, round: 1 });
  expect(await ask('1', 100)).toMatchObject({ status: 'rejected' });
  expect(await ask('4', 30)).toMatchObject({ status: 'done' });
  await ai.runs.decide((await cardOf(second)).id, 'approve', { by: 'bea' });
  expect(await ask('3', 40)).toMatchObject({ status: 'done', output: 'paid' });
});

test('another process revises it too, once', async () => {
  const { ask, revise, anotherProcess } = openAgent();
  await revise(await ask('1', 100));
  await ask('1', 100);
  const second = anotherProcess();
  expect((await second.cardOf(await second.ask('2', 40))).previous).toMatchObject({ comment: 'Less.', round: 1 });
  expect(await anotherProcess().ask('3', 30)).toMatchObject({ status: 'done' });
});

test('another conversation revises nothing, and a call that was refused leaves the next one to it', async () => {
  const { ask, cardOf, revise } = openAgent();
  await revise(await ask('1', 100));
  await ask('1', 100);
  expect(await ask('1', 30, 'chat-2')).toMatchObject({ status: 'done' });
  await expect(ask('2', 'many' as never)).rejects.toMatchObject({ code: 'invalid-request' });
  expect((await cardOf(await ask('2', 40))).previous).toMatchObject({ comment: 'Less.' });
});
