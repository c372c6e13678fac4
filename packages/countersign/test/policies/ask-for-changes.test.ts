// Asking for changes: the request ends like a rejected one, the model gets the comment, and its next call asks as the next round.
import {
  type CountersignOptions,
  countersign,
  evidenceText,
  type Json,
  memoryStore,
  verifyEvidence,
  z,
} from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { PLACES, type Place, rolesOf, TWO } from './bank.ts';

const revise = (comment: string) => ({ type: 'revise', comment }) as const;
const TOO_MUCH = 'Only the open part, 40.';

type Options = Partial<CountersignOptions> & {
  readonly amounts?: readonly (number | null)[];
  readonly needsApproval?: Parameters<ReturnType<typeof countersign>['defineTool']>[0]['needsApproval'];
  readonly place?: Place;
};

/** An agent that pays these amounts, one after the other, whatever comes of each. Null: it answers instead. */
function openBank({
  amounts = [100, 40],
  needsApproval = true,
  place = 'root',
  store = memoryStore(),
  ...options
}: Options = {}) {
  const paid: Json[] = [];
  const ai = countersign({ store: store as Store, retry: false, people: { rolesOf }, ...options });
  const inputSchema = z.object({ amount: z.number(), currency: z.string().default('EUR') });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval }, async (input) => {
    paid.push(input);
    return 'paid';
  });
  let asked = 0;
  const model = scriptedModel(() => {
    const amount = amounts[asked++] ?? null;
    return amount === null ? 'Done.' : { calls: [{ name: 'pay', ref: `pay-${asked}`, input: { amount } }] };
  });
  const clerk = ai.defineAgent({ name: place === 'root' ? 'bank' : 'clerk', model, tools: [pay] });
  const talk = ai.defineTool(
    { name: 'talk', description: '', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { resumed, interrupt }) => {
      const said = await ai.generate({ tools: [pay], model, ...((resumed as object | undefined) ?? { prompt }) });
      if (said.interrupts.length > 0) interrupt(said);
      return said.text;
    },
  );
  const inner = place === 'sub-agent' ? clerk : talk;
  const outer = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Done.'
      : { calls: [{ name: inner.name, ref: 'inner', input: { prompt: 'Pay.' } }] },
  );
  const bank = place === 'root' ? clerk : ai.defineAgent({ name: 'bank', model: outer, tools: [inner] });
  const pending = async () => {
    await internalsOf(ai.runs).rested('run');
    const { items } = await ai.runs.requests();
    const [card] = items;
    if (!card || items.length > 1) throw new Error(`Expected one request, found ${items.length}.`);
    return card;
  };
  const ask = async () => {
    await bank.start('Pay.', { runId: 'run', by: 'asker' });
    return pending();
  };
  return { ai, runs: ai.runs, paid, bank, ask, pending };
}

const said = (of: unknown) => JSON.stringify(of);

describe.each(PLACES)('changes asked for (%s)', (place) => {
  test('nothing runs, the model gets the comment, and its next call is the second round', async () => {
    const { runs, ask, pending, paid } = openBank({ place });
    const first = await ask();
    expect(first.previous).toBeNull();
    expect(await runs.decide(first.id, revise(TOO_MUCH), { by: 'anna', digest: first.digest })).toMatchObject({
      status: 'settled',
      decision: revise(TOO_MUCH),
      by: 'anna',
    });
    const second = await pending();
    expect(second.id).not.toBe(first.id);
    expect(second.previous).toEqual({
      requestId: first.id,
      input: { amount: 100, currency: 'EUR' },
      comment: TOO_MUCH,
      by: 'anna',
      round: 1,
    });
    expect(await runs.request(first.id)).toMatchObject({
      settlement: { decision: revise(TOO_MUCH) },
      outcome: { state: 'not-run', why: 'changes-asked' },
    });
    const { events } = await runs.evidence('run');
    expect(said(events)).toContain('pay was sent back: a person asks for changes. It did not run. Call pay again');
    expect(paid).toEqual([]);
    await runs.decide(second.id, 'approve', { by: 'anna', digest: second.digest });
    await runs.wait('run');
    expect(paid).toEqual([{ amount: 40, currency: 'EUR' }]);
    expect(await runs.verify('run')).toMatchObject({ ok: true });
    expect(await verifyEvidence(evidenceText(await runs.evidence('run')))).toMatchObject({ ok: true });
  });

  test('a third round follows the second', async () => {
    const { runs, ask, pending } = openBank({ place, amounts: [100, 60, 40] });
    await runs.decide((await ask()).id, revise('Less.'), { by: 'anna' });
    const second = await pending();
    await runs.decide(second.id, revise('Still less.'), { by: 'ben' });
    expect((await pending()).previous).toMatchObject({
      requestId: second.id,
      input: { amount: 60 },
      comment: 'Still less.',
      by: 'ben',
      round: 2,
    });
  });
});

test('after the second round is approved, another call of the tool is a request of its own', async () => {
  const { runs, ask, pending } = openBank({ amounts: [100, 40, 7] });
  await runs.decide((await ask()).id, revise(TOO_MUCH));
  await runs.decide((await pending()).id, 'approve');
  expect((await pending()).previous).toBeNull();
});

test('the same decision again returns the recorded one; another comment, or an approval, is refused', async () => {
  const { runs, ask, pending, paid } = openBank();
  const { id } = await ask();
  const [one, two] = await Promise.all([runs.decide(id, revise('Less.')), runs.decide(id, revise('Less.'))]);
  expect(one).toMatchObject({ status: 'settled', requestId: id, decision: revise('Less.') });
  expect(two).toMatchObject({ status: 'settled', requestId: id, decision: revise('Less.') });
  await pending();
  const late = { code: 'already-decided' };
  await expect(runs.decide(id, revise('More.'))).rejects.toMatchObject(late);
  await expect(runs.decide(id, 'approve')).rejects.toMatchObject(late);
  expect(paid).toEqual([]);
});

test('an approval and a request for changes at the same moment: one of them counts', async () => {
  for (let round = 0; round < 5; round++) {
    const { runs, ask, paid } = openBank({ amounts: [100] });
    const { id } = await ask();
    const both = [runs.decide(id, 'approve', { by: 'anna' }), runs.decide(id, revise('Less.'), { by: 'ben' })];
    const [approved, sentBack] = await Promise.allSettled(both);
    await runs.wait('run');
    expect([approved?.status, sentBack?.status].sort()).toEqual(['fulfilled', 'rejected']);
    expect(paid).toHaveLength(approved?.status === 'fulfilled' ? 1 : 0);
  }
});

test('without a comment it says nothing, and nothing is decided', async () => {
  const { runs, ask } = openBank();
  const { id } = await ask();
  for (const comment of ['', '  ', 7, undefined, 'x'.repeat(2_001)])
    await expect(runs.decide(id, { type: 'revise', comment } as never)).rejects.toMatchObject({
      code: 'invalid-decision',
    });
  await expect(runs.decide(id, { ...revise('Less.'), edit: { amount: 1 } } as never)).rejects.toMatchObject({
    code: 'invalid-decision',
  });
  expect(await runs.request(id)).toMatchObject({ settledAt: null });
});

test('a question, and a call whose outcome is unknown, cannot be sent back', async () => {
  const ai = countersign({ store: memoryStore(), retry: false });
  const question = ai.defineInterrupt({
    name: 'pick',
    description: '',
    inputSchema: z.object({}),
    outputSchema: z.string(),
  });
  const agent = ai.defineAgent({
    name: 'asks',
    model: scriptedModel([{ calls: [{ name: 'pick', input: {} }] }, 'Done.']),
    tools: [question],
  });
  await agent.start('Go.', { runId: 'run' });
  await internalsOf(ai.runs).rested('run');
  const { items } = await ai.runs.requests();
  await expect(ai.runs.decide(items[0]?.id ?? '', revise('Ask differently.'))).rejects.toMatchObject({
    code: 'invalid-resume',
  });
});

describe('policies', () => {
  test('with two votes needed, one person sends it back, and all votes are needed for the next round', async () => {
    const { runs, ask, pending, paid } = openBank({ needsApproval: { policy: TWO } });
    const { id } = await ask();
    await runs.decide(id, 'approve', { by: 'ben' });
    expect(await runs.decide(id, revise(TOO_MUCH), { by: 'anna' })).toMatchObject({ status: 'settled' });
    const second = await pending();
    expect(second.progress).toMatchObject({ votes: [], missing: [{ count: 2 }] });
    expect(await runs.decide(second.id, 'approve', { by: 'ben' })).toMatchObject({ status: 'waiting' });
    expect(paid).toEqual([]);
    await runs.decide(second.id, 'approve', { by: 'cara' });
    await runs.wait('run');
    expect(paid).toMatchObject([{ amount: 40 }]);
    expect(await verifyEvidence(evidenceText(await runs.evidence('run')))).toMatchObject({ ok: true });
  });

  test('where a majority must be against, one request for changes waits', async () => {
    const policy = { quorum: [{ of: { roles: ['finance'] }, count: 3 }], veto: 'majority' } as const;
    const { runs, ask } = openBank({ needsApproval: { policy } });
    const { id } = await ask();
    expect(await runs.decide(id, revise('Less.'), { by: 'anna' })).toMatchObject({ status: 'waiting' });
    expect(await runs.decide(id, revise('Less.'), { by: 'ben' })).toMatchObject({ status: 'settled' });
  });

  test('with four eyes, a person who asked for changes cannot approve the next rounds: their words led to them', async () => {
    const policy = { deciders: { roles: ['finance'] }, notRequester: true } as const;
    const { runs, ask, pending, paid } = openBank({ amounts: [100, 60, 40], needsApproval: { policy } });
    await runs.decide((await ask()).id, revise('Less.'), { by: 'anna' });
    const second = await pending();
    expect(second.requesters).toEqual(['asker', 'anna']);
    await expect(runs.decide(second.id, 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'not-allowed' });
    await runs.decide(second.id, revise('Still less.'), { by: 'ben' });
    const third = await pending();
    for (const by of ['anna', 'ben'])
      await expect(runs.decide(third.id, 'approve', { by })).rejects.toMatchObject({ code: 'not-allowed' });
    expect(paid).toEqual([]);
    await runs.decide(third.id, 'approve', { by: 'cara' });
    await runs.wait('run');
    expect(paid).toMatchObject([{ amount: 40 }]);
    expect(await verifyEvidence(evidenceText(await runs.evidence('run')))).toMatchObject({ ok: true });
  });

  test('a person whom the policy does not name cannot ask for changes', async () => {
    const { runs, ask } = openBank({ needsApproval: { policy: { deciders: { roles: ['cfo'] } } } });
    const { id } = await ask();
    await expect(runs.decide(id, revise('Less.'), { by: 'anna' })).rejects.toMatchObject({ code: 'not-allowed' });
  });
});

describe('nothing lets the revised call run silently', () => {
  test('a gate that asks only above 50 asks about the smaller call, and the people of the first request decide', async () => {
    const policy = { deciders: { roles: ['cfo'] } } as const;
    const { runs, ask, pending, paid } = openBank({
      needsApproval: ({ amount }: { amount: number }) => (amount > 50 ? { policy } : false),
    } as Options);
    await runs.decide((await ask()).id, revise(TOO_MUCH), { by: 'cara' });
    const second = await pending();
    expect(second).toMatchObject({ input: { amount: 40 }, policies: [{ deciders: { roles: ['cfo'] } }] });
    await expect(runs.decide(second.id, 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'not-allowed' });
    expect(paid).toEqual([]);
  });

  test('a rule that asks only above 50 asks about the smaller call', async () => {
    const rules = [{ where: [{ field: 'amount', above: 50 }], then: 'ask' }] as never;
    const { runs, ask, pending, paid } = openBank({ rules, needsApproval: false, amounts: [100, 40, 30] } as Options);
    await runs.decide((await ask()).id, revise(TOO_MUCH));
    const second = await pending();
    expect(second.previous).toMatchObject({ comment: TOO_MUCH });
    expect(paid).toEqual([]);
    await runs.decide(second.id, 'approve');
    await runs.wait('run');
    expect(paid).toMatchObject([{ amount: 40 }, { amount: 30 }]);
  });

  test('a grant does not let it run, and lets the call after it run', async () => {
    const { runs, ask, pending, paid } = openBank({ amounts: [10, 100, 40, 30] });
    const grant = { where: [{ field: 'amount', atMost: 50 }], uses: 5, expiresAt: Date.now() + 3_600_000 };
    await runs.decide((await ask()).id, 'approve', { by: 'anna', grant } as never);
    const big = await pending();
    expect(big.input).toMatchObject({ amount: 100 });
    await runs.decide(big.id, revise(TOO_MUCH), { by: 'anna' });
    const second = await pending();
    expect(second).toMatchObject({ input: { amount: 40 }, previous: { requestId: big.id } });
    await runs.decide(second.id, 'approve', { by: 'anna' });
    await runs.wait('run');
    expect(paid).toMatchObject([{ amount: 10 }, { amount: 40 }, { amount: 30 }]);
  });

  test('a message of the user in between changes nothing: the next call is the second round', async () => {
    const { runs, bank, ask, pending } = openBank({ amounts: [100, null, 40] });
    await runs.decide((await ask()).id, revise(TOO_MUCH), { by: 'anna' });
    await runs.wait('run');
    await bank.generate({ runId: 'run', prompt: 'Try 40.', by: 'asker' });
    expect((await pending()).previous).toMatchObject({ comment: TOO_MUCH, round: 1 });
  });
});

test('an edit of the second round keeps what was asked for before', async () => {
  const { runs, ask, pending } = openBank({ needsApproval: { policy: TWO } });
  await runs.decide((await ask()).id, revise(TOO_MUCH), { by: 'anna' });
  const second = await pending();
  await runs.decide(second.id, { type: 'approve', edit: { amount: 39 } }, { by: 'anna' });
  expect(await pending()).toMatchObject({ input: { amount: 39 }, previous: { comment: TOO_MUCH, round: 1 } });
});

test('another process that reads the record asks as the second round', async () => {
  const store = sqliteStore(':memory:');
  const one = openBank({ store });
  const first = await one.ask();
  await one.runs.decide(first.id, revise(TOO_MUCH), { by: 'anna', drive: false });
  const other = openBank({ store, amounts: [40] });
  await other.runs.drive('run');
  expect((await other.pending()).previous).toMatchObject({ requestId: first.id, comment: TOO_MUCH });
});
