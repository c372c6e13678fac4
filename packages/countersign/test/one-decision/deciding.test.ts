// Decisions through a chat and by id: late, concurrent, on a changed card, or invalid.
import { approve, countersign, memoryStore, UsageError, z } from 'countersign';
import { internalsOf, type RequestRecord, type Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../src/runs/requests/card.ts';
import { changedStore } from '../changed-store.ts';

const asksToPay: ScriptStep = { calls: [{ name: 'pay', ref: 'p', input: { amount: 5 } }] };

type BankOptions = { readonly store?: Store; readonly clock?: () => number; readonly expiresIn?: number };

function bank({ store = memoryStore(), clock, expiresIn }: BankOptions = {}) {
  const paid: number[] = [];
  const ai = countersign({ store, retry: false, ...(clock && { clock }) });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: '',
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: true,
      ...(expiresIn !== undefined && { expiresIn }),
    },
    ({ amount }) => {
      paid.push(amount);
      return 'paid';
    },
  );
  const ask = ai.defineInterrupt({ name: 'ask', description: '', outputSchema: z.string() });
  const payer = ai.defineAgent({ name: 'payer', model: scriptedModel([asksToPay, 'Paid.']), tools: [pay] });
  const asksPayer: ScriptStep = { calls: [{ name: 'payer', ref: 's', input: { prompt: 'Pay.' } }] };
  const agentWith = (name: string, script: readonly ScriptStep[]) =>
    ai.defineAgent({ name, model: scriptedModel(script), tools: [pay, ask, payer] });
  return {
    runs: ai.runs,
    paid,
    clerk: agentWith('clerk', [asksToPay, 'Done.']),
    boss: agentWith('boss', [asksPayer, 'Done.']),
    asker: agentWith('asker', [{ calls: [{ name: 'ask', ref: 'a', input: {} }] }, 'Thanks.']),
  };
}

describe.each(['clerk', 'boss'] as const)('a chat decision after the deadline, of the %s', (name) => {
  test('fails, records the deadline, and runs nothing', async () => {
    let now = 1_000;
    const clock = () => now;
    const { runs, paid, ...agents } = bank({ store: memoryStore({ now: clock }), clock, expiresIn: 500 });
    const chat = agents[name].chat({ runId: 'talk' });
    const { interrupts } = await chat.send('Pay.');
    now = 2_000;
    const deciding = chat.send({ resume: { approve: interrupts.map((part) => approve(part)) } });
    await expect(deciding).rejects.toMatchObject({ name: 'ConflictError', code: 'already-decided' });
    await expect(deciding).rejects.toThrow(/expired at .*Its deadline decided: {"type":"reject"}/);
    await runs.settled();
    expect(paid).toEqual([]);
    expect(await runs.get('talk')).toMatchObject({ status: 'done', pending: [] });
    const { items } = await runs.requests({ settled: true });
    expect(items).toMatchObject([{ settlement: { decision: { type: 'reject' }, by: 'deadline', channel: null } }]);
  });
});

test.each([
  ['inherited', Object.assign(Object.create({ edit: { amount: 9 } }), { type: 'approve' })],
  [
    'a getter of a class',
    new (class {
      readonly type = 'approve';
      get edit() {
        return { amount: 9 };
      }
    })(),
  ],
])('an edit that is %s is recorded, and runs', async (_how, decision) => {
  const { clerk, runs, paid } = bank();
  const { id } = await clerk.start('Pay.');
  const [card = ''] = (await runs.wait(id)).pending;
  const recorded = { type: 'approve', edit: { amount: 9 } };
  expect(await runs.decide(card, decision)).toMatchObject({ decision: recorded });
  await runs.wait(id, { until: 'end' });
  expect({ paid, settlement: (await runs.request(card)).settlement }).toMatchObject({
    paid: [9],
    settlement: { decision: recorded },
  });
});

test('changing a part after resume was called changes nothing', async () => {
  const { clerk, runs, paid } = bank();
  const { id } = await clerk.start('Pay.');
  const [card = ''] = (await runs.wait(id)).pending;
  const part = structuredClone(approve((await runs.request(card)).part, { edit: { amount: 9 } }));
  const deciding = internalsOf(runs).resume(id, { approve: [part] });
  Object.assign(part.toolRequest, { input: { amount: 10 } });
  await deciding;
  await runs.wait(id, { until: 'end' });
  expect({ paid, settlement: (await runs.request(card)).settlement }).toMatchObject({
    paid: [9],
    settlement: { decision: { type: 'approve', edit: { amount: 9 } } },
  });
});

test('changing a decision after decide was called changes nothing', async () => {
  const { runs, paid, clerk } = bank();
  await clerk.start('Pay.', { runId: 'run' });
  const { pending } = await runs.wait('run');
  const decision = { type: 'approve' as const, edit: { amount: 7 } };
  const options = { by: 'ada', note: 'less' };
  const deciding = runs.decide(pending[0] ?? '', decision, options);
  decision.edit.amount = 7_000;
  options.by = 'eve';
  expect(await deciding).toMatchObject({ by: 'ada', decision: { edit: { amount: 7 } } });
  await runs.wait('run', { until: 'end' });
  expect(paid).toEqual([7]);
});

describe('the record names the approver', () => {
  test('of an answer built manually', async () => {
    const { runs, asker } = bank();
    const chat = asker.chat({ runId: 'talk', by: 'ann' });
    await chat.send('Ask.');
    const answer = { toolResponse: { name: 'ask', ref: 'a', output: 'blue' } };
    expect((await chat.send({ resume: { respond: answer } })).text).toBe('Thanks.');
    const { items } = await runs.requests({ settled: true });
    expect(items.map(({ settlement }) => settlement)).toEqual([
      expect.objectContaining({ by: 'ann', decision: { type: 'respond', output: 'blue' } }),
    ]);
  });

  test('of a question inside a sub-agent', async () => {
    const { runs, boss, paid } = bank();
    const chat = boss.chat({ runId: 'talk', by: 'ann' });
    await chat.send('Pay.');
    const byHand = { toolRequest: { name: 'pay', ref: 'p', input: { amount: 5 } }, metadata: { path: ['s'] } };
    await chat.send({ resume: { approve: byHand } });
    expect(paid).toEqual([5]);
    const { items } = await runs.requests({ settled: true });
    expect(items.map(({ settlement }) => settlement)).toEqual([
      expect.objectContaining({ by: 'ann', decision: { type: 'approve' } }),
    ]);
  });
});

describe('two chats deciding one question at once', () => {
  test.each(['clerk', 'boss'] as const)('both receive the outcome of an equal decision, of the %s', async (name) => {
    const { paid, ...agents } = bank();
    const { interrupts } = await agents[name].chat({ runId: 'talk' }).send('Pay.');
    const resume = { approve: interrupts.map((part) => approve(part)) };
    const [one, two] = ['ann', 'bob'].map((by) => agents[name].chat({ runId: 'talk', by }).send({ resume }));
    expect((await one)?.text).toBe('Done.');
    expect((await two)?.text).toBe('Done.');
    expect(paid).toEqual([5]);
  });

  test('the second of two different decisions learns who decided and what', async () => {
    const { runs, clerk, paid } = bank();
    const { interrupts } = await clerk.chat({ runId: 'talk' }).send('Pay.');
    const [part] = interrupts;
    if (!part) throw new Error('Expected a question.');
    const outcomes = await Promise.allSettled([
      internalsOf(runs).resume('talk', { approve: approve(part) }, { by: 'ann' }),
      internalsOf(runs).resume('talk', { approve: approve(part, { edit: { amount: 7 } }) }, { by: 'bob' }),
    ]);
    await runs.settled();
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(refused).toEqual([
      expect.objectContaining({
        code: 'already-decided',
        message: expect.stringMatching(/was decided by (ann|bob) at 2.*approve/),
      }),
    ]);
    expect(paid).toHaveLength(1);
  });

  test('a decision on several questions decides those still open', async () => {
    const paid: string[] = [];
    const calls = ['p', 'q'].map((ref) => ({ name: 'pay', ref, input: { bill: ref } }));
    const ai = countersign({ model: scriptedModel([{ calls }, 'Done.']), store: memoryStore(), retry: false });
    const pay = ai.defineTool(
      { name: 'pay', description: '', inputSchema: z.object({ bill: z.string() }), needsApproval: true },
      ({ bill }) => void paid.push(bill),
    );
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
    const chat = clerk.chat({ runId: 'talk' });
    const { interrupts } = await chat.send('Pay.');
    await ai.runs.decide((await ai.runs.get('talk')).pending[0] ?? '', 'approve', { by: 'ann' });
    await ai.runs.settled();
    expect((await chat.send({ resume: { approve: interrupts.map((part) => approve(part)) } })).text).toBe('Done.');
    expect(paid).toEqual(['p', 'q']);
  });
});

describe('a decision without driving', () => {
  test.each(['by its id', 'with resume'])('that comes second fails and records nothing (%s)', async (how) => {
    const kept = memoryStore();
    const first: (() => Promise<unknown>)[] = [];
    const store = changedStore(kept, {
      append: async (append) => {
        await first.pop()?.();
        return kept.append(append);
      },
    });
    const { clerk, runs, paid } = bank({ store });
    await clerk.start('Pay.', { runId: 'run' });
    const [card = ''] = (await runs.wait('run')).pending;
    const { part } = await runs.request(card);
    first.push(() => bank({ store: kept }).runs.decide(card, 'reject', { by: 'bob', drive: false }));
    const deciding =
      how === 'with resume'
        ? internalsOf(runs).resume('run', { approve: part }, { drive: false })
        : runs.decide(card, 'approve', { drive: false });
    await expect(deciding).rejects.toMatchObject({ code: 'already-decided' });
    expect((await runs.request(card)).settlement).toMatchObject({ by: 'bob', decision: { type: 'reject' } });
    await runs.drive('run');
    await runs.wait('run', { until: 'end' });
    expect(paid).toEqual([]);
  });

  test('reports the error of a store that rejects it', async () => {
    const kept = memoryStore();
    const broken = { is: false };
    const store = changedStore(kept, {
      append: async (append) => {
        if (broken.is) throw new Error('The disk is full.');
        return kept.append(append);
      },
    });
    const { clerk, runs } = bank({ store });
    await clerk.start('Pay.', { runId: 'run' });
    const [card = ''] = (await runs.wait('run')).pending;
    broken.is = true;
    await expect(runs.decide(card, 'approve', { drive: false })).rejects.toThrow('The disk is full.');
    expect((await runs.request(card)).settlement).toBeNull();
  });
});

describe('a card that was changed in the store together with its digest', () => {
  const changed = (record: RequestRecord, from: string, to: string): RequestRecord => {
    const card = JSON.parse(JSON.stringify(record.card).replace(from, to));
    return { ...record, card, digest: digestOf(record.id, card) };
  };
  const changes: readonly (readonly [string, (record: RequestRecord) => RequestRecord, object])[] = [
    ['its input', (record) => changed(record, '"amount":5', '"amount":1'), { input: { amount: 1 } }],
    [
      'its payload',
      (record) => changed(record, '"interrupt":true', '"interrupt":{"message":"Only a look."}'),
      { payload: { message: 'Only a look.' } },
    ],
    [
      'its tool, in both places',
      (record) => ({ ...changed(record, '"name":"pay"', '"name":"look"'), tool: 'look' }),
      { tool: 'look' },
    ],
    [
      'its runsWith',
      (record) => changed(record, '"metadata":{', '"metadata":{"runsWith":{"amount":1},'),
      { input: { amount: 1 } },
    ],
    [
      'its kind, in both places',
      (record) => ({ ...changed(record, '"approval"', '"unavailable"'), kind: 'unavailable' }),
      { kind: 'unavailable' },
    ],
  ];

  test.each(changes)('cannot be decided: %s', async (_what, change, shown) => {
    const kept = memoryStore();
    const store = changedStore(kept, {
      request: async (id) => {
        const record = await kept.request(id);
        return record && change(record);
      },
    });
    const { clerk, runs, paid } = bank({ store });
    const { id } = await clerk.start('Pay.');
    const [key = ''] = (await internalsOf(runs).rested(id)).pending;
    const seen = await runs.request(key);
    expect(seen).toMatchObject(shown);
    await expect(runs.decide(key, 'approve', { digest: seen.digest })).rejects.toMatchObject({ code: 'outdated-card' });
    expect(paid).toEqual([]);
  });

  test('cannot be decided with its digest once only the card is restored', async () => {
    const kept = memoryStore();
    let isBack = false;
    const store = changedStore(kept, {
      request: async (id) => {
        const record = await kept.request(id);
        if (!record) return undefined;
        const lie = changed(record, '"amount":5', '"amount":1');
        return isBack ? { ...record, digest: lie.digest } : lie;
      },
    });
    const { clerk, runs, paid } = bank({ store });
    const { id } = await clerk.start('Pay.');
    const [key = ''] = (await internalsOf(runs).rested(id)).pending;
    const { digest } = await runs.request(key);
    isBack = true;
    await expect(runs.decide(key, 'approve', { digest })).rejects.toMatchObject({ code: 'outdated-card' });
    expect(paid).toEqual([]);
  });

  test('can be decided if it shows the recorded question in an older format', async () => {
    const kept = memoryStore();
    const store = changedStore(kept, {
      request: async (id) => {
        const record = await kept.request(id);
        if (!record) return undefined;
        const { part } = record.card as { part: { toolRequest: object; metadata: object } };
        const card = {
          part: { ...part, metadata: { ...part.metadata, older: true } },
        } as unknown as RequestRecord['card'];
        return { ...record, card, digest: digestOf(id, card) };
      },
    });
    const { clerk, runs, paid } = bank({ store });
    const { id } = await clerk.start('Pay.');
    const [key = ''] = (await internalsOf(runs).rested(id)).pending;
    await runs.decide(key, 'approve', { digest: (await runs.request(key)).digest });
    await runs.settled();
    expect(paid).toEqual([5]);
  });
});

test.each([null, undefined, 5, 'yes', [], {}, { type: 'yes' }, { type: null }])(
  'an invalid decision is rejected before and after the question was decided: %j',
  async (garbage) => {
    const { clerk, runs } = bank();
    const { id } = await clerk.start('Pay.');
    const [key = ''] = (await internalsOf(runs).rested(id)).pending;
    const decide = () => runs.decide(key, garbage as never).catch((error: unknown) => error);
    const refused = { code: 'invalid-decision', message: expect.stringContaining('A decision has the type approve, ') };
    const before = await decide();
    expect(before).toBeInstanceOf(UsageError);
    expect(before).toMatchObject(refused);
    await runs.decide(key, 'approve');
    const after = await decide();
    expect(after).toBeInstanceOf(UsageError);
    expect(after).toMatchObject(refused);
    await runs.settled();
  },
);

describe('inside a sub-agent that no longer exists', () => {
  async function withoutHelper(isDefined = false) {
    const store = memoryStore();
    const deploy = (hasHelper: boolean, asks: boolean) => {
      const ai = countersign({ store, retry: false });
      const inner: ScriptStep = {
        calls: [
          { name: 'count', ref: 'c' },
          { name: 'pay', ref: 'p', input: { amount: 5 } },
        ],
      };
      const count = asks && ai.defineInterrupt({ name: 'count', description: '', outputSchema: z.number() });
      const config = {
        name: 'pay',
        description: '',
        inputSchema: z.object({ amount: z.number() }),
        needsApproval: true,
      };
      const pay = ai.defineTool(config, () => 'paid');
      if (hasHelper)
        ai.defineAgent({
          name: 'helper',
          model: scriptedModel([inner, 'Helped.']),
          tools: [...(count ? [count] : []), pay],
        });
      const calls = [{ name: 'helper', ref: 'h', input: { prompt: 'Help.' } }];
      const boss = ai.defineAgent({ name: 'boss', model: scriptedModel([{ calls }, 'Done.']), tools: ['helper'] });
      return { runs: ai.runs, boss };
    };
    const old = deploy(true, true);
    await old.boss.start('Go.', { runId: 'run' });
    await old.runs.settled();
    const { items } = await old.runs.requests();
    const idOf = (tool: string) => items.find((card) => card.tool === tool)?.id ?? '';
    return { runs: deploy(false, isDefined).runs, count: idOf('count'), pay: idOf('pay') };
  }

  test.each([
    ['an answer', 'count', { type: 'respond', output: 'many' }],
    ['an approval of a question', 'count', 'approve'],
    ['an approval', 'pay', 'approve'],
    ['an edit', 'pay', { type: 'approve', edit: { amount: 'much' } }],
  ] as const)('%s cannot be checked and is rejected', async (_what, tool, decision) => {
    const { runs, ...cards } = await withoutHelper();
    const deciding = runs.decide(cards[tool], decision);
    await expect(deciding).rejects.toMatchObject({
      code: 'invalid-resume',
      message: expect.stringContaining(`the tool ${tool} is not available here`),
    });
    expect((await runs.request(cards[tool])).settledAt).toBeNull();
  });

  test('an answer to a question that is still defined is checked', async () => {
    const { runs, count } = await withoutHelper(true);
    const deciding = runs.decide(count, { type: 'respond', output: 'many' });
    await expect(deciding).rejects.toMatchObject({ code: 'invalid-resume', message: /does not fit its schema/ });
    await runs.decide(count, { type: 'respond', output: 3 });
    expect((await runs.request(count)).settlement).toMatchObject({ decision: { output: 3 } });
  });

  test('a rejection is recorded', async () => {
    const { runs, count, pay } = await withoutHelper();
    await runs.decide(pay, 'reject');
    await runs.decide(count, 'reject');
    await runs.settled();
    const { items } = await runs.requests();
    expect(items.map(({ tool, kind }) => [tool, kind])).toEqual([['helper', 'unavailable']]);
  });
});

const WITHOUT_TOOL =
  'the tool pay is not available here; add it to the tools of the call or of the agent, or reject or cancel it.';
test.each([
  ['approves', 'without', 'approve', WITHOUT_TOOL],
  ['answers', 'without', { type: 'respond', output: 'paid' }, WITHOUT_TOOL],
  ['approves', 'with a question', 'approve', 'pay (p) is a question and has nothing to run; use respond.'],
] as const)(
  'a decision that %s a call without its tool fails and says what to do (%s)',
  async (_does, then, decision, message) => {
    const store = memoryStore();
    const open = (tools: 'with pay' | typeof then) => {
      const ai = countersign({ store, retry: false });
      const model = scriptedModel([asksToPay, 'Done.']);
      const pay = () => ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
      const ask = () => ai.defineInterrupt({ name: 'pay', description: '' });
      const given = { 'with pay': () => [pay()], without: () => [], 'with a question': () => [ask()] }[tools]();
      return { clerk: ai.defineAgent({ name: 'clerk', model, tools: given }), runs: ai.runs };
    };
    const one = open('with pay');
    const { id } = await one.clerk.start('Pay.');
    await one.runs.settled();
    const two = open(then);
    const [card] = (await two.runs.get(id)).pending;
    await expect(two.runs.decide(card as string, decision)).rejects.toMatchObject({
      code: 'invalid-resume',
      message: expect.stringContaining(message),
    });
  },
);

test.each([
  [{ type: 'approve', input: { amount: 1 } }, 'input'],
  [{ type: 'approve', reason: 'fine' }, 'reason'],
  [{ type: 'reject', edit: { amount: 1 } }, 'edit'],
  [{ type: 'respond', output: 1, resumed: true }, 'resumed'],
] as const)('%o is rejected, and nothing is decided', async (decision, field) => {
  const { clerk, runs, paid } = bank();
  const { id } = await clerk.start('Pay.');
  const [requestId = ''] = (await runs.wait(id)).pending;
  const deciding = runs.decide(requestId, decision as never);
  await expect(deciding).rejects.toMatchObject({ code: 'invalid-decision', details: { fields: [field] } });
  expect({ paid, pending: (await runs.get(id)).pending }).toEqual({ paid: [], pending: [requestId] });
  await runs.decide(requestId, 'approve');
  await runs.wait(id);
  expect(paid).toEqual([5]);
});

describe('an approver named like the deadline', () => {
  test('counts as a person: the model reads that a person rejected', async () => {
    const { runs, clerk } = bank();
    const { id } = await clerk.start('Pay.');
    const [card = ''] = (await runs.wait(id)).pending;
    await runs.decide(card, 'reject', { by: 'deadline', channel: 'inbox' });
    const { messages } = await runs.wait(id, { until: 'end' });
    expect(JSON.stringify(messages)).toContain('was rejected by a person');
    expect((await runs.requests({ settled: true, outcome: 'expired' })).items).toEqual([]);
  });

  test('must pass a channel, or the decision is rejected', async () => {
    const { runs, clerk, paid } = bank();
    const chat = clerk.chat({ runId: 'run' });
    const { interrupts } = await chat.send('Pay.');
    const [card = ''] = (await runs.wait('run')).pending;
    const refused = { code: 'invalid-options', message: expect.stringContaining('Pass the `channel`') };
    await expect(runs.decide(card, 'approve', { by: 'deadline' })).rejects.toMatchObject(refused);
    await expect(chat.send({ resume: { approve: interrupts }, by: 'deadline' })).rejects.toMatchObject(refused);
    const approved = interrupts.map((part) => approve(part, { by: 'deadline' }));
    await expect(chat.send({ resume: { approve: approved } })).rejects.toMatchObject(refused);
    expect({ status: (await runs.get('run')).status, paid }).toEqual({ status: 'waiting', paid: [] });
  });
});
