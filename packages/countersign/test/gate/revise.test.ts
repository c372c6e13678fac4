// Asking for changes to a call from outside: its caller learns the comment, and asks for the changed call as the next round.
import { countersign, type Gate, gateText, memoryStore, z } from 'countersign';
import { expect, test } from 'vitest';

type Payment = { to: string; amount: number };
const ACME: Payment = { to: 'ACME', amount: 950 };
const LESS: Payment = { to: 'ACME', amount: 900 };
const COMMENT = 'Only what is open: 900.';

function openProcess(needsApproval: unknown = true) {
  const paid: Payment[] = [];
  const ai = countersign({ store: memoryStore() });
  const inputSchema = z.object({ to: z.string(), amount: z.number() });
  const pay = ai.defineTool(
    { name: 'pay', description: 'Pays.', inputSchema, needsApproval: needsApproval as boolean },
    async (input) => {
      paid.push(input);
      return 'paid';
    },
  );
  const gate = ai.gate(pay) as Gate<Payment>;
  const sendBack = async (key = 'first', input = ACME) => {
    const asked = await gate.request(input, { key, by: 'ada' });
    const id = 'id' in asked ? asked.id : '';
    await ai.runs.decide(id, { type: 'revise', comment: COMMENT }, { by: 'bea' });
    return { id, runId: asked.runId };
  };
  return { ai, gate, paid, sendBack };
}

test('a caller learns what to change, and a caller that only knows `rejected` runs nothing', async () => {
  const { ai, gate, paid, sendBack } = openProcess();
  const { runId } = await sendBack();
  const result = await gate.request(ACME, { key: 'first', run: true });
  expect(result).toEqual({
    status: 'rejected',
    runId,
    reason: `a person asks for changes: ${COMMENT}`,
    revise: { comment: COMMENT, by: 'bea' },
  });
  expect(gateText('pay', result)).toBe(`pay was not run: a person asks for changes: ${COMMENT}`);
  expect(await gate.start({ key: 'first' })).toEqual(result);
  expect(paid).toEqual([]);
  expect(await ai.runs.verify(runId)).toMatchObject({ ok: true });
});

test('the changed call is the second round, and runs once it is approved', async () => {
  const { ai, gate, paid, sendBack } = openProcess();
  const { id, runId } = await sendBack();
  const asked = await gate.request(LESS, { key: 'second', by: 'ada', revises: runId });
  const card = await ai.runs.request('id' in asked ? asked.id : '');
  expect(card.previous).toEqual({ requestId: id, input: ACME, comment: COMMENT, by: 'bea', round: 1 });
  expect(await gate.request(LESS, { key: 'second', revises: { key: 'first' } })).toEqual(asked);
  await ai.runs.decide(card.id, 'approve', { by: 'bea', digest: card.digest });
  expect(await gate.request(LESS, { key: 'second', run: true })).toMatchObject({ status: 'done' });
  expect(paid).toEqual([LESS]);
  expect(await ai.runs.verify(asked.runId)).toMatchObject({ ok: true });
});

test('a person decides about the changed call, even where its gate would let it run', async () => {
  const policy = { deciders: { people: ['bea'] } };
  const { ai, gate, paid, sendBack } = openProcess(({ amount }: Payment) => (amount > 900 ? { policy } : false));
  const { runId } = await sendBack();
  const asked = await gate.request(LESS, { key: 'second', revises: runId, run: true });
  expect(asked.status).toBe('pending');
  expect((await ai.runs.request('id' in asked ? asked.id : '')).policies).toEqual([policy]);
  expect(paid).toEqual([]);
  expect(await gate.request(LESS, { key: 'other', run: true })).toMatchObject({ status: 'done' });
});

test('a call that nobody sent back cannot be revised, and nothing is asked', async () => {
  const { ai, gate } = openProcess();
  const asked = await gate.request(ACME, { key: 'first' });
  const [refused] = await Promise.allSettled([gate.request(LESS, { key: 'second', revises: asked.runId })]);
  expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'invalid-request' } });
  await expect(gate.request(LESS, { key: 'second', revises: { key: 'none' } })).rejects.toMatchObject({
    code: 'unknown-run',
  });
  await expect(gate.request(LESS, { key: 'second', revises: 'none' })).rejects.toMatchObject({
    code: 'invalid-options',
  });
  expect((await ai.runs.requests()).items).toHaveLength(1);
});
