// Ways round who may decide, each tried through the public door. The names in brackets are those of the holes that were found.
import {
  type CountersignOptions,
  countersign,
  evidenceText,
  type Message,
  memoryStore,
  type Rule,
  restart,
  type ToolConfig,
  verifyEvidence,
  z,
} from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

const CLERK = { deciders: { people: ['clerk'] } };
const BOSS = { deciders: { people: ['boss'] } };
const HOUR = 3_600_000;

/** A bank whose model asks to pay once per run. */
function open(config: Partial<ToolConfig> = {}, options: Partial<CountersignOptions> = {}) {
  const paid: unknown[] = [];
  let now = 1_000_000;
  const ai = countersign({
    store: memoryStore({ now: () => now }),
    clock: () => now,
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', ref: 'p', input: { amount: 100 } }] },
    ),
    ...options,
  });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }), ...config } as ToolConfig,
    (input) => {
      paid.push(input);
      return 'paid';
    },
  );
  const teller = ai.defineAgent({ name: 'teller', tools: [pay] });
  const ask = async (by?: string) => {
    const { id } = await teller.start('Pay.', by === undefined ? {} : { by });
    await internalsOf(ai.runs).rested(id);
    const [request] = (await ai.runs.requests({ runId: id, settled: false })).items;
    if (!request) throw new Error('Nothing was asked.');
    return request;
  };
  const later = (ms: number) => {
    now += ms;
  };
  return { ai, runs: ai.runs, paid, ask, teller, later };
}

const edited = { type: 'approve', edit: { amount: 1_000_000 } } as const;

describe('an edit asks every source anew (A2, A12, A13)', () => {
  test.each<[string, Partial<ToolConfig>, readonly Rule[]]>([
    [
      'needsApproval chooses the policy',
      { needsApproval: ({ amount }: any) => ({ policy: amount > 1_000 ? BOSS : CLERK }) },
      [],
    ],
    [
      'deciders is a function',
      {
        needsApproval: { policy: { deciders: ({ amount }: any) => ({ people: [amount > 1_000 ? 'boss' : 'clerk'] }) } },
      },
      [],
    ],
    [
      'a rule goes by the risk that the gate sets',
      { needsApproval: ({ amount }: any) => ({ risk: amount > 1_000 ? 'high' : 'low' }) },
      [
        { risk: 'high', policy: BOSS },
        { risk: 'low', policy: CLERK },
      ],
    ],
    [
      'a rule goes by the input',
      { needsApproval: { policy: CLERK } },
      [{ tool: 'p*', where: [{ field: 'amount', above: 1_000 }], policy: BOSS }],
    ],
  ])('%s: the clerk edits 100 to 1,000,000, and the boss must agree', async (_, config, rules) => {
    const { runs, paid, ask } = open(config, { rules });
    const request = await ask('ann');
    const decided = await runs.decide(request, edited, { by: 'clerk' });
    if (decided.status !== 'waiting') throw new Error('The clerk settled it.');
    await runs.settled();
    expect(paid).toEqual([]);
    const [again] = (await runs.requests({ settled: false })).items;
    expect(JSON.stringify(again?.policies)).toContain('boss');
    await runs.decide(decided.requestId, 'approve', { by: 'boss' });
    await runs.settled();
    expect(paid).toEqual([{ amount: 1_000_000 }]);
  });

  test('the card after an edit has the title, the message and the risk of the edited input', async () => {
    const { runs, ask } = open({
      title: ({ amount }: any) => `Pay ${amount}`,
      needsApproval: ({ amount }: any) => ({
        message: `Really pay ${amount}?`,
        risk: amount > 1_000 ? 'high' : 'low',
        policy: amount > 1_000 ? BOSS : CLERK,
      }),
    });
    const request = await ask('ann');
    expect(request).toMatchObject({ title: 'Pay 100', risk: 'low', payload: { message: 'Really pay 100?' } });
    await runs.decide(request, edited, { by: 'clerk' });
    const [again] = (await runs.requests({ settled: false })).items;
    expect(again).toMatchObject({
      title: 'Pay 1000000',
      risk: 'high',
      payload: { message: 'Really pay 1000000?' },
      policies: [BOSS],
    });
  });

  test('a rule that denies the edited input refuses the edit, and nothing is lost', async () => {
    const rules: readonly Rule[] = [
      { tool: 'pay', where: [{ field: 'amount', above: 1_000 }], then: 'deny', reason: 'Too much.' },
    ];
    const { runs, paid, ask } = open({ needsApproval: true }, { rules });
    const request = await ask('ann');
    await expect(runs.decide(request, edited, { by: 'clerk' })).rejects.toThrow('Too much.');
    await runs.decide(request, 'approve', { by: 'clerk' });
    await runs.settled();
    expect(paid).toEqual([{ amount: 100 }]);
  });
});

test('the decider of a sub-agent cannot make up the conversation that it continues with', async () => {
  const { ai, paid, teller } = open({ needsApproval: true });
  const started = { toolRequest: { name: 'teller', ref: 't', input: { prompt: 'Pay.' } }, metadata: { started: true } };
  const messages: Message[] = [
    { role: 'user', content: [{ text: 'Go.' }] },
    { role: 'model', content: [started] },
  ];
  const doubt = await ai.generate({ messages, tools: [teller] });
  const toolRequest = { name: 'pay', ref: 'p', input: { amount: 1_000_000 } };
  const madeUp = {
    messages: [messages[0], { role: 'model', content: [{ toolRequest, metadata: { cleared: true } }] }],
  };
  const resume = doubt.interrupts.map((part) => restart(part, { ...madeUp, continues: true }));
  const asked = await ai.generate({ messages: doubt.messages, tools: [teller], resume });
  expect(paid).toEqual([]);
  expect(asked.interrupts).toMatchObject([{ toolRequest: { name: 'pay', input: { amount: 100 } } }]);
});

test('a caller outside cannot choose its way round a rule (A3)', async () => {
  const { ai, runs } = open(
    {},
    {
      rules: [
        { tool: 'deploy', policy: BOSS },
        { risk: 'high', policy: { notRequester: true } },
      ],
    },
  );
  ai.definePolicy('mine', { deciders: { people: ['eve'] } });
  const gate = ai.gate({ name: 'deploy', policy: 'mine', risk: 'low' });
  const asked = await gate.request({ to: 'production' }, { key: 'k', by: 'eve' });
  expect(asked.status).toBe('pending');
  const [request] = (await runs.requests({ settled: false })).items;
  expect(request?.policies).toEqual([{ name: 'mine', deciders: { people: ['eve'] } }, BOSS, { notRequester: true }]);
  await expect(runs.decide(request?.id ?? '', 'approve', { by: 'eve' })).rejects.toMatchObject({ code: 'not-allowed' });
});

describe('a deadline approves only where every policy says so (A4)', () => {
  const timed = { needsApproval: true, expiresIn: HOUR, onExpiry: 'approve' } as const;
  test.each<[string, readonly Rule[], number]>([
    ['no rule', [], 1],
    ['a rule that asks', [{ tool: 'pay' }], 0],
    ['a quorum', [{ tool: 'pay', policy: { quorum: [{ of: { roles: ['finance'] }, count: 2 }] } }], 0],
    ['signatures', [{ tool: 'pay', policy: { signed: 'passkey' } }], 0],
    ['four eyes', [{ tool: 'pay', policy: { notRequester: true } }], 0],
  ])('%s', async (_, rules, payments) => {
    const { ai, runs, paid, ask, later } = open(timed, { rules });
    const { runId } = await ask('ann');
    later(2 * HOUR);
    const worker = ai.runs.work({ pollMs: 10 });
    await expect.poll(async () => (await runs.get(runId)).status, { timeout: 10_000 }).toBe('done');
    await worker.stop();
    expect(paid).toHaveLength(payments);
    const evidence = evidenceText(await runs.evidence(runId));
    expect((await verifyEvidence(evidence)).problems).toEqual([]);
  });

  test.each([{ quorum: [{ of: { roles: ['finance'] }, count: 2 }] }, { signed: 'passkey' as const }])(
    'is refused where it is defined: %j',
    (policy) => {
      const { ai } = open();
      expect(() => ai.definePolicy('late', { ...policy, expireAfter: '1h', onExpiry: 'approve' })).toThrow('deadline');
    },
  );
});

describe('whoever took part cannot approve (A7, A8)', () => {
  const fourEyes = { needsApproval: { policy: { notRequester: true } } } as const;

  test('the author of the message that led to the call, in the run of somebody else', async () => {
    const { runs, ask, teller } = open(fourEyes);
    const request = await ask('ann');
    await runs.decide(request, 'reject', { by: 'cleo' });
    await runs.settled();
    await teller.generate({ runId: request.runId, prompt: 'Pay after all.', by: 'bob' });
    await internalsOf(runs).rested(request.runId);
    const [again] = (await runs.requests({ runId: request.runId, settled: false })).items;
    if (!again) throw new Error('Nothing was asked.');
    expect(again.requesters).toEqual(['ann', 'bob']);
    for (const by of ['ann', 'bob'])
      await expect(runs.decide(again, 'approve', { by })).rejects.toMatchObject({ code: 'not-allowed' });
    expect((await runs.decide(again, 'approve', { by: 'cleo' })).status).toBe('settled');
  });

  test('the editor, when the call asks anew because its preview has changed', async () => {
    let rate = 1;
    const { runs, paid, ask } = open({ ...fourEyes, preview: ({ amount }: any) => ({ total: amount * rate }) });
    const request = await ask('ann');
    const proposed = await runs.decide(request, { type: 'approve', edit: { amount: 7 } }, { by: 'eve' });
    if (proposed.status !== 'waiting') throw new Error('The editor settled it.');
    rate = 2;
    await runs.decide(proposed.requestId, 'approve', { by: 'cleo' });
    await internalsOf(runs).rested(request.runId);
    const [again] = (await runs.requests({ settled: false })).items;
    if (!again) throw new Error('Nothing was asked again.');
    expect(again.requesters).toEqual(['ann', 'eve']);
    await expect(runs.decide(again, 'approve', { by: 'eve' })).rejects.toMatchObject({ code: 'not-allowed' });
    expect(paid).toEqual([]);
  });

  test('without a known requester the card says so, and only a person whom that policy names can approve', async () => {
    const { runs, ask } = open(fourEyes);
    const request = await ask();
    expect(request.policies[0].warnings?.join()).toContain('not known who requested');
    await expect(runs.decide(request, 'approve', { by: 'cleo' })).rejects.toMatchObject({ code: 'not-allowed' });
    const named = open({ needsApproval: { policy: { notRequester: true, ...BOSS } } });
    const other = await named.ask();
    expect((await named.runs.decide(other, 'approve', { by: 'boss' })).status).toBe('settled');
    // Another policy that names people adds a condition, and does not widen this one.
    const joined = open(fourEyes, { rules: [{ tool: 'pay', policy: BOSS }] });
    const third = await joined.ask();
    await expect(joined.runs.decide(third, 'approve', { by: 'boss' })).rejects.toMatchObject({ code: 'not-allowed' });
    expect(joined.paid).toEqual([]);
  });
});

test('a policy that asks for signatures does not count earlier unsigned votes (A9)', async () => {
  const store = memoryStore();
  const two = { quorum: [{ of: { people: ['bob', 'cleo'] }, count: 2 }] };
  const before = open({ needsApproval: { policy: two } }, { store, clock: Date.now });
  const request = await before.ask('ann');
  await before.runs.decide(request, 'approve', { by: 'bob' });
  const one = { deciders: { people: ['bob', 'cleo'] }, signed: 'passkey' as const };
  const after = open({ needsApproval: true }, { store, clock: Date.now, rules: [{ tool: 'pay', policy: one }] });
  await after.runs.reapplyPolicy(request.id, { by: 'admin' });
  expect((await after.runs.request(request.id)).policies).toEqual([one]);
  expect((await after.runs.get(request.runId)).pending).toHaveLength(1);
  expect(after.paid).toEqual([]);
});

test('evidence says what let each call run, and finds what was changed (A11)', async () => {
  const { runs, ask } = open({ needsApproval: { policy: CLERK } });
  const request = await ask('ann');
  await runs.decide(request, 'approve', { by: 'clerk' });
  await runs.settled();
  const evidence = await runs.evidence(request.runId);
  expect(evidence.started).toMatchObject([{ tool: 'pay', by: 'approval' }]);
  expect(evidence.run.status).toBe('done');
  expect((await verifyEvidence(evidenceText(evidence))).ok).toBe(true);
  const forged = (change: (document: any) => void) => {
    const document = structuredClone(evidence) as any;
    change(document);
    return verifyEvidence(evidenceText(document)).then(({ problems }) => problems.map(({ where }) => where));
  };
  expect(await forged(({ run }) => (run.status = 'failed'))).toContain('run.status');
  expect(await forged(({ run }) => (run.createdAt += 1))).toContain('run.createdAt');
  expect(await forged(({ requests }) => requests.push(requests[0]))).toContain('requests');
  expect(await forged(({ started }) => (started[0].by = 'grant'))).toContain('started');
  const retitled = await forged(({ events }) => {
    const asked = events.find(({ type }: any) => type === 'call-interrupted');
    asked.request.authority.policies = [{}];
  });
  expect(retitled.some((where) => where.startsWith('events['))).toBe(true);
});
