// Plans: several calls that people approve as one request. Later calls that match a step run once; all others ask as before.
import { evidenceText, memoryStore, verifyEvidence } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { decide, FINANCE, openPlanner, pays, plans, step, told } from './kit.ts';

describe('an approved plan', () => {
  test('lets exactly its calls run, each once, and shows what came of each', async () => {
    const { ai, done, start, open } = openPlanner([[plans(step(1), step(2))], [pays(1)], [pays(2), pays(1)]]);
    const { id } = await start();
    const [request] = await open(id);
    expect(request).toMatchObject({
      tool: 'plan',
      title: 'Plan with 2 steps: Pay 1 to ACME; Pay 2 to ACME',
      input: {
        steps: [
          { tool: 'pay', input: { amount: 1, currency: 'EUR' } },
          { tool: 'pay', input: { amount: 2 } },
        ],
      },
    });
    const before = await ai.grants.plan(request?.id ?? '');
    expect(before?.steps.map(({ status }) => status)).toEqual(['proposed', 'proposed']);
    await decide(ai, request?.id ?? '', 'approve', 'ben');
    expect(done).toMatchObject([{ amount: 1 }, { amount: 2 }]);
    const again = await open(id);
    expect(again).toMatchObject([{ tool: 'pay', input: { amount: 1 } }]);
    await decide(ai, again[0]?.id ?? '', 'reject', 'ben');
    const progress = await ai.grants.plan(request?.id ?? '');
    expect(progress?.steps).toMatchObject([
      { title: 'Pay 1 to ACME', status: 'used-up', left: 0, calls: [{ runId: id, outcome: { state: 'done' } }] },
      { status: 'used-up', left: 0, calls: [{ outcome: { state: 'done' } }] },
    ]);
    expect((await ai.runs.verify(id)).ok).toBe(true);
    const evidence = await ai.runs.evidence(id);
    expect(await verifyEvidence(evidenceText(evidence))).toMatchObject({ ok: true });
  });

  test('lets a call with any other input ask, however small the difference', async () => {
    const { start, ai, open, done } = openPlanner([[plans(step(1))], [pays(1.01), pays(1, 'Acme')]]);
    const { id } = await start();
    await decide(ai, (await open(id))[0]?.id ?? '', 'approve', 'ben');
    expect(await open(id)).toHaveLength(2);
    expect(done).toEqual([]);
  });

  test('does not let the calls of another run pass', async () => {
    const { start, ai, open } = openPlanner([[plans(step(1))]]);
    const other = openPlanner([[pays(1)]], { store: ai.runs.store });
    const { id } = await start();
    await decide(ai, (await open(id))[0]?.id ?? '', 'approve', 'ben');
    expect((await other.start()).status).toBe('waiting');
    await ai.grants.plan(`${id}:none`).catch(() => undefined);
  });

  test('lets a step with a limit run as often as it says', async () => {
    const where = [{ field: 'amount', atMost: 5 }];
    const { start, ai, open, done } = openPlanner([
      [plans(step(5, { where, uses: 2 }))],
      [pays(3), pays(6)],
      [pays(4)],
    ]);
    const { id } = await start();
    await decide(ai, (await open(id))[0]?.id ?? '', 'approve', 'ben');
    expect(await open(id)).toMatchObject([{ input: { amount: 6 } }]);
    await decide(ai, (await open(id))[0]?.id ?? '', 'reject', 'ben');
    expect(done).toMatchObject([{ amount: 3 }, { amount: 4 }]);
  });

  test('ends: a revoked or expired step asks', async () => {
    let time = 1_800_000_000_000;
    const clock = () => time;
    const { start, ai, open } = openPlanner([[plans(step(1), step(2))], [pays(1)]], {
      store: memoryStore({ now: clock }),
      clock,
    });
    const { id } = await start();
    const plan = (await open(id))[0]?.id ?? '';
    const result = await ai.runs.decide(plan, { type: 'approve', edit: { steps: [step(7)] } }, { by: 'ben' });
    expect(result.status).toBe('settled');
    await ai.runs.wait(id);
    const [first] = (await ai.grants.plan(plan))?.steps ?? [];
    await ai.grants.revoke(first?.grantId ?? '', { by: 'ben' });
    expect((await ai.grants.plan(plan))?.steps).toMatchObject([{ status: 'revoked', input: { amount: 7 } }]);
    time += 86_400_001;
    expect(await open(id)).toHaveLength(1);
  });

  test('needs the people of its strictest step, and their votes settle each of its calls', async () => {
    const { ai, done, start, open } = openPlanner(
      [
        [plans(step(1), { tool: 'publish', input: { text: 'Hi' } })],
        [pays(1), { name: 'publish', input: { text: 'Hi' } }],
      ],
      { needsApproval: { policy: { quorum: [{ of: { roles: ['finance'] }, count: 2 }] } } },
    );
    const { id } = await start();
    const plan = (await open(id))[0]?.id ?? '';
    expect((await decide(ai, plan, 'approve', 'ben')).status).toBe('waiting');
    expect((await decide(ai, plan, 'approve', 'cara')).status).toBe('waiting');
    expect(done).toEqual([]);
    expect((await decide(ai, plan, 'approve', 'lea')).status).toBe('settled');
    expect(done).toEqual(expect.arrayContaining([expect.objectContaining({ amount: 1 }), { text: 'Hi' }]));
    expect((await ai.runs.get(id)).status).toBe('done');
  });

  test('holds a step to the conditions of its policy, as a call on its own', async () => {
    const quorum = [
      { of: { roles: ['finance'] }, count: 1 },
      { of: { roles: ['legal'] }, count: 1, when: [{ field: 'amount', above: 100 }] },
    ];
    const options = { needsApproval: { policy: { quorum } } };
    const small = openPlanner([[plans(step(100))]], options);
    const first = await small.start();
    const result = await decide(small.ai, (await small.open(first.id))[0]?.id ?? '', 'approve', 'ben');
    expect(result.status).toBe('settled');
    const large = openPlanner([[plans(step(101))]], options);
    const second = await large.start();
    expect(await decide(large.ai, (await large.open(second.id))[0]?.id ?? '', 'approve', 'ben')).toMatchObject({
      status: 'waiting',
      missing: [{ of: { roles: ['legal'] } }],
    });
  });

  test('keeps four eyes: nobody approves the plan of their own run', async () => {
    const { ai, start, open } = openPlanner([[plans(step(1))]], {
      needsApproval: { policy: { ...FINANCE, notRequester: true } },
    });
    const { id } = await start('ben');
    const plan = (await open(id))[0]?.id ?? '';
    await expect(ai.runs.decide(plan, 'approve', { by: 'ben' })).rejects.toMatchObject({ code: 'not-allowed' });
    expect((await decide(ai, plan, 'approve', 'cara')).status).toBe('settled');
  });
});

describe('a plan that a person changes', () => {
  test('asks every source anew: an edit that needs more people has a new card', async () => {
    const { ai, done, start, open } = openPlanner([[plans(step(1), step(2))], [pays(1), pays(3)]], {
      needsApproval: ({ amount }: { amount: number }) =>
        amount > 2 ? { policy: { ...FINANCE, name: undefined } } : true,
    });
    const { id } = await start();
    const [request] = await open(id);
    const edit = { steps: [step(3)] };
    expect(await decide(ai, request?.id ?? '', { type: 'approve', edit }, 'ann')).toMatchObject({ status: 'waiting' });
    const [asked] = await open(id);
    expect(asked).toMatchObject({ title: 'Plan with 1 step: Pay 3 to ACME', input: edit });
    await decide(ai, asked?.id ?? '', 'approve', 'ben');
    expect(done).toMatchObject([{ amount: 3 }]);
    expect(await open(id)).toMatchObject([{ input: { amount: 1 } }]);
    const { messages } = await ai.runs.get(id);
    expect(told(messages, 'plan')).toMatchObject([{ approved: [{ input: { amount: 3 } }] }]);
  });

  test.each([
    ['an unknown tool', { steps: [{ tool: 'drop', input: {} }] }],
    ['an input that does not fit', { steps: [{ tool: 'pay', input: { to: 'ACME' } }] }],
    ['no steps', { steps: [] }],
    ['an unknown field', { steps: [{ ...step(1), always: true }] }],
  ])('refuses an edit with %s', async (_what, edit) => {
    const { ai, start, open } = openPlanner([[plans(step(1))]]);
    const { id } = await start();
    const request = (await open(id))[0]?.id ?? '';
    await expect(ai.runs.decide(request, { type: 'approve', edit }, { by: 'ben' })).rejects.toThrow();
    expect(await open(id)).toHaveLength(1);
  });

  test('tells the model why it was rejected, or which changes a person asks for', async () => {
    const { ai, start, open } = openPlanner([[plans(step(1))], [plans(step(2))], [pays(1)]]);
    const { id } = await start();
    await decide(ai, (await open(id))[0]?.id ?? '', { type: 'revise', comment: 'Pay 2 instead.' }, 'ben');
    const [second] = await open(id);
    expect(second).toMatchObject({ tool: 'plan', previous: { comment: 'Pay 2 instead.', round: 1 } });
    await decide(ai, second?.id ?? '', { type: 'reject', reason: 'Not today.' }, 'ben');
    const { messages } = await ai.runs.get(id);
    expect(JSON.stringify(told(messages, 'plan'))).toMatch(/Pay 2 instead.*Not today/);
    expect((await ai.grants.plan(second?.id ?? ''))?.steps).toMatchObject([{ status: 'rejected', left: 0 }]);
    expect(await open(id)).toMatchObject([{ tool: 'pay' }]);
  });
});

describe('a proposed plan is an error for the model', () => {
  test.each<readonly [string, object, readonly unknown[], string]>([
    ['with an unknown tool', {}, [{ tool: 'drop', input: {} }], 'cannot hold calls of drop'],
    [
      'with an input that does not fit',
      {},
      [{ tool: 'pay', input: { amount: 'x' } }],
      'does not fit the schema of pay',
    ],
    [
      'that a rule denies',
      { rules: [{ tool: 'pay', then: 'deny', reason: 'Frozen.' }] },
      [step(1)],
      'Step 1 (pay): Frozen.',
    ],
    [
      'whose policy allows no grants',
      { needsApproval: { policy: { ...FINANCE, grants: false } } },
      [step(1)],
      'asks about each call',
    ],
    [
      'wider than its policy lets grants be',
      { needsApproval: { policy: { ...FINANCE, grants: { uses: 1, expiresWithin: '1h' } } } },
      [step(1, { where: [{ field: 'amount', atMost: 9 }], uses: 2 })],
      'at most 1 uses',
    ],
    [
      'with a limit where a quorum decides',
      { needsApproval: { policy: { quorum: [{ of: { roles: ['finance'] }, count: 2 }] } } },
      [step(1, { where: [{ field: 'amount', atMost: 9 }] })],
      'allows no grants',
    ],
  ])('%s', async (_what, options, steps, why) => {
    const { start, done } = openPlanner([[plans(...steps)]], options);
    const { status, messages } = await start();
    expect(status).toBe('done');
    expect(JSON.stringify(told(messages, 'plan'))).toContain(why);
    expect(done).toEqual([]);
  });

  test('outside of a stored run', async () => {
    const { ai, plan, pay } = openPlanner([]);
    let asked = 0;
    const model = scriptedModel(() => (asked++ === 0 ? { calls: [plans(step(1))] } : 'Done.'));
    const { messages } = await ai.generate({ model, tools: [plan, pay], prompt: 'Go.' });
    expect(JSON.stringify(told(messages, 'plan'))).toContain('needs a run in a store');
  });
});

test('a grant that was given with another plan never lets a plan pass', async () => {
  const { ai, start, open } = openPlanner([[plans(step(1))]]);
  const { id } = await start();
  const [request] = await open(id);
  const grant = { uses: 5, expiresAt: Date.now() + 60_000 };
  await expect(ai.runs.decide(request?.id ?? '', 'approve', { by: 'ben', grant })).rejects.toMatchObject({
    code: 'invalid-grant',
  });
});

test('a plan takes tools with a body only', () => {
  const { ai, plan } = openPlanner([]);
  const question = ai.defineInterrupt({ name: 'ask', description: '' });
  expect(() => ai.planTool({ tools: [question], name: 'one' }).definition.input.json()).toThrow(
    'takes tools with a body',
  );
  expect(() => ai.planTool({ tools: [plan], name: 'two' }).definition.input.json()).toThrow('takes tools with a body');
  expect(() => ai.planTool({ tools: [], validFor: 'soon' as '1d' })).toThrow('validFor');
});
