// The laws of replay: the recorded configuration gives every recorded outcome again, and another one what happens under it.
import { type Countersign, countersign, memoryStore, type PolicyConfig, type Rule, z } from 'countersign';
import { internalsOf, rulesOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import fc from 'fast-check';
import { expect } from 'vitest';
import { law } from './law.ts';

const FINANCE = { roles: ['finance'] };
const policy: fc.Arbitrary<PolicyConfig> = fc.constantFrom<PolicyConfig[]>(
  {},
  { deciders: { people: ['ben'] } },
  { deciders: FINANCE },
  { notRequester: true },
  { quorum: [{ of: FINANCE, count: 2 }] },
  {
    quorum: [
      { of: FINANCE, count: 1 },
      { of: { people: ['ben'] }, count: 1, when: [{ field: 'amount', above: 100 }] },
    ],
  },
  { deciders: { people: ['ann', 'ben'] }, onExpiry: 'approve', expireAfter: '1d' },
  { deciders: FINANCE, signed: 'passkey' },
);
const TOOLS = ['pay', 'send', 'deploy'] as const;
const named = fc.oneof(policy, fc.constantFrom('first', 'second'));
const rule: fc.Arbitrary<Rule> = fc
  .record(
    {
      tool: fc.constantFrom<string>(...TOOLS, 'p*', '*'),
      agent: fc.constantFrom('clerk', 'gate'),
      label: fc.constantFrom('money', 'eu'),
      risk: fc.constantFrom('low' as const, 'high' as const),
      where: fc.constantFrom([{ field: 'amount', above: 100 }], [{ field: 'to', equals: 'ACME' }]),
      then: fc.constantFrom('allow' as const, 'ask' as const, 'ask' as const, 'deny' as const, 'observe' as const),
      policy: named,
    },
    { requiredKeys: [] },
  )
  .map(({ policy: asks, ...given }): Rule => {
    const takes = given.then === undefined || given.then === 'ask' || given.then === 'observe';
    return takes && asks !== undefined ? { ...given, policy: asks } : given;
  });
const gate = fc.oneof(
  fc.constantFrom(false, true, 'code' as const),
  named.map((given) => ({ policy: given })),
);
const made = fc.record({
  rules: fc.array(rule, { maxLength: 4 }),
  policies: fc.record({ first: policy, second: policy }),
  gates: fc.tuple(gate, gate, gate),
  kinds: fc.tuple(
    ...TOOLS.map(() =>
      fc.record(
        { labels: fc.subarray(['money', 'eu']), risk: fc.constantFrom('low' as const, 'high' as const) },
        { requiredKeys: [] },
      ),
    ),
  ),
  adds: fc.option(named),
  isServer: fc.boolean(),
});
const call = fc.record({
  tool: fc.nat(2),
  input: fc.constantFrom({ amount: 5 }, { amount: 5_000 }, { amount: 50, to: 'Globex' }, { amount: 50, to: 'ACME' }),
  by: fc.constantFrom('ann', 'ben', undefined),
  how: fc.constantFrom('agent' as const, 'gate' as const, 'described' as const),
  then: fc.constantFrom(
    'wait' as const,
    'approve' as const,
    'reject' as const,
    'edit' as const,
    'grant' as const,
    'revise' as const,
  ),
});
type Made = typeof made extends fc.Arbitrary<infer T> ? T : never;
type Said = { readonly content: readonly [{ readonly text: string }] };
type Called = typeof call extends fc.Arbitrary<infer T> ? T : never;

function world({ rules, policies, gates, kinds, adds, isServer }: Made) {
  const model = scriptedModel(({ messages }) => {
    const [first] = messages;
    const { name, input } = JSON.parse((first as unknown as Said).content[0].text);
    return messages.some(({ role }) => role === 'tool') ? 'done' : { calls: [{ name, input }] };
  });
  const policyFor = adds === null ? {} : { policyFor: () => adds };
  const ai = countersign({ model, store: memoryStore(), rules, ...policyFor });
  for (const [name, config] of Object.entries(policies)) ai.definePolicy(name, config);
  if (isServer)
    internalsOf(ai).policies.defaultDeciders = ({ startedBy }) => ({
      ...(startedBy !== null && { people: [startedBy] }),
      roles: ['server:everything'],
    });
  const code = ({ amount }: { amount: number }) =>
    amount > 1_000 ? { policy: 'first', risk: 'high' as const } : amount > 10;
  const tools = TOOLS.map((name, index) => {
    const asks = gates[index] ?? false;
    return ai.defineTool(
      {
        name,
        description: '',
        inputSchema: z.object({ amount: z.number(), to: z.string().default('ACME') }),
        ...kinds[index],
        needsApproval: asks === 'code' ? code : (asks as boolean),
      },
      () => 'done',
    );
  });
  return { ai, tools, clerk: ai.defineAgent({ name: 'clerk', tools }) };
}

/** Makes the call, and decides as it says if the engine lets these people decide. */
async function make(
  { ai, tools, clerk }: ReturnType<typeof world>,
  { tool, input, by, how, then }: Called,
  key: string,
) {
  const given = tools[tool];
  if (!given) return;
  let runId: string;
  if (how === 'agent') {
    ({ id: runId } = await clerk.start(JSON.stringify({ name: given.name, input }), { ...(by && { by }) }));
    await ai.runs.wait(runId);
  } else {
    const described = { name: given.name, labels: ['money'], ...(key.endsWith('1') && { policy: 'second' }) };
    const asked = ai.gate(how === 'gate' ? given : described) as ReturnType<typeof ai.gate>;
    ({ runId } = await asked.request(input, { key, ...(by && { by }) }));
  }
  const [request] = (await ai.runs.requests({ runId })).items;
  if (!request || then === 'wait') return;
  const grant = { uses: 3, expiresAt: Date.now() + 60_000, serves: { agents: ['clerk', 'gate'] } };
  const decision = {
    approve: 'approve',
    grant: 'approve',
    reject: 'reject',
    edit: { type: 'approve', edit: { ...input, amount: 7 } },
    revise: { type: 'revise', comment: 'less' },
  } as const;
  for (const [who, roles] of [
    ['ben', ['finance']],
    ['cleo', ['finance', 'server:everything']],
  ] as const) {
    const decided = { by: who, roles, ...(then === 'grant' && { grant }) };
    await ai.runs.decide(request.id, decision[then], decided as never).catch(() => undefined);
  }
  await ai.runs.wait(runId).catch(() => undefined);
}

const replayed = (ai: Countersign, options: object = {}) => rulesOf(ai).replay({ since: 0, ...options });

law(
  'the recorded rules, policies and grants give every recorded outcome again',
  fc.asyncProperty(made, fc.array(call, { minLength: 1, maxLength: 6 }), async (given, calls) => {
    const one = world(given);
    for (const [index, each] of calls.entries()) await make(one, each, `key ${index}`);
    const { changes, same, calls: counted } = await replayed(one.ai);
    expect(
      Object.entries(changes).flatMap(([change, { calls: changed }]) => changed.map((is) => [change, is])),
    ).toEqual([]);
    expect(same).toBe(counted);
  }),
  60,
);

law(
  'what other rules and policies would change is what happens under them',
  fc.asyncProperty(
    made,
    fc.array(rule, { maxLength: 4 }),
    fc.record({ first: policy, second: policy }),
    fc.array(call, { minLength: 1, maxLength: 4 }),
    async (given, rules, policies, calls) => {
      const [before, after] = [world(given), world({ ...given, rules, policies })];
      const expected = { runs: 0, asks: 0, people: 0, denied: 0 };
      for (const [index, each] of calls.entries()) {
        const [was, is] = await Promise.all([before, after].map((one) => outcome(one, each, `key ${index}`)));
        if (is === was) continue;
        if (is === 'denied') expected.denied += 1;
        else if (is === 'ran') expected.runs += 1;
        else expected[was === 'ran' || was === 'denied' ? 'asks' : 'people'] += 1;
      }
      const { changes } = await replayed(before.ai, { rules, policies });
      expect(changes.unknown.calls).toEqual([]);
      const { runs, asks, second, others, denied } = changes;
      const counts = { runs: runs.count, asks: asks.count, people: second.count + others.count, denied: denied.count };
      expect(counts).toEqual(expected);
    },
  ),
  60,
);

/** What became of the call: `ran`, `denied`, or the people who are asked. */
async function outcome(one: ReturnType<typeof world>, each: Called, key: string): Promise<string> {
  await make(one, { ...each, then: 'wait' }, key);
  const run = (await one.ai.runs.list({ limit: 1 })).items[0];
  const [request] = (await one.ai.runs.requests({ runId: run?.id ?? '' })).items;
  if (request) {
    const asked = request.policies.map(({ name: _name, warnings: _warnings, grants: _grants, ...rest }) =>
      JSON.stringify(rest),
    );
    return [...new Set(asked.filter((text) => text !== '{}'))].sort().join();
  }
  const { events = [] } = (await one.ai.runs.store.read(run?.id ?? '')) ?? {};
  return events.some((event) => event.type === 'call-settled' && event.result.type === 'rejected') ? 'denied' : 'ran';
}
