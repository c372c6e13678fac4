// A rule that observes: the call runs as it would have, and the record says whom the rule would have asked, and why.
import { countersign, memoryStore, type Rule, type ToolConfig, z } from 'countersign';
import { timelineOf } from 'countersign/request';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

const FINANCE = { deciders: { roles: ['finance'] } };
const observing: Rule = { tool: 'pay', then: 'observe', policy: FINANCE, reason: 'Payments of more than 100' };

function made(rules: readonly Rule[], config: Partial<ToolConfig> = {}, store = memoryStore()) {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Paid.' : { calls: [{ name: 'pay', input: { to: 'ACME', amount: 450 } }] },
  );
  const ai = countersign({ model, store, rules });
  const paid: unknown[] = [];
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      title: 'Pay ACME',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      ...config,
    } as ToolConfig,
    (input) => {
      paid.push(input);
      return 'paid';
    },
  );
  return { ai, paid, pay, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

test.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(':memory:')],
])('an observed call runs, and its row in %s says whom the rule would have asked', async (_name, store) => {
  const { ai, paid, clerk } = made([observing], {}, store());
  const { id } = await clerk.start('Pay.', { by: 'ann' });
  expect((await ai.runs.wait(id)).status).toBe('done');
  expect(paid).toHaveLength(1);
  expect((await ai.runs.requests({})).items).toEqual([]);
  const [row] = (await ai.runs.requests({ settled: true, outcome: 'observed' })).items;
  expect(row).toMatchObject({
    tool: 'pay',
    title: 'Pay ACME',
    input: { to: 'ACME', amount: 450 },
    policies: [FINANCE],
    startedBy: 'ann',
    settlement: { observed: { why: ['Payments of more than 100'] }, by: null },
    outcome: { state: 'done', text: 'paid' },
  });
  const { events } = (await ai.runs.store.read(id)) ?? { events: [] };
  const told = timelineOf(events).filter(({ type }) => type === 'call-observed');
  expect(told).toMatchObject([
    { policies: [FINANCE], why: ['Payments of more than 100'], as: row?.id.slice(id.length + 1) },
  ]);
  expect((await ai.runs.verify(id)).ok).toBe(true);
  expect(await ai.runs.stats()).toMatchObject({ decided: 0 });
});

test.each<[string, readonly Rule[], Partial<ToolConfig>, string]>([
  ['a tool that asks still asks', [observing], { needsApproval: true }, 'waiting'],
  ['a rule that asks still asks', [observing, { tool: 'pay' }], {}, 'waiting'],
  ['a gate that throws still asks', [observing], { needsApproval: () => Promise.reject(new Error('off')) }, 'waiting'],
  ['a rule that denies still denies', [observing, { tool: 'p*', then: 'deny' }], {}, 'done'],
  ['a rule for other calls observes nothing', [{ ...observing, tool: 'send' }], {}, 'done'],
])('%s', async (_name, rules, config, status) => {
  const { ai, clerk, paid } = made(rules, config);
  const { id } = await clerk.start('Pay.', { by: 'ann' });
  expect((await ai.runs.wait(id)).status).toBe(status);
  expect((await ai.runs.requests({ settled: true, outcome: 'observed' })).items).toEqual([]);
  if (status === 'waiting') expect(paid).toEqual([]);
});

test('a gate that asks by itself asks under a rule that observes, and not under one that allows, too', async () => {
  const asked = async (rules: readonly Rule[]) => {
    const { ai, pay } = made(rules);
    const result = await ai.gate(pay).request({ to: 'ACME', amount: 1 }, { key: 'k', by: 'ann' });
    return [result.status, (await ai.runs.requests({ settled: true, outcome: 'observed' })).items.length];
  };
  expect(await asked([observing])).toEqual(['pending', 0]);
  expect(await asked([observing, { then: 'allow' }])).toEqual(['approved', 1]);
});

test('a call that a grant would have covered is not observed, because nobody would have been asked', async () => {
  const store = memoryStore();
  const first = made([{ tool: 'pay' }], {}, store);
  const { id } = await first.clerk.start('Pay.', { by: 'ann' });
  const { pending } = await first.ai.runs.wait(id);
  const grant = { uses: 5, expiresAt: Date.now() + 60_000 };
  await first.ai.runs.decide(pending[0] ?? '', 'approve', { by: 'ben', grant });
  const { ai, clerk } = made([{ tool: 'pay', then: 'observe' }], {}, store);
  await ai.runs.wait((await clerk.start('Pay.', { by: 'ann' })).id);
  expect((await ai.runs.requests({ settled: true, outcome: 'observed' })).items).toEqual([]);
  expect(await ai.grants.list()).toMatchObject({ items: [{ left: { uses: 5 } }] });
});

test('a rule that observes has its policy, and unknown policies are refused', () => {
  expect(() => made([{ tool: 'pay', then: 'allow', policy: FINANCE }])).toThrow('has a policy and does not ask');
  const { ai, pay } = made([{ tool: 'pay', then: 'observe', policy: 'missing' }]);
  return expect(ai.generate({ prompt: 'go', tools: [pay] })).rejects.toThrow('missing');
});
