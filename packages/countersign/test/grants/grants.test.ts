// Grants: calls within one run without a question, and never more than it allows.
import { memoryStore, type RunRequest } from 'countersign';
import { describe, expect, test } from 'vitest';
import { link, shortHash } from '../../src/runs/port/chain.ts';
import { DAY_MS, grantIn, openPayer } from './kit.ts';

const acme = (amount: number) => ({ to: 'ACME', amount });

describe('a call within a grant', () => {
  test('runs without a question, and its record names the grant', async () => {
    const { ai, give, start, paid } = openPayer(memoryStore());
    const grant = await give();
    const run = await start([acme(500)]);
    expect(run.status).toBe('done');
    expect(paid).toEqual([acme(100), acme(500)]);
    const events = await ai.runs.recorded(run.id);
    expect(events.map(({ type }) => type)).toEqual([
      'user-spoke',
      'model-replied',
      'call-granted',
      'call-started',
      'call-settled',
      'model-replied',
    ]);
    expect(events[2]).toMatchObject({ grantId: grant.id, amount: 500 });
    const [request] = run.messages.flatMap(({ content }) => content.filter((part) => 'toolRequest' in part));
    expect(request?.metadata).toMatchObject({ grant: { id: grant.id, amount: 500 } });
    const { left, calls } = await ai.grants.get(grant.id);
    expect(left).toEqual({ uses: 2, amount: 500 });
    expect(calls).toMatchObject([{ runId: run.id, status: 'spent', amount: 500 }]);
    expect((await ai.runs.verify(run.id)).ok).toBe(true);
  });

  test.each([
    ['another field', { to: 'Other', amount: 1 }],
    ['a higher amount', acme(501)],
    ['a negative amount', acme(-5)],
    ['more than the budget has left', acme(400)],
  ])('is asked about with %s', async (_what, payment) => {
    const { give, start, paid, questions } = openPayer(memoryStore());
    await give({ budget: { field: 'amount', total: 399 } });
    const run = await start([payment]);
    expect(run.status).toBe('waiting');
    expect(await questions(run.id)).toHaveLength(1);
    expect(paid).toHaveLength(1);
  });

  test('is asked about in runs of other people and after the last use', async () => {
    const { give, start } = openPayer(memoryStore());
    await give({ uses: 1 });
    expect((await start([acme(1)], 'eve')).status).toBe('waiting');
    expect((await start([acme(1)])).status).toBe('done');
    expect((await start([acme(1)])).status).toBe('waiting');
  });

  test('uses the grant in the run in which it was given, too', async () => {
    const { ai, clerk, questions, request } = openPayer(memoryStore());
    const { id } = await clerk.start(JSON.stringify([acme(100)]), { by: 'ann' });
    await ai.runs.wait(id);
    const [question] = await questions(id);
    await ai.runs.decide(question as RunRequest, 'approve', { by: 'ben', grant: await request() });
    await ai.runs.wait(id);
    await clerk.generate({ runId: id, prompt: JSON.stringify([acme(200)]), by: 'ann' });
    expect((await ai.runs.get(id)).status).toBe('done');
  });

  test('several at once take what is left, and the others are asked about', async () => {
    const { give, start, paid, questions } = openPayer(memoryStore());
    await give({ uses: 2 });
    const run = await start([acme(1), acme(2), acme(3)]);
    expect(run.status).toBe('waiting');
    expect(await questions(run.id)).toHaveLength(1);
    expect(paid).toHaveLength(3);
  });
});

describe('a grant', () => {
  test('that is revoked or has expired lets nothing through', async () => {
    let time = 1_800_000_000_000;
    const now = () => time;
    const { ai, give, start } = openPayer(memoryStore({ now }), {}, { clock: now });
    const grant = await give();
    await ai.grants.revoke(grant.id, { by: 'cleo', reason: 'Not today.' });
    const revoked = await ai.grants.revoke(grant.id, { by: 'someone else' });
    expect(revoked).toMatchObject({ status: 'revoked', revoked: { by: 'cleo', reason: 'Not today.' } });
    expect((await start([acme(1)])).status).toBe('waiting');
    const short = await give();
    time += DAY_MS;
    expect((await start([acme(1)])).status).toBe('waiting');
    expect((await ai.grants.get(short.id)).status).toBe('expired');
    expect((await ai.grants.list({ status: 'revoked' })).items.map(({ id }) => id)).toEqual([grant.id]);
  });

  test('gets back what a call did not use: it did nothing, or was cancelled before it ran', async () => {
    const { ai, give, start } = openPayer(memoryStore());
    const grant = await give({ uses: 1 });
    expect((await start([{ ...acme(500), fails: true }])).status).toBe('done');
    expect((await start([acme(500)])).status).toBe('done');
    const { calls, status, left } = await ai.grants.get(grant.id);
    expect(calls.map((use) => use.status)).toEqual(['spent']);
    expect({ status, left }).toEqual({ status: 'used-up', left: { uses: 0, amount: 500 } });
  });

  test('with a schema covers only inputs that fit it', async () => {
    const { give, start } = openPayer(memoryStore());
    await give({ schema: { properties: { amount: { multipleOf: 100 } } } });
    expect((await start([acme(200)])).status).toBe('done');
    expect((await start([acme(201)])).status).toBe('waiting');
  });

  test('whose record was changed in the store is not used, and `verify` says so', async () => {
    const store = memoryStore();
    const { ai, give, start } = openPayer(store);
    const { id } = await give();
    expect(await ai.grants.verify(id)).toEqual({ ok: true, problem: null });
    const note = await store.notes.get('grants', id);
    await store.notes.put('grants', id, JSON.parse(JSON.stringify(note?.value).replace('"uses":3', '"uses":9')));
    expect(await ai.grants.verify(id)).toMatchObject({ ok: false });
    expect((await start([acme(1)])).status).toBe('waiting');
  });
});

describe('giving a grant', () => {
  test('needs a person, an approval, and limits that accept the call', async () => {
    const { ai, start, questions, request } = openPayer(memoryStore());
    const { id } = await start([acme(100)]);
    const [{ id: question } = { id: '' }] = await questions(id);
    const grant = await request();
    const refusals = [
      ai.runs.decide(question, 'approve', { grant }),
      ai.runs.decide(question, 'reject', { by: 'ben', grant }),
      ai.runs.decide(question, 'approve', { by: 'ben', grant: { ...grant, uses: 1_001 } }),
      ai.runs.decide(question, 'approve', { by: 'ben', grant: { ...grant, where: [{ field: 'amount', below: 100 }] } }),
      ai.runs.decide(question, 'approve', {
        by: 'ben',
        grant: { ...grant, where: [{ field: 'missing', equals: null }] },
      }),
      ai.runs.decide(question, 'approve', { by: 'ben', grant: { ...grant, budget: { field: 'to', total: 5 } } }),
      ai.runs.decide(question, 'approve', { by: 'ben', grant: { ...grant, budget: { field: 'amount', total: 99 } } }),
      ai.runs.decide(question, 'approve', { by: 'ben', grant: { ...grant, schema: { required: ['missing'] } } }),
      ai.grants.give(question, grant, { by: 'ben' }),
    ];
    for (const refused of refusals) await expect(refused).rejects.toMatchObject({ code: 'invalid-grant' });
    expect((await ai.runs.get(id)).pending).toEqual([question]);
    expect((await ai.grants.list()).items).toEqual([]);
  });

  test('with a repeated decision returns the first grant, or makes it if it is missing', async () => {
    const { ai, start, questions, request } = openPayer(memoryStore());
    const { id } = await start([acme(100)]);
    const [{ id: question } = { id: '' }] = await questions(id);
    const grant = await request();
    await ai.runs.decide(question, 'approve', { by: 'ben' });
    const first = await ai.runs.decide(question, 'approve', { by: 'ben', grant });
    const second = await ai.runs.decide(question, 'approve', { by: 'ben', grant });
    expect(grantIn(second)?.id).toBe(grantIn(first)?.id);
    expect((await ai.grants.list()).items).toHaveLength(1);
    const wider = ai.grants.give(question, { ...grant, uses: 9 }, { by: 'ben' });
    await expect(wider).rejects.toMatchObject({ code: 'grant-exists' });
  });

  test('with an edit covers the edited input', async () => {
    const { ai, start, questions, request } = openPayer(memoryStore());
    const { id } = await start([acme(900)]);
    const [question] = await questions(id);
    const edit = { type: 'approve', edit: acme(90) } as const;
    const grant = grantIn(await ai.runs.decide(question as RunRequest, edit, { by: 'ben', grant: await request() }));
    expect(await ai.grants.get(grant?.id ?? '')).toMatchObject({
      givenBy: 'ben',
      serves: { people: ['ann'], agents: ['clerk'] },
    });
  });
});

describe('a grant never reaches further than the decision it came with', () => {
  const twoOf = { quorum: [{ of: { people: ['ben', 'eva'] }, count: 2 }], grants: { uses: 5, expiresWithin: '1d' } };

  test('only the person who settled the request can give one, once', async () => {
    const { ai, start, questions, request } = openPayer(memoryStore());
    const { id } = await start([acme(100)]);
    const [{ id: question } = { id: '' }] = await questions(id);
    const grant = await request();
    await ai.runs.decide(question, 'approve', { by: 'ben' });
    await ai.runs.wait(id);
    for (const refused of [
      ai.runs.decide(question, 'approve', { by: 'carol', grant }),
      ai.grants.give(question, grant, { by: 'carol' }),
    ])
      await expect(refused).rejects.toMatchObject({ code: 'not-allowed' });
    expect((await ai.grants.list()).items).toEqual([]);
    const given = await Promise.all([1, 2].map(() => ai.runs.decide(question, 'approve', { by: 'ben', grant })));
    expect(new Set(given.map((result) => grantIn(result)?.id)).size).toBe(1);
    expect((await ai.grants.list()).items).toHaveLength(1);
  });

  test('a vote gives none if the request is rejected in the end', async () => {
    const { ai, start, questions, request } = openPayer(memoryStore(), { needsApproval: { policy: twoOf } });
    const { id } = await start([acme(100)]);
    const [{ id: question } = { id: '' }] = await questions(id);
    await ai.runs.decide(question, 'approve', { by: 'ben', grant: await request() });
    await ai.runs.decide(question, 'reject', { by: 'eva' });
    await ai.runs.wait(id);
    expect((await ai.grants.list()).items).toEqual([]);
    expect((await start([acme(1)])).status).toBe('waiting');
  });

  test.each(['ask', 'reject'] as const)(
    'it ends if the preview of its call has changed and the call is rejected (%s)',
    async (onPreviewChange) => {
      let balance = 500;
      const config = { preview: () => ({ text: `Balance ${balance}` }), onPreviewChange };
      const { ai, start, questions, request, paid } = openPayer(memoryStore(), config);
      const { id } = await start([acme(100)]);
      const [question] = await questions(id);
      balance = 5;
      const decided = await ai.runs.decide(question as RunRequest, 'approve', { by: 'ben', grant: await request() });
      await ai.runs.wait(id);
      const [again] = await questions(id);
      if (onPreviewChange === 'ask') {
        // The approval is in question, so the grant covers nothing yet.
        expect((await start([acme(1)])).status).toBe('waiting');
        await ai.runs.decide(again as RunRequest, 'reject', { by: 'eva' });
        await ai.runs.wait(id);
      }
      expect((await start([acme(1)])).status).toBe('waiting');
      expect(paid).toEqual([]);
      const { status, revoked } = await ai.grants.get(grantIn(decided)?.id ?? '');
      expect({ status, revoked }).toMatchObject({ status: 'revoked', revoked: { by: null } });
    },
  );

  test('it never serves everyone by default', async () => {
    const { ai, clerk, give, request, questions } = openPayer(memoryStore());
    await expect(give({ serves: {} })).rejects.toMatchObject({ code: 'invalid-grant' });
    const { id } = await clerk.start(JSON.stringify([acme(100)]));
    await ai.runs.wait(id);
    const [{ id: question } = { id: '' }] = await questions(id);
    const decide = async (changes: object) =>
      ai.runs.decide(question, 'approve', { by: 'ben', grant: await request(changes) });
    await expect(decide({})).rejects.toMatchObject({
      code: 'invalid-grant',
      message: expect.stringContaining('pass `serves`'),
    });
    expect((await ai.runs.get(id)).pending).toEqual([question]);
    expect(grantIn(await decide({ serves: { people: ['ann'] } }))).toBeDefined();
    const anonymous = await clerk.start(JSON.stringify([acme(1)]));
    expect((await ai.runs.wait(anonymous.id)).status).toBe('waiting');
  });

  test('it serves nobody whose requests its giver could not approve', async () => {
    const config = { needsApproval: { policy: { notRequester: true } } };
    const { ai, start, questions, request, paid } = openPayer(memoryStore(), config);
    const { id } = await start([acme(100)], 'ann');
    const [question] = await questions(id);
    const decide = async (changes: object) =>
      ai.runs.decide(question as RunRequest, 'approve', { by: 'fay', grant: await request(changes) });
    await expect(decide({ serves: { people: ['fay'] } })).rejects.toMatchObject({ code: 'invalid-grant' });
    expect((await ai.runs.get(id)).status).toBe('waiting');
    await decide({ serves: { agents: ['clerk'] } });
    await ai.runs.wait(id);
    expect((await start([acme(1)], 'fay')).status).toBe('waiting');
    expect((await start([acme(2)], 'ann')).status).toBe('done');
    expect(paid).toEqual([acme(100), acme(2)]);
  });
});

describe('a policy', () => {
  const eva = { deciders: { people: ['ben', 'eva'] } };
  const maximum = { uses: 5, field: 'amount', each: 500, total: 1_000, expiresWithin: '1d' };

  test('sets the maximum of a grant', async () => {
    const { ai, give, start } = openPayer(memoryStore(), { needsApproval: { policy: { ...eva, grants: maximum } } });
    await expect(give({ uses: 6 })).rejects.toMatchObject({ code: 'invalid-grant' });
    await expect(give({ where: [] })).rejects.toMatchObject({ code: 'invalid-grant' });
    await expect(give({ expiresAt: Date.now() + 2 * DAY_MS })).rejects.toMatchObject({ code: 'invalid-grant' });
    await give();
    expect((await start([acme(500)])).status).toBe('done');
    expect((await ai.grants.list()).items).toHaveLength(1);
  });

  test.each([
    ['that is signed', { ...eva, signed: 'passkey' }],
    ['with a quorum', { quorum: [{ of: { people: ['ben', 'eva'] }, count: 1 }] }],
    ['that says so', { ...eva, grants: false }],
  ])('%s allows none, not even one that was given before', async (_which, policy) => {
    const store = memoryStore();
    await openPayer(store).give();
    const { give, start } = openPayer(store, { needsApproval: { policy } });
    expect((await start([acme(1)])).status).toBe('waiting');
    await expect(give({}, 'ben')).rejects.toThrow();
  });

  test('is not evaded by a grant of a person who could not approve the call', async () => {
    const store = memoryStore();
    await openPayer(store).give({ serves: { agents: ['clerk'] } }, 'ann');
    const noEyes = openPayer(store, { needsApproval: { policy: { notRequester: true } } });
    expect((await noEyes.start([acme(1)], 'ann')).status).toBe('waiting');
    expect((await noEyes.start([acme(1)], 'bob')).status).toBe('done');
    const others = openPayer(store, { needsApproval: { policy: eva } });
    expect((await others.start([acme(1)], 'bob')).status).toBe('waiting');
  });

  test('with a quorum lets the person whose vote settled give a grant, if it allows them', async () => {
    const quorum = [{ of: { people: ['ben', 'eva'] }, count: 2 }];
    const config = { needsApproval: { policy: { quorum, grants: maximum } } };
    const { ai, start, questions, request } = openPayer(memoryStore(), config);
    const { id } = await start([acme(100)]);
    const [question] = await questions(id);
    const grant = await request();
    const first = await ai.runs.decide(question as RunRequest, 'approve', { by: 'ben', grant });
    expect(first.status).toBe('waiting');
    expect((await ai.grants.list()).items).toEqual([]);
    const given = grantIn(await ai.runs.decide(question?.id ?? '', 'approve', { by: 'eva', grant }));
    expect(await ai.grants.get(given?.id ?? '')).toMatchObject({
      givenBy: 'eva',
      votes: [{ by: 'ben' }, { by: 'eva' }],
    });
    const other = ai.grants.give(question?.id ?? '', grant, { by: 'ben' });
    await expect(other).rejects.toMatchObject({ code: 'not-allowed' });
    expect((await start([acme(500)])).status).toBe('done');
  });
});

test('a simulation counts what a grant would have let through, and a suggestion follows the approved requests', async () => {
  const { ai, start, questions, request } = openPayer(memoryStore());
  const decide = async (
    payment: { to: string; amount: number },
    decision: 'approve' | 'reject' | { type: 'approve'; edit: object },
  ) => {
    const { id } = await start([payment]);
    const [question] = await questions(id);
    await ai.runs.decide(question?.id ?? '', decision, { by: 'ben' });
    await ai.runs.wait(id);
  };
  expect(await ai.grants.suggest('pay')).toMatchObject({ grant: null });
  await decide(acme(100), 'approve');
  await decide(acme(300.5), 'approve');
  await decide(acme(200), 'reject');
  await decide(acme(400), { type: 'approve', edit: acme(40) });
  await decide({ to: 'Other', amount: 1 }, 'reject');
  const { expiresAt: _expiry, ...limits } = await request({ uses: 2 });
  expect(await ai.grants.simulate({ tool: 'pay', ...limits })).toMatchObject({
    requests: 5,
    matching: 4,
    letThrough: 2,
    approved: 2,
    edited: 1,
    rejected: 1,
  });
  const suggested = await ai.grants.suggest('pay');
  expect(suggested.grant).toMatchObject({
    where: [
      { field: 'to', equals: 'ACME' },
      { field: 'amount', atLeast: 0, atMost: 300.5 },
    ],
    uses: 2,
    budget: { field: 'amount', total: 401 },
  });
  expect(suggested.simulation).toMatchObject({ matching: 3, rejected: 1, edited: 0 });
});

test('the schema of a grant is checked last and in limited steps, and one that cannot be checked so is refused', async () => {
  const store = memoryStore();
  const { ai, start, give, request, questions } = openPayer(store);
  const { id } = await start([acme(100)]);
  const [question] = await questions(id);
  for (const schema of [{ properties: { to: { pattern: '(A+)+$' } } }, { $ref: '#' }, { uniqueItems: true }])
    await expect(
      ai.runs.decide(question?.id ?? '', 'approve', { by: 'ben', grant: await request({ schema }) }),
    ).rejects.toMatchObject({ code: 'invalid-grant', message: expect.stringContaining('must not use') });
  await expect(ai.grants.simulate({ tool: 'pay', uses: 1, schema: { pattern: 'a' } })).rejects.toMatchObject({
    code: 'invalid-grant',
  });

  // An earlier version recorded a grant with such a schema. It covers nothing.
  const schema = { properties: { to: { maxLength: 4 } } };
  const grant = await give({ schema });
  const fitting = await start([acme(100)]);
  expect(fitting.status).toBe('done');
  const note = await store.notes.get('grants', grant.id);
  const events = JSON.parse(JSON.stringify(note?.value)).events;
  events[0].grant.schema = { properties: { to: { pattern: '^(A|A)*$' } } };
  const hash = events.reduce(link, shortHash(JSON.stringify(['grant', grant.id])));
  await store.notes.put('grants', grant.id, { events, hash });
  expect((await ai.grants.get(grant.id)).schema).toEqual(events[0].grant.schema);
  expect((await start([acme(100)])).status).toBe('waiting');
});
