// Beyond its limit a call asks, whatever let it pass before: a grant, a rule, or a person who was not told of the limit.
import { memoryStore, type Rule } from 'countersign';
import { rulesOf } from 'countersign/store';
import { expect, test } from 'vitest';
import { openBank } from '../freezes/kit.ts';

const pay = (amount: number) => ['pay', { amount }] as const;
const look = (amount: number) => ['look', { amount }] as const;
const BOSS = { deciders: { people: ['boss'] } } as const;

const bank = (...rules: readonly Rule[]) => {
  const opened = openBank(memoryStore(), { rules });
  /** What changes under the same rules: nothing may. Every record must verify, too. */
  const changes = async () => {
    for (const { id } of (await opened.ai.runs.list({ limit: 50 })).items)
      expect(await opened.ai.runs.verify(id)).toMatchObject({ ok: true });
    const { calls, same, changes } = await rulesOf(opened.ai).replay({ since: 0 });
    return same === calls ? 'none' : changes;
  };
  return { ...opened, changes };
};

test('a grant does not cover it', async () => {
  const { ai, start, ran, requestIds, approveAll, changes } = bank({ tool: 'pay', limit: { calls: 2, per: '1h' } });
  const first = await start([pay(1)]);
  const grant = { uses: 9, expiresAt: Date.now() + 3_600_000 };
  await ai.runs.decide((await requestIds(first.id))[0] ?? '', 'approve', { by: 'bob', grant });
  await ai.runs.wait(first.id);
  expect((await start([pay(2)])).status).toBe('done');
  const beyond = await start([pay(3)]);
  expect([beyond.status, ran.length]).toEqual(['waiting', 2]);
  expect((await approveAll(beyond.id)).status).toBe('done');
  expect(ran).toHaveLength(3);
  expect(await changes()).toBe('none');
});

test('of several calls that a grant lets run at the same moment, those without room ask', async () => {
  const { ai, start, ran, requestIds, approveAll, changes } = bank({ tool: 'pay', limit: { calls: 3, per: '1h' } });
  const first = await start([pay(1)]);
  const grant = { uses: 9, expiresAt: Date.now() + 3_600_000 };
  await ai.runs.decide((await requestIds(first.id))[0] ?? '', 'approve', { by: 'bob', grant });
  await ai.runs.wait(first.id);
  const run = await start([pay(1), pay(2), pay(3), pay(4)]);
  expect([run.status, ran.length, (await requestIds(run.id)).length]).toEqual(['waiting', 3, 2]);
  expect((await approveAll(run.id)).status).toBe('done');
  expect(ran).toHaveLength(5);
  expect(await changes()).toBe('none');
});

test('of several calls of programs outside that a rule has let pass, those without room ask when they start', async () => {
  const limit: Rule = { tool: 'look', limit: { calls: 1, per: '1h' } };
  const { ai, look, changes } = bank({ tool: 'look', then: 'allow' }, limit);
  const gate = ai.gate(look);
  for (const key of ['one', 'two']) expect((await gate.request({ key }, { key, by: 'ann' })).status).toBe('approved');
  expect((await gate.start({ key: 'one' }, { token: 'a' })).status).toBe('granted');
  expect((await gate.start({ key: 'two' }, { token: 'b' })).status).toBe('pending');
  const [request] = (await ai.runs.requests({})).items;
  await ai.runs.decide(request?.id ?? '', 'approve', { by: 'bob' });
  expect((await gate.start({ key: 'two' }, { token: 'b' })).status).toBe('granted');
  expect(await changes()).toBe('none');
});

test.each<[string, NonNullable<Rule['policy']>]>([
  ['deciders', BOSS],
  ['a quorum', { quorum: [{ of: { people: ['boss'] }, count: 1 }], notRequester: true }],
  ['a function', { deciders: () => ({ people: ['boss'] }) }],
])(
  'the people of the limit agree to calls that others approved while there was room, once: %s',
  async (_by, policy) => {
    const limit: Rule = { tool: 'pay', limit: { calls: 1, per: '1h' }, policy };
    const { ai, start, ran, requestIds, approveAll, changes } = bank(limit);
    const runs = [await start([pay(1)]), await start([pay(2)])];
    await approveAll(runs[0]?.id ?? '');
    const { id } = runs[1] ?? { id: '' };
    expect([(await approveAll(id)).status, ran.length]).toEqual(['waiting', 1]);
    const [again = ''] = await requestIds(id);
    await expect(ai.runs.decide(again, 'approve', { by: 'bob' })).rejects.toMatchObject({ code: 'not-allowed' });
    await ai.runs.decide(again, 'approve', { by: 'boss' });
    expect([(await ai.runs.wait(id)).status, ran.length]).toEqual(['done', 2]);
    expect(await changes()).toBe('none');
  },
);

test.each([
  ['data', BOSS, { deciders: { people: ['cfo'] } }],
  ['names', 'of-boss', 'of-cfo'],
] as const)(
  'the people of one limit do not agree for those of another with the same figures: %s',
  async (_kind, boss, cfo) => {
    const limit = { calls: 1, per: '1h' } as const;
    const large: Rule = { tool: 'pay', where: [{ field: 'amount', atLeast: 10 }], limit, policy: boss };
    const small: Rule = { tool: 'pay', where: [{ field: 'amount', atMost: 20 }], limit, policy: cfo };
    const { ai, start, ran, requestIds, approveAll } = bank();
    ai.definePolicy('of-boss', BOSS);
    ai.definePolicy('of-cfo', { deciders: { people: ['cfo'] } });
    ai.applyRules([large, small]);
    await approveAll((await start([pay(50)])).id);
    // Beyond the limit of large payments, with room for small ones until another takes it.
    const { id } = await start([pay(15)]);
    const [asked = ''] = await requestIds(id);
    await approveAll((await start([pay(5)])).id);
    await ai.runs.decide(asked, 'approve', { by: 'boss' });
    expect([(await ai.runs.wait(id)).status, ran.length]).toEqual(['waiting', 2]);
  },
);

test('an edit that raises the sum asks the people of the limit', async () => {
  const limit: Rule = { tool: 'pay', limit: { sum: 'amount', most: 100, per: '1h' }, policy: BOSS };
  const { ai, start, ran, requestIds } = bank(limit);
  const { id } = await start([pay(50)]);
  await ai.runs.decide((await requestIds(id))[0] ?? '', { type: 'approve', edit: { amount: 500 } }, { by: 'bob' });
  expect([(await ai.runs.wait(id)).status, ran]).toEqual(['waiting', []]);
  await ai.runs.decide((await requestIds(id))[0] ?? '', 'approve', { by: 'boss' });
  expect([(await ai.runs.wait(id)).status, ran]).toEqual(['done', ['pay {"amount":500}']]);
});

test.each<[string, readonly Rule[], string]>([
  ['is denied', [{ tool: 'look', limit: { calls: 2, per: '1h' }, then: 'deny' }], 'done'],
  ['asks', [{ tool: 'look', limit: { calls: 2, per: '1h' } }], 'waiting'],
  [
    'is denied beside a rule that observes',
    [
      { tool: 'look', then: 'observe' },
      { tool: 'look', limit: { calls: 2, per: '1h' }, then: 'deny' },
    ],
    'done',
  ],
  [
    'asks beside a rule that observes',
    [
      { tool: 'look', then: 'observe' },
      { tool: 'look', limit: { calls: 2, per: '1h' } },
    ],
    'waiting',
  ],
])('what %s in a race has the same outcome in a replay', async (_name, rules, status) => {
  const { start, ran, changes } = bank(...rules);
  const run = await start([look(1), look(2), look(3), look(4)]);
  expect([run.status, ran.length]).toEqual([status, 2]);
  expect(await changes()).toBe('none');
});
