// Law 6: two instances in one process, or two conversations of one, never change each other's gates.
import { tool as agentTool } from '@openai/agents';
import { tool as sdkTool } from 'ai';
import { countersign, type GateResult, memoryStore, tool, z } from 'countersign';
import { gateTools as gateSdkTools } from 'countersign/ai-sdk';
import { gateTools } from 'countersign/openai-agents';
import { expect, test } from 'vitest';

type Payment = { to: string; amount: number };
const ACME: Payment = { to: 'ACME', amount: 950 };
const inputSchema = z.object({ to: z.string(), amount: z.number() });

/** The tool `pay` of one conversation. */
const payOf = (owner: string, needsApproval: boolean | (() => boolean), limit = 1_000) =>
  tool(
    {
      name: 'pay',
      description: `Pays for ${owner}.`,
      inputSchema: inputSchema.extend({ amount: z.number().max(limit) }),
      needsApproval,
    },
    () => `paid by ${owner}`,
  );

function pendingId(result: GateResult): string {
  expect(result.status).toBe('pending');
  return 'id' in result ? result.id : '';
}

test('a second gate with a tool of the same name changes neither the gate nor the body of the first', async () => {
  const ai = countersign({ store: memoryStore() });
  const first = ai.gate(payOf('ann', true));
  const before = pendingId(await first.request(ACME, { key: 'ann 1', run: true }));
  const second = ai.gate(payOf('bob', () => false));
  expect(await second.request(ACME, { key: 'bob 1', run: true })).toMatchObject({ output: 'paid by bob' });
  pendingId(await first.request(ACME, { key: 'ann 2', run: true }));
  await ai.runs.decide(before, 'approve');
  expect(await first.request(ACME, { key: 'ann 1', run: true })).toMatchObject({ output: 'paid by ann' });
});

test('an edit is checked with the schema of the tool that asked', async () => {
  const ai = countersign({ store: memoryStore() });
  const first = ai.gate(payOf('ann', true));
  const id = pendingId(await first.request(ACME, { key: 'ann 1' }));
  ai.gate(payOf('bob', true, 1_000_000));
  const edit = { type: 'approve', edit: { ...ACME, amount: 5_000 } } as const;
  await expect(ai.runs.decide(id, edit)).rejects.toMatchObject({ code: 'invalid-resume' });
});

test('another process checks an edit with the recorded description, and the caller passes its tool again', async () => {
  const store = memoryStore();
  const id = pendingId(await countersign({ store }).gate(payOf('ann', true)).request(ACME, { key: 'k' }));
  const { runs } = countersign({ store });
  const edit = (amount: number) => ({ type: 'approve', edit: { ...ACME, amount } }) as const;
  await expect(runs.decide(id, edit(5_000))).rejects.toMatchObject({ code: 'invalid-resume' });
  await runs.decide(id, edit(5));
  const later = countersign({ store }).gate(payOf('ann after a deploy', true));
  const done = { input: { amount: 5 }, output: 'paid by ann after a deploy' };
  expect(await later.request(ACME, { key: 'k', run: true })).toMatchObject(done);
});

test('conversations of one framework keep their own gates', async () => {
  const ai = countersign({ store: memoryStore() });
  const pay = agentTool({
    name: 'pay',
    description: 'Pays.',
    parameters: inputSchema,
    execute: () => 'paid',
  });
  const [first] = gateTools([pay], { ai, key: 'ann' });
  const [second] = gateTools([pay], { ai, key: 'bob', asks: { pay: { needsApproval: () => false } } });
  expect(await second.needsApproval(undefined as never, ACME, 'call-1')).toBe(false);
  expect(await first.needsApproval(undefined as never, ACME, 'call-1')).toBe(true);
});

test('chats of the AI SDK on one instance keep their own gates and bodies', async () => {
  const ai = countersign({ store: memoryStore() });
  const call = { toolCallId: 'call-1', messages: [] };
  const chatOf = (by: string, needsApproval: boolean) =>
    gateSdkTools({ pay: sdkTool({ inputSchema, needsApproval, execute: () => `paid by ${by}` }) }, { ai, key: by, by });
  const ask = (by: string, needsApproval: boolean) => {
    const { pay } = chatOf(by, needsApproval).tools as any;
    return pay.onInputAvailable({ ...call, input: ACME });
  };
  await ask('ann', true);
  await ask('bob', false);
  await ask('cid', true);
  const { items } = await ai.runs.requests();
  expect(items.map(({ startedBy }) => startedBy).sort()).toEqual(['ann', 'cid']);
  for (const { id, startedBy } of items) await ai.runs.decide(id, 'approve', { by: startedBy ?? '' });
  for (const by of ['cid', 'ann'])
    expect(await (chatOf(by, true).tools.pay as any).execute(ACME, call)).toBe(`paid by ${by}`);
});

test('a call whose process died before it asked is asked elsewhere under its own policy', async () => {
  let now = Date.now();
  const store = memoryStore({ now: () => now });
  const policy = { deciders: { people: ['fay'] } };
  const stuck = tool(
    { name: 'pay', description: '', needsApproval: { policy }, preview: () => new Promise(() => undefined) },
    () => 'paid',
  );
  void countersign({ store })
    .gate(stuck)
    .request(ACME, { key: 'k' })
    .catch(() => undefined);
  await expect.poll(async () => (await store.listRuns({ limit: 1 })).items).toHaveLength(1);
  now += 60_000;
  const { runs, gate } = ((ai) => ({ runs: ai.runs, gate: ai.gate({ name: 'pay' }) }))(countersign({ store }));
  const id = pendingId(await gate.read({ key: 'k' }));
  await expect(runs.decide(id, 'approve', { by: 'eve' })).rejects.toMatchObject({ code: 'not-allowed' });
  await runs.decide(id, 'approve', { by: 'fay' });
  expect(await gate.read({ key: 'k' })).toMatchObject({ status: 'approved' });
});
