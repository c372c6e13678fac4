// A call that an allow rule let run is a row in the history: what ran, which rule let it, and what came of it. Nobody decided it.
import { countersign, memoryStore, type Rule, type RunRequest } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

const RULE = { tool: 'pay*', where: [{ field: 'amount', atMost: 100 }] } as const;
const RULES: readonly Rule[] = [{ ...RULE, then: 'allow' }];

function open(rules: readonly Rule[] = RULES, store = memoryStore()) {
  const ai = countersign({
    store,
    rules,
    policyFor: ({ startedBy }) => ({ deciders: { people: [startedBy ?? 'ops'] } }),
  });
  const pay = ai.defineTool(
    { name: 'pay', description: '', title: ({ amount }: { readonly amount: number }) => `Pay ${amount}`, risk: 'high' },
    ({ amount }) => {
      if (amount === 0) throw new Error('The bank refused.');
      return `paid: ${amount}`;
    },
  );
  const rows = async (): Promise<readonly RunRequest[]> =>
    (await ai.runs.requests({ settled: true, outcome: 'granted' })).items;
  return { ai, gate: ai.gate(pay), rows };
}

test.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(':memory:')],
])('it is a row from the moment it may run, with its title, its rule and its outcome (%s)', async (_where, store) => {
  const { ai, gate, rows } = open(RULES, store());
  expect(await gate.request({ amount: 5 }, { key: 'k', by: 'ada' })).toMatchObject({ status: 'approved' });
  const [row] = await rows();
  expect(row).toMatchObject({
    ...{ startedBy: 'ada', requesters: ['ada'], tool: 'pay', kind: 'approval', input: { amount: 5 } },
    ...{ title: 'Pay 5', risk: 'high', policies: [{ deciders: { people: ['ada'] } }] },
    ...{ settlement: { granted: { rule: RULE }, by: null }, outcome: { state: 'running' } },
  });
  expect(await gate.request({ amount: 5 }, { key: 'k', by: 'ada', run: true })).toMatchObject({ status: 'done' });
  const [done, ...others] = await rows();
  expect([done?.outcome, others]).toMatchObject([{ state: 'done', text: 'paid: 5' }, []]);
  const { runId = '' } = row ?? {};
  expect(await ai.runs.verify(runId)).toMatchObject({ ok: true });
  expect((await ai.runs.evidence(runId)).started).toMatchObject([{ tool: 'pay', by: 'rule' }]);
  expect(await ai.runs.stats()).toMatchObject({ decided: 0, waiting: 0 });
  await expect(ai.runs.decide(row?.id ?? '', 'reject', { by: 'ada' })).rejects.toThrow(/a rule let its call run/);
});

test('its row says how it failed, or that its caller withdrew it', async () => {
  const { gate, rows } = open();
  await gate.request({ amount: 0 }, { key: 'k', run: true });
  expect(await rows()).toMatchObject([{ outcome: { state: 'failed', text: 'The bank refused.', mayHaveActed: true } }]);
  await gate.request({ amount: 1 }, { key: 'l' });
  await gate.withdraw({ key: 'l' });
  const outcomes = (await rows()).map(({ input, outcome }) => [
    input,
    outcome?.state,
    outcome && 'why' in outcome && outcome.why,
  ]);
  expect(outcomes).toContainEqual([{ amount: 1 }, 'not-run', 'stopped']);
});

test('a rule that does not fit, and one beside a rule that asks, lets nothing run and makes no row', async () => {
  for (const rules of [RULES, [{ then: 'allow' }, { label: 'eu' }, { tool: 'pay' }]] satisfies (readonly Rule[])[]) {
    const { gate, rows } = open(rules);
    expect(await gate.request({ amount: 500 }, { key: 'k' })).toMatchObject({ status: 'pending' });
    expect(await rows()).toEqual([]);
  }
});

test('it costs no append, and a call that its tool lets run has no row and no more in its record', async () => {
  const kept = memoryStore();
  const appended: string[][] = [];
  const store = changedStore(kept, {
    append: (append) => {
      appended.push(append.events.map((event) => Object.keys(event).sort().join()));
      return kept.append(append);
    },
  });
  const { ai, gate, rows } = open(RULES, store);
  await gate.request({ amount: 5 }, { key: 'k' });
  const ruled = appended.splice(0);
  const own = ai.gate(ai.defineTool({ name: 'read', description: '', needsApproval: () => false }, () => 'read'));
  await own.request({}, { key: 'l' });
  expect(appended).toHaveLength(ruled.length);
  expect(appended.flat().at(-1)).toBe('at,callId,type,v');
  expect(await rows()).toHaveLength(1);
});
