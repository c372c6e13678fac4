// The reason of the model: people read it, the digest covers it, and the tool does not get it.
import { countersign, memoryStore, money, type ToolConfig, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { requestCard } from 'countersign/ui';
import { describe, expect, test } from 'vitest';

const Payment = z.object({ amount: z.number().meta(money({ currency: 'EUR' })) });

/** A run whose model makes this call of `pay`. */
async function asked(input: object, config: Partial<ToolConfig> = {}) {
  const paid: unknown[] = [];
  const seen: unknown[] = [];
  const model = scriptedModel(({ messages, tools }) => {
    seen.push(tools[0]?.inputSchema);
    return messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input }] };
  });
  const ai = countersign({ model, store: memoryStore() });
  const pay = ai.defineTool(
    { name: 'pay', inputSchema: Payment, needsApproval: true, reason: true, ...config } as ToolConfig,
    async (payment) => {
      paid.push(payment);
      return 'paid';
    },
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  await clerk.generate({ runId: 'run', prompt: 'Pay.' });
  const request = async () => (await ai.runs.requests()).items[0];
  return { ai, clerk, paid, seen, request };
}

const because = { amount: 950, reason: 'The invoice is due on Friday.' };

const SCHEMAS: readonly (readonly [string, Partial<ToolConfig>])[] = [
  ['of zod', {}],
  ['that is strict', { inputSchema: z.strictObject({ amount: z.number() }) }],
  ['that lets other fields through', { inputSchema: z.looseObject({ amount: z.number() }) }],
  [
    'of JSON',
    { inputSchema: { type: 'object', properties: { amount: { type: 'number' } }, additionalProperties: false } },
  ],
];

describe.each(SCHEMAS)('with a schema %s', (_, config) => {
  test('the reason is on the request, and neither in its input nor in what runs', async () => {
    const { ai, clerk, paid, seen, request } = await asked(because, config);
    const found = await request();
    expect(found).toMatchObject({ agentReason: because.reason, input: { amount: 950 } });
    expect(found?.input).toEqual({ amount: 950 });
    expect(requestCard(found as never, clerk, true).inputSchema?.properties).not.toHaveProperty('reason');
    expect(seen[0]).toMatchObject({
      properties: { amount: { type: 'number' }, reason: { type: 'string' } },
      required: expect.arrayContaining(['reason']),
    });
    await ai.runs.decide(found?.id ?? '', 'approve', { by: 'ann' });
    await ai.runs.wait('run');
    expect(paid).toEqual([{ amount: 950 }]);
  });

  test('an edit keeps the reason, and runs as it was edited', async () => {
    const { ai, paid, request } = await asked(because, config);
    const { id = '' } = (await request()) ?? {};
    await ai.runs.decide(id, { type: 'approve', edit: { amount: 900 } }, { by: 'ann' });
    await ai.runs.wait('run');
    expect(paid).toEqual([{ amount: 900 }]);
  });
});

test('an edit that others must agree to still shows the reason', async () => {
  const quorum = [{ of: { people: ['ann', 'ben'] }, count: 2 }];
  const needsApproval = { policy: { deciders: { people: ['ann', 'ben'] }, quorum } };
  const { ai, request } = await asked(because, { needsApproval } as never);
  const { id = '' } = (await request()) ?? {};
  await ai.runs.decide(id, { type: 'approve', edit: { amount: 900 } }, { by: 'ann' });
  expect(await request()).toMatchObject({ agentReason: because.reason, input: { amount: 900 } });
});

test('another reason is another digest', async () => {
  const digests = await Promise.all(
    ['a', 'b'].map(async (reason) => (await (await asked({ amount: 1, reason })).request())?.digest),
  );
  expect(digests[0]).not.toBe(digests[1]);
});

test('a call without a reason is asked about without one', async () => {
  const { request } = await asked({ amount: 950 });
  expect(await request()).toMatchObject({ agentReason: null, input: { amount: 950 } });
});

test('an input that is parsed when it runs is shown without the reason', async () => {
  const inputSchema = z.object({ amount: z.string().transform(Number) });
  const { ai, paid, request } = await asked({ amount: '950', reason: 'Due.' }, { inputSchema });
  const { id = '', input, agentReason } = (await request()) ?? {};
  expect({ input, agentReason }).toEqual({ input: { amount: '950' }, agentReason: 'Due.' });
  await ai.runs.decide(id, 'approve', { by: 'ann' });
  await ai.runs.wait('run');
  expect(paid).toEqual([{ amount: 950 }]);
});

test('a tool that asks for no reason gives the field of that name to its body', async () => {
  const inputSchema = z.object({ amount: z.number(), reason: z.string() });
  const { request } = await asked(because, { inputSchema, reason: false });
  expect(await request()).toMatchObject({ agentReason: null, input: because });
});

test('a schema that has the field, or is no object, is refused where the tool is defined', () => {
  const ai = countersign({ model: scriptedModel([]) });
  const define = (inputSchema: z.ZodType) =>
    ai.defineTool({ name: 'pay', description: 'Pays.', inputSchema, reason: true }, () => 'paid');
  expect(() => define(z.object({ reason: z.string() }))).toThrow(
    'The inputSchema of the tool pay has a field reason already. Rename it, or remove `reason: true`.',
  );
  expect(() => define(z.string())).toThrow('so its inputSchema must be an object');
});

test('models do not see what only people read', async () => {
  const { seen } = await asked(because, { reason: false });
  expect(JSON.stringify(seen[0])).not.toContain('x-countersign');
});
