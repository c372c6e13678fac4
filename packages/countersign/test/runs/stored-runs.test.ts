// Durable runs on the memory store: the main use cases.
import {
  approve,
  ConflictError,
  countersign,
  memoryStore,
  NotPerformed,
  type RunRequest,
  UsageError,
  z,
} from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

/** A bank with one gated tool. Each payment is recorded outside the run. */
function bank(
  script: readonly ScriptStep[],
  options: { store?: Store; clock?: () => number; expiresIn?: number } = {},
) {
  const payments: string[] = [];
  const model = scriptedModel(script);
  const { store = memoryStore(), clock } = options;
  const ai = countersign({ model, store, retry: false, ...(clock && { clock }) });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: true,
      risk: 'high',
      labels: ['money'],
      ...(options.expiresIn !== undefined && { expiresIn: options.expiresIn }),
    },
    ({ amount }, { context }) => {
      if (amount < 0) throw new NotPerformed('a negative amount');
      payments.push(`${amount} for ${String(context.user)}`);
      return { paid: amount };
    },
  );
  const ask = ai.defineInterrupt({ name: 'ask', description: 'Asks.', outputSchema: z.string() });
  const clerk = ai.defineAgent({ name: 'clerk', system: 'You are a clerk.', tools: [pay, ask] });
  return { ai, clerk, payments, store, model, runs: ai.runs };
}

const asksToPay = (amount: number, ref = 'p') => ({ calls: [{ name: 'pay', ref, input: { amount } }] });
const only = <T>(items: readonly T[]): T => {
  expect(items).toHaveLength(1);
  return items[0] as T;
};

describe('a stored run', () => {
  test('starts, waits for a person, is decided, and ends', async () => {
    const { clerk, runs, payments } = bank([asksToPay(5), 'Paid.']);
    const { id } = await clerk.start('Pay 5.', { by: 'ann', context: { user: 'ann' } });
    const waiting = await runs.wait(id);
    expect(waiting).toMatchObject({ status: 'waiting', agent: 'clerk', startedBy: 'ann' });
    const card = only((await runs.requests()).items);
    expect(card).toMatchObject({
      runId: id,
      tool: 'pay',
      kind: 'approval',
      input: { amount: 5 },
      risk: 'high',
      labels: ['money'],
      settledAt: null,
    });
    expect(payments).toEqual([]);
    const decided = await runs.decide(card.id, 'approve', {
      by: 'bob',
      channel: 'inbox',
      note: 'fine',
      context: { user: 'ann' },
    });
    expect(decided).toMatchObject({ by: 'bob', channel: 'inbox', note: 'fine', decision: { type: 'approve' } });
    const done = await runs.wait(id, { until: 'end' });
    expect(done).toMatchObject({ status: 'done', finishReason: 'stop', text: 'Paid.' });
    expect(payments).toEqual(['5 for ann']);
    expect((await runs.requests()).items).toEqual([]);
    expect(only((await runs.requests({ settled: true })).items).settlement).toMatchObject({
      by: 'bob',
      decision: { type: 'approve' },
    });
    expect(await runs.verify(id)).toEqual({ ok: true, events: done.version, problem: null });
  });

  test('a repeated decision returns the recorded outcome, and a different one names the approver', async () => {
    const { clerk, runs, payments } = bank([asksToPay(5), 'Paid.']);
    const { id } = await clerk.start('Pay 5.');
    await runs.wait(id);
    const card = only((await runs.requests()).items);
    const first = await runs.decide(card.id, 'approve', { by: 'bob' });
    expect(await runs.decide(card.id, { type: 'approve' }, { by: 'eve' })).toEqual(first);
    const late = await runs
      .decide(card.id, { type: 'reject', reason: 'no' }, { by: 'eve' })
      .catch((error: unknown) => error);
    expect(late).toBeInstanceOf(ConflictError);
    expect(late).toMatchObject({ code: 'already-decided', message: expect.stringContaining('decided by bob') });
    await runs.wait(id, { until: 'end' });
    expect(payments).toHaveLength(1);
  });

  test('fifty decisions at once: one wins, the tool runs once', async () => {
    const { clerk, runs, payments } = bank([asksToPay(5), 'Done.']);
    const { id } = await clerk.start('Pay 5.');
    await runs.wait(id);
    const card = only((await runs.requests()).items);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        runs.decide(card.id, index % 2 ? 'approve' : { type: 'reject', reason: 'no' }, { by: `${index}` }),
      ),
    );
    const decided = outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' && outcome.value.status === 'settled' ? [outcome.value] : [],
    );
    expect(decided).toHaveLength(25);
    expect(new Set(decided.map(({ by }) => by)).size).toBe(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'already-decided' });
    await runs.wait(id, { until: 'end' });
    expect(payments).toHaveLength(decided[0] && JSON.stringify(decided[0].decision).includes('approve') ? 1 : 0);
  });

  test('an approval delivered twice does not decide the next question', async () => {
    const { clerk, runs, payments } = bank([asksToPay(5), asksToPay(900, 'q'), 'Done.']);
    const { id } = await clerk.start('Pay.');
    await runs.wait(id);
    const first = only((await runs.requests()).items);
    await runs.decide(first.id, 'approve');
    await runs.settled();
    await runs.decide(first.id, 'approve');
    await runs.settled();
    expect(payments).toHaveLength(1);
    const second = only((await runs.requests()).items);
    expect(second.input).toEqual({ amount: 900 });
    expect((await runs.get(id)).status).toBe('waiting');
  });

  test('a decision with the digest of another card is rejected', async () => {
    const { clerk, runs, payments } = bank([asksToPay(5), 'Done.']);
    const { id } = await clerk.start('Pay.');
    await runs.wait(id);
    const card = only((await runs.requests()).items);
    await expect(runs.decide(card.id, 'approve', { digest: 'other' })).rejects.toMatchObject({ code: 'outdated-card' });
    expect(payments).toEqual([]);
    await runs.decide(card.id, 'approve', { digest: card.digest });
    await runs.wait(id, { until: 'end' });
    expect(payments).toHaveLength(1);
  });

  test('an edit, a rejection with a reason and an answer each reach the model', async () => {
    const { clerk, runs, payments, model } = bank([
      {
        calls: [
          { name: 'pay', ref: 'a', input: { amount: 1 } },
          { name: 'pay', ref: 'b', input: { amount: 2 } },
          { name: 'ask', ref: 'c' },
        ],
      },
      'Done.',
    ]);
    const { id } = await clerk.start('Pay.', { context: { user: 'ann' } });
    await runs.wait(id);
    const cards = new Map((await runs.requests()).items.map((card) => [card.part.toolRequest.ref, card]));
    const card = (ref: string) => cards.get(ref) as RunRequest;
    await expect(runs.decide(card('a').id, { type: 'approve', edit: { amount: 'x' } })).rejects.toBeInstanceOf(
      UsageError,
    );
    await expect(runs.decide(card('c').id, { type: 'respond', output: 5 })).rejects.toMatchObject({
      code: 'invalid-resume',
    });
    await runs.decide(card('b').id, { type: 'reject', reason: 'too much' });
    await runs.decide(card('a').id, { type: 'approve', edit: { amount: 7 } }, { by: 'bob', context: { user: 'ann' } });
    await runs.settled();
    expect((await runs.get(id)).status).toBe('waiting');
    await runs.decide(card('c').id, { type: 'respond', output: 'blue' });
    const done = await runs.wait(id, { until: 'end' });
    expect(payments).toEqual(['7 for ann']);
    expect(
      done.messages
        .find((message) => message.role === 'tool')
        ?.content.map((part) => 'toolResponse' in part && part.toolResponse.output),
    ).toEqual([{ paid: 7 }, expect.stringContaining('too much'), 'blue']);
    expect(model.requests.at(-1)?.messages.at(-1)?.role).toBe('tool');
  });

  test('a worker applies an expired deadline, which rejects by default', async () => {
    let now = 1_000;
    const { clerk, runs, payments } = bank([asksToPay(5), 'Too late.'], {
      store: memoryStore({ now: () => now }),
      clock: () => now,
      expiresIn: 60_000,
    });
    const { id } = await clerk.start('Pay.');
    await runs.wait(id);
    const card = only((await runs.requests()).items);
    expect(card.expiresAt).toBe(61_000);
    now = 62_000;
    await expect(runs.decide(card.id, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
    const worker = runs.work({ pollMs: 5 });
    const done = await runs.wait(id, { until: 'end' });
    await worker.stop();
    expect(done.text).toBe('Too late.');
    expect(payments).toEqual([]);
    expect(only((await runs.requests({ settled: true })).items).settlement).toMatchObject({ by: 'deadline' });
  });

  test('cancelling ends the run and withdraws its questions', async () => {
    const { clerk, runs } = bank([asksToPay(5)]);
    const { id } = await clerk.start('Pay.');
    await runs.wait(id);
    const card = only((await runs.requests()).items);
    expect(await runs.cancel(id, { by: 'ann' })).toMatchObject({ status: 'cancelled' });
    expect((await runs.requests()).items).toEqual([]);
    await expect(runs.decide(card.id, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
    expect(await runs.cancel(id)).toMatchObject({ status: 'cancelled' });
  });

  test('a run that failed in the model can be driven again, and no completed tool runs twice', async () => {
    const { clerk, runs, payments } = bank([asksToPay(5), { fail: { message: '503', retryable: true } }, 'Paid.']);
    const { id } = await clerk.start('Pay.');
    await runs.wait(id);
    await runs.decide(only((await runs.requests()).items).id, 'approve');
    expect(await runs.wait(id, { until: 'end' })).toMatchObject({
      status: 'failed',
      error: { code: 'provider-failed', message: '503', retryable: true },
    });
    await runs.drive(id);
    await runs.settled();
    expect(await runs.get(id)).toMatchObject({ status: 'done', text: 'Paid.' });
    expect(payments).toHaveLength(1);
  });

  test('can be followed live from any event', async () => {
    const { clerk, runs } = bank([asksToPay(5), 'Paid.']);
    const { id } = await clerk.start('Pay.');
    const seen: string[] = [];
    const following = (async () => {
      for await (const event of runs.events(id)) seen.push(`${event.seq} ${event.type}`);
    })();
    await runs.wait(id);
    await runs.decide(only((await runs.requests()).items).id, 'approve');
    await following;
    expect(seen).toEqual([
      '1 user-spoke',
      '2 model-replied',
      '3 call-interrupted',
      '4 decision-made',
      '5 call-started',
      '6 call-settled',
      '7 model-replied',
    ]);
    const late: string[] = [];
    for await (const event of runs.events(id, { after: 5 })) late.push(event.type);
    expect(late).toEqual(['call-settled', 'model-replied']);
  });

  test('a conversation continues from the store, without messages from the caller', async () => {
    const { clerk, runs } = bank(['Hello.', asksToPay(5), 'Paid.', 'Bye.']);
    const chat = clerk.chat({ runId: 'talk' });
    expect((await chat.send('Hi.')).text).toBe('Hello.');
    const paused = await chat.send('Pay 5.');
    expect(paused.finishReason).toBe('interrupted');
    const elsewhere = clerk.chat({ runId: 'talk' });
    expect((await elsewhere.send({ resume: { approve: paused.interrupts.map((part) => approve(part)) } })).text).toBe(
      'Paid.',
    );
    expect((await clerk.generate({ runId: 'talk', prompt: 'Bye.' })).text).toBe('Bye.');
    expect((await runs.get('talk')).messages.filter((message) => message.role === 'user')).toHaveLength(3);
  });

  test('the same id cannot be started twice', async () => {
    const { clerk, runs } = bank(['One.', 'Two.']);
    await clerk.start('One.', { runId: 'x' });
    await expect(clerk.start('Two.', { runId: 'x' })).rejects.toMatchObject({ code: 'run-exists' });
    expect((await runs.wait('x', { until: 'end' })).text).toBe('One.');
    await expect(clerk.start('One.', { runId: 'a:b' })).rejects.toMatchObject({ code: 'invalid-options' });
  });

  test('unknown runs and questions are rejected', async () => {
    const { runs } = bank([]);
    await expect(runs.get('nope')).rejects.toMatchObject({ code: 'unknown-run' });
    await expect(runs.decide('nope:x', 'approve')).rejects.toMatchObject({ code: 'unknown-request' });
    await expect(runs.decide('x', 'approve')).rejects.toMatchObject({ code: 'unknown-request' });
    expect(() => countersign().runs).toThrow('Runs live in a store');
  });
});

describe('a stored run, more cases', () => {
  test('cancelling aborts a running tool and calls the model no more', async () => {
    const store = memoryStore();
    const model = scriptedModel([{ calls: [{ name: 'slow' }] }, 'Never said.']);
    // It is aborted at once, not at the next renewal of the claim.
    const ai = countersign({ model, store, leaseMs: 3_600_000, retry: false });
    const aborts: unknown[] = [];
    const slow = ai.defineTool(
      { name: 'slow', description: '' },
      (_input, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve(void aborts.push('stop')), { once: true }),
        ),
    );
    const clerk = ai.defineAgent({ name: 'clerk', tools: [slow] });
    const { id } = await clerk.start('Go.');
    for await (const event of ai.runs.events(id)) if (event.type === 'call-started') break;
    expect(await ai.runs.cancel(id, { by: 'ann' })).toMatchObject({ status: 'cancelled' });
    await ai.runs.settled();
    expect(aborts).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
    expect((await ai.runs.get(id)).status).toBe('cancelled');
  });

  test('a question inside a sub-agent keeps its risk and labels, and its deadline counts', async () => {
    let now = 1_000;
    const store = memoryStore({ now: () => now });
    const ai = countersign({ store, clock: () => now, retry: false });
    const paid: number[] = [];
    const pay = ai.defineTool(
      { name: 'pay', description: '', needsApproval: true, risk: 'high', labels: ['money'], expiresIn: 500 },
      () => paid.push(1),
    );
    const payer = ai.defineAgent({
      name: 'payer',
      model: scriptedModel([{ calls: [{ name: 'pay' }] }, 'Not paid.']),
      tools: [pay],
    });
    const clerk = ai.defineAgent({
      name: 'clerk',
      model: scriptedModel([{ calls: [{ name: 'payer', input: { prompt: 'Pay.' } }] }, 'Sorry.']),
      tools: [payer],
    });
    const { id } = await clerk.start('Pay.');
    await internalsOf(ai.runs).rested(id);
    expect(only((await ai.runs.requests()).items)).toMatchObject({
      tool: 'pay',
      risk: 'high',
      labels: ['money'],
      expiresAt: 1_500,
    });
    now = 2_000;
    const worker = ai.runs.work({ pollMs: 5 });
    expect((await ai.runs.wait(id, { until: 'end' })).text).toBe('Sorry.');
    await worker.stop();
    expect(paid).toEqual([]);
  });

  test('a chat decision is recorded with its edit, and its stream shows the question', async () => {
    const { clerk, runs, payments } = bank([asksToPay(5), 'Paid.']);
    const chat = clerk.chat({ runId: 'talk', by: 'ann' });
    const first = chat.sendStream('Pay 5.');
    const chunks: string[] = [];
    for await (const chunk of first.stream) chunks.push(chunk.type);
    expect(chunks).toContain('interrupt');
    const [part] = (await first.response).interrupts;
    if (!part) throw new Error('Expected a question.');
    await chat.send({ resume: { approve: approve(part, { edit: { amount: 7 }, by: 'bob', note: 'less' }) } });
    expect(payments).toHaveLength(1);
    const card = only((await runs.requests({ settled: true })).items);
    expect(card.settlement).toMatchObject({
      decision: { type: 'approve', edit: { amount: 7 } },
      by: 'ann',
      note: 'less',
    });
    expect((await runs.get('talk')).startedBy).toBe('ann');
    await expect(runs.decide(card.id, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
  });

  test('a decision without a context uses contextFor', async () => {
    const store = memoryStore();
    const seen: unknown[] = [];
    const ai = countersign({
      model: scriptedModel([asksToPay(5), 'Done.']),
      store,
      contextFor: ({ startedBy }) => ({ user: startedBy }),
    });
    const pay = ai.defineTool(
      { name: 'pay', description: '', needsApproval: true },
      (_input, { context }) => void seen.push(context),
    );
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
    const { id } = await clerk.start('Pay.', { by: 'ann' });
    await ai.runs.decide(only((await internalsOf(ai.runs).rested(id)).pending), 'approve');
    await internalsOf(ai.runs).rested(id);
    expect(seen).toEqual([{ user: 'ann' }]);
  });

  test('a runId without an agent is rejected', async () => {
    const { ai } = bank([]);
    await expect(ai.generate({ prompt: 'Hi.', runId: 'x' })).rejects.toMatchObject({ code: 'invalid-options' });
  });

  test.each([
    ['before its commit point runs again', false, ['tried', 'tried', 'paid'], 'Done.'],
    ['after its commit point is asked about', true, ['tried'], undefined],
  ])('a committing tool whose process dies %s', async (_name, committed, expected, text) => {
    let now = 1_000;
    const store = memoryStore({ now: () => now });
    const log: string[] = [];
    const open = (dies: boolean) => {
      const ai = countersign({
        model: scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : asksToPay(5))),
        store,
        clock: () => now,
        retry: false,
      });
      const pay = ai.defineTool({ name: 'pay', description: '', commits: true }, async (_input, { commitPoint }) => {
        log.push('tried');
        if (dies && !committed) await new Promise(() => undefined);
        await commitPoint();
        if (dies) await new Promise(() => undefined);
        log.push('paid');
        return 'paid';
      });
      return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
    };
    const dead = open(true);
    const { id } = await dead.clerk.start('Pay.');
    const last = committed ? 'call-committed' : 'call-started';
    for await (const event of dead.runs.events(id)) if (event.type === last) break;
    now += 60_000;
    const { runs } = open(false);
    await runs.drive(id);
    await runs.settled();
    expect(log).toEqual(expected);
    const view = await runs.get(id);
    if (text === undefined) expect(only((await runs.requests()).items).kind).toBe('doubt');
    else expect(view.text).toBe(text);
  });
});
