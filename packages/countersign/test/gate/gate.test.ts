// The gate for calls that are not part of a run: asked once per key, decided in the record, run at most once.
import {
  countersign,
  type Gate,
  type GateResult,
  gateText,
  memoryStore,
  NotPerformed,
  type ToolDescription,
  z,
} from 'countersign';
import type { Store } from 'countersign/store';
import { expect, test } from 'vitest';

type Payment = { to: string; amount: number };
const ACME: Payment = { to: 'ACME', amount: 950 };

type ToolOptions = Parameters<ReturnType<typeof countersign>['defineTool']>[0];

/** A process with the tool `pay`: `paid` has what it did. */
function openProcess(store: Store = memoryStore(), options: Partial<ToolOptions> = {}, leaseMs = 7_500) {
  const paid: Payment[] = [];
  const ai = countersign({ store, leaseMs });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      outputSchema: z.any(),
      ...(options as object),
    },
    async (input) => {
      paid.push(input as Payment);
      return { paid: paid.length };
    },
  );
  return { ai, paid, pay, gate: ai.gate(pay) as Gate<Payment> };
}

function pendingId(result: GateResult): string {
  expect(result.status).toBe('pending');
  return 'id' in result ? result.id : '';
}

test('a process that only has the record knows the risk of a tool that always asks', async () => {
  const store = memoryStore();
  const { gate } = openProcess(store, { needsApproval: { message: 'Check the payee.', risk: 'high' } });
  const id = pendingId(await gate.request(ACME, { key: 'invoice-7', by: 'ada' }));
  const { runs } = countersign({ store });
  expect(await runs.request(id)).toMatchObject({ risk: 'high', payload: { message: 'Check the payee.' } });
  await runs.decide(id, { type: 'approve', edit: { ...ACME, amount: 900 } }, { by: 'bea' });
  expect(await gate.read({ key: 'invoice-7' })).toMatchObject({ status: 'approved', input: { amount: 900 } });
});

test('a call is asked once per key, and runs once after it is approved', async () => {
  const { ai, gate, paid } = openProcess();
  const first = await gate.request(ACME, { key: 'invoice-7', by: 'ada', run: true });
  const id = pendingId(first);
  expect(await gate.request(ACME, { key: 'invoice-7' })).toEqual(first);
  expect((await ai.runs.requests()).items).toHaveLength(1);
  await ai.runs.decide(id, 'approve', { by: 'bea' });
  await ai.runs.settled();
  expect(paid).toEqual([]);
  expect(await gate.request(ACME, { key: 'invoice-7' })).toMatchObject({ status: 'approved', input: ACME });
  const done = { status: 'done', runId: first.runId, input: ACME, output: { paid: 1 } };
  const callers = [1, 2, 3].map(() => gate.request(ACME, { key: 'invoice-7', run: true }));
  expect(await Promise.all(callers)).toEqual([done, done, done]);
  expect(await gate.request(ACME, { key: 'invoice-7', run: true })).toEqual(done);
  expect(paid).toEqual([ACME]);
  expect(await ai.runs.verify(first.runId)).toMatchObject({ ok: true });
});

test('the same key with another input is a conflict, and nothing is asked', async () => {
  const { ai, gate } = openProcess();
  await gate.request(ACME, { key: 'k' });
  await expect(gate.request({ ...ACME, amount: 1 }, { key: 'k' })).rejects.toMatchObject({ code: 'gate-conflict' });
  await expect(gate.request({ to: 'ACME' } as never, { key: 'l' })).rejects.toMatchObject({ code: 'invalid-request' });
  await expect(gate.request(ACME, {} as never)).rejects.toMatchObject({ code: 'invalid-options' });
  expect((await ai.runs.requests()).items).toHaveLength(1);
});

test('an edited call runs with the edit, a rejected one never', async () => {
  const { ai, gate, paid } = openProcess();
  const edited = { to: 'ACME', amount: 0 };
  const one = gate.run(ACME, { key: 'one' });
  const two = gate.run(ACME, { key: 'two' });
  await expect.poll(async () => (await ai.runs.requests()).items).toHaveLength(2);
  await ai.runs.decide(pendingId(await gate.read({ key: 'one' })), { type: 'approve', edit: edited });
  await ai.runs.decide(pendingId(await gate.read({ key: 'two' })), { type: 'reject', reason: 'too much' });
  expect(await one).toMatchObject({ status: 'done', input: edited });
  expect(await two).toMatchObject({ status: 'rejected', reason: 'too much' });
  expect(await gate.request(ACME, { key: 'two', run: true })).toMatchObject({ status: 'rejected' });
  expect(paid).toEqual([edited]);
});

test('a call that needs no approval may run at once, but only if its caller says so', async () => {
  const { ai, gate, paid } = openProcess(undefined, { needsApproval: ({ amount }: Payment) => amount > 100 } as never);
  const small = { to: 'ACME', amount: 5 };
  expect(await gate.request(small, { key: 's' })).toMatchObject({ status: 'approved', input: small });
  await ai.runs.settled();
  expect(paid).toEqual([]);
  expect(await gate.request(small, { key: 's', run: true })).toMatchObject({ status: 'done' });
  pendingId(await gate.request(ACME, { key: 'l' }));
  expect(paid).toEqual([small]);
});

test('outputs that are false, zero, empty or null are outputs', async () => {
  const { ai, gate } = openProcess();
  for (const output of [0, '', false, null]) {
    const key = `falsy ${output}`;
    const id = pendingId(await gate.request(ACME, { key }));
    await ai.runs.decide(id, 'approve');
    let runs = 0;
    const run = () => {
      runs += 1;
      return output;
    };
    expect(await gate.request(ACME, { key, run })).toMatchObject({ status: 'done', output });
    expect(await gate.request(ACME, { key, run })).toMatchObject({ status: 'done', output });
    expect(runs).toBe(1);
  }
});

test('a body that fails is recorded, and does not run again', async () => {
  const { ai, gate } = openProcess();
  let tries = 0;
  const failing = (error: Error) => () => {
    tries += 1;
    throw error;
  };
  for (const [key, error, mayHaveActed] of [
    ['a', new Error('timeout'), true],
    ['b', new NotPerformed('no funds'), false],
  ] as const) {
    await ai.runs.decide(pendingId(await gate.request(ACME, { key })), 'approve');
    const failed = { status: 'failed', mayHaveActed };
    expect(await gate.request(ACME, { key, run: failing(error) })).toMatchObject(failed);
    expect(await gate.request(ACME, { key, run: failing(error) })).toMatchObject(failed);
  }
  expect(tries).toBe(2);
});

test('another process finds the call by its key and runs it', async () => {
  const store = memoryStore();
  const [asking, running, inbox] = [openProcess(store), openProcess(store), countersign({ store })];
  const id = pendingId(await asking.gate.request(ACME, { key: 'k' }));
  await inbox.runs.decide(id, 'approve', { by: 'bea' });
  const results = await Promise.all([
    asking.gate.request(ACME, { key: 'k', run: true }),
    running.gate.request(ACME, { key: 'k', run: true }),
  ]);
  expect(results[0]).toMatchObject({ status: 'done' });
  expect(results[1]).toEqual(results[0]);
  expect([...asking.paid, ...running.paid]).toEqual([ACME]);
});

test('a second caller waits for the first, and learns of a doubt only once the first has lost its claim', async () => {
  const store = memoryStore();
  const [first, second] = [openProcess(store, {}, 300), openProcess(store, {}, 300)];
  await first.ai.runs.decide(pendingId(await first.gate.request(ACME, { key: 'k' })), 'approve');
  const slow = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  const run = () => {
    begun.resolve();
    return slow.promise;
  };
  const running = first.gate.request(ACME, { key: 'k', run });
  await begun.promise;
  const waiting = second.gate.request(ACME, { key: 'k', run: true });
  await new Promise((resolve) => setTimeout(resolve, 900));
  slow.resolve('paid');
  expect(await running).toMatchObject({ status: 'done', output: 'paid' });
  expect(await waiting).toMatchObject({ status: 'done', output: 'paid' });
  expect(second.paid).toEqual([]);
});

test('withdrawing closes the question, and the call never runs', async () => {
  const { ai, gate, paid } = openProcess();
  const id = pendingId(await gate.request(ACME, { key: 'k' }));
  expect(await gate.withdraw(id, { reason: 'the user went on' })).toMatchObject({ status: 'rejected' });
  expect((await ai.runs.requests()).items).toEqual([]);
  await expect(ai.runs.decide(id, 'approve')).rejects.toThrow();
  expect(await gate.request(ACME, { key: 'k', run: true })).toMatchObject({ status: 'rejected' });
  expect(paid).toEqual([]);
});

test('waiting ends with the decision, or at its time', async () => {
  const { ai, gate } = openProcess();
  const id = pendingId(await gate.request(ACME, { key: 'k' }));
  expect(await gate.wait(id, { timeout: 30 })).toMatchObject({ status: 'pending' });
  expect(await gate.run(ACME, { key: 'k', timeout: 30 })).toMatchObject({ status: 'pending' });
  const waiting = gate.wait(id);
  await ai.runs.decide(id, 'approve');
  expect(await waiting).toMatchObject({ status: 'approved' });
  // A decision between `request` and `wait` is not missed.
  expect(await gate.wait(id)).toMatchObject({ status: 'approved' });
  await expect(gate.wait({ key: 'never asked' })).rejects.toMatchObject({ code: 'unknown-run' });
});

test('a key that looks like an id does not reach another call, and an id is never read as a key', async () => {
  const { ai, gate } = openProcess();
  const { runId } = await gate.request(ACME, { key: 'k' });
  await ai.runs.decide(pendingId(await gate.read(runId)), 'approve');
  for (const key of [runId, `${runId}:1`]) {
    const own = pendingId(await gate.request({ to: 'Eve', amount: 1 }, { key }));
    expect(await gate.read({ key })).toMatchObject({ id: own });
    expect(await gate.wait({ key }, { timeout: 1 })).toMatchObject({ id: own });
    expect(await gate.start({ key })).toMatchObject({ id: own });
    await expect(gate.finish({ key }, 't', { output: 1 })).rejects.toMatchObject({ code: 'not-granted' });
    expect(await gate.withdraw({ key })).toMatchObject({ status: 'rejected' });
  }
  expect(await gate.read({ key: 'k' })).toMatchObject({ status: 'approved', runId });
  for (const call of ['k', '', 7, null, { key: '' }, {}] as never[])
    await expect(gate.read(call)).rejects.toMatchObject({ code: 'invalid-options' });
});

test('policies, rules and grants apply', async () => {
  const store = memoryStore();
  const ai = countersign({
    store,
    rules: [{ tool: 'pay', policy: { quorum: [{ of: { people: ['ann', 'bob'] }, count: 2 }] } }],
  });
  const gate = ai.gate({ name: 'pay', title: 'Pay ACME', risk: 'high' });
  const id = pendingId(await gate.request(ACME, { key: 'k' }));
  expect(await ai.runs.decide(id, 'approve', { by: 'ann' })).toMatchObject({ status: 'waiting' });
  expect(await gate.read(id)).toMatchObject({ status: 'pending' });
  await ai.runs.decide(id, 'approve', { by: 'bob' });
  expect(await gate.read(id)).toMatchObject({ status: 'approved' });

  const granting = openProcess();
  const first = pendingId(await granting.gate.request(ACME, { key: 'k', by: 'ada' }));
  const grant = { where: [{ field: 'to', equals: 'ACME' }], uses: 1, expiresAt: Date.now() + 60_000 };
  await granting.ai.runs.decide(first, 'approve', { by: 'ann', grant: grant as never });
  expect(await granting.gate.request(ACME, { key: 'l', by: 'ada', run: true })).toMatchObject({ status: 'done' });
  pendingId(await granting.gate.request(ACME, { key: 'm', by: 'ada', run: true }));
});

test('the rules of a description ask and deny in every process, and never allow', async () => {
  const store = memoryStore();
  const tool = {
    name: 'pay',
    rules: [
      { then: 'allow' },
      { policy: { deciders: { people: ['ann'] } } },
      { where: [{ field: 'amount', above: 1_000 }], policy: { deciders: { people: ['bob'] } } },
      { where: [{ field: 'amount', above: 5_000 }], then: 'deny', reason: 'Too much.' },
    ],
  } satisfies ToolDescription;
  const id = pendingId(await countersign({ store }).gate(tool).request(ACME, { key: 'k' }));
  const { runs } = countersign({ store });
  const edited = (amount: number) => ({ type: 'approve', edit: { ...ACME, amount } }) as const;
  await expect(runs.decide(id, edited(6_000), { by: 'ann' })).rejects.toThrow('Too much.');
  await expect(runs.decide(id, 'approve', { by: 'bob' })).rejects.toMatchObject({ code: 'not-allowed' });
  expect(await runs.decide(id, edited(2_000), { by: 'ann' })).toMatchObject({ status: 'waiting' });
  const denied = countersign({ store })
    .gate(tool)
    .request({ ...ACME, amount: 6_000 }, { key: 'l' });
  expect(await denied).toMatchObject({ status: 'rejected', reason: expect.stringContaining('Too much.') });
});

test('a start is granted once; the program outside reports its result with the token', async () => {
  const ai = countersign({ store: memoryStore() });
  const gate = ai.gate({ name: 'deploy', title: 'Deploy' });
  const id = pendingId(await gate.request({ to: 'production' }, { key: 'k' }));
  expect(await gate.start(id)).toMatchObject({ status: 'pending' });
  await ai.runs.decide(id, 'approve');
  const starts = await Promise.all([1, 2, 3].map(() => gate.start(id)));
  const granted = starts.filter(({ status }) => status === 'granted');
  expect(granted).toHaveLength(1);
  const [{ token, input } = { token: '', input: null }] = granted as { token: string; input: unknown }[];
  expect(input).toEqual({ to: 'production' });
  expect(await gate.read(id)).toMatchObject({ status: 'started' });
  // The answer was lost: the same token gets it again.
  expect(await gate.start(id, { token })).toMatchObject({ status: 'granted', token });
  await expect(gate.finish(id, 'guessed', { output: 1 })).rejects.toMatchObject({ code: 'not-granted' });
  expect(await gate.finish(id, token, { output: 0 })).toMatchObject({ status: 'done', output: 0 });
  expect(await gate.finish(id, token, { output: 0 })).toMatchObject({ status: 'done', output: 0 });
  expect(await gate.start(id)).toMatchObject({ status: 'done', output: 0 });
  expect((await ai.runs.get(granted[0]?.runId ?? '')).status).toBe('done');
});

test('a start without a report becomes a doubt after its lease, which a late report settles', async () => {
  let now = Date.now();
  const ai = countersign({ store: memoryStore({ now: () => now }), clock: () => now });
  const gate = ai.gate({ name: 'deploy' });
  const id = pendingId(await gate.request({}, { key: 'k' }));
  await ai.runs.decide(id, 'approve');
  const start = await gate.start(id, { lease: 1_000 });
  now += 999;
  expect(await gate.read(id)).toMatchObject({ status: 'started' });
  now += 2;
  const doubt = await gate.read(id);
  expect(doubt).toMatchObject({ status: 'doubt' });
  expect(await gate.start(id)).toMatchObject({ status: 'doubt' });
  const token = 'token' in start ? start.token : '';
  expect(await gate.finish(id, token, { output: 'late' })).toMatchObject({ status: 'done', output: 'late' });
  expect((await ai.runs.requests()).items).toEqual([]);
});

test('a question gets its answer as the output', async () => {
  const ai = countersign({ store: memoryStore() });
  const ask = ai.defineInterrupt({
    name: 'ask',
    description: 'Asks.',
    inputSchema: z.string(),
    outputSchema: z.string(),
  });
  const gate = ai.gate(ask);
  const id = pendingId(await gate.request('Which colour?', { key: 'k' }));
  await ai.runs.decide(id, { type: 'respond', output: '' });
  expect(await gate.request('Which colour?', { key: 'k', run: true })).toMatchObject({ status: 'done', output: '' });
});

test('a gate needs a store and a name of its own', async () => {
  const ai = countersign({ store: memoryStore() });
  ai.defineAgent({ name: 'clerk' });
  expect(() => ai.gate({ name: 'pay' }, { name: 'clerk' })).toThrow('clerk is an agent');
  expect(() => countersign().gate({ name: 'pay' })).toThrow('store');
  expect(gateText('pay', { status: 'rejected', runId: 'r', reason: 'no' })).toBe('pay was not run: no');
});

test('a process that does not know the gate can decide its calls, and runs nothing', async () => {
  const store = memoryStore();
  const app = openProcess(store);
  const gate = app.ai.gate(app.pay, { name: 'bookkeeping' });
  const id = pendingId(await gate.request(ACME, { key: 'k' }));
  const inbox = countersign({ store });
  expect(await inbox.runs.decide(id, 'approve', { by: 'bea' })).toMatchObject({ status: 'settled' });
  await inbox.runs.settled();
  expect(app.paid).toEqual([]);
  expect(await gate.request(ACME, { key: 'k', run: true })).toMatchObject({ status: 'done' });
});

test.each([
  ['very many items', Array.from({ length: 150_000 }, (_, index) => index)],
  ['very many fields', Object.fromEntries(Array.from({ length: 15_000 }, (_, index) => [`field ${index}`, index]))],
  ['a very long text', 'x'.repeat(1_000_001)],
])('an input of %s is refused, and leaves no run without a card', async (_what, input) => {
  const store = memoryStore();
  const asked = countersign({ store }).gate({ name: 'import' }).request(input, { key: 'one' });
  await expect(asked).rejects.toMatchObject({ code: 'too-large', details: { status: 413, tool: 'import' } });
  expect((await store.listRuns({ limit: 9 })).items).toEqual([]);
});
