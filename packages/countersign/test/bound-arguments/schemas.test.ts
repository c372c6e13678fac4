// A call runs with the input that was shown, even if the tool's schema adds defaults or transforms it.

import {
  approve,
  type Countersign,
  countersign,
  type DecisionInput,
  interrupt,
  memoryStore,
  respond,
  type ToolConfig,
  type ToolContext,
  type ToolRequestPart,
  z,
} from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { requestCard } from 'countersign/ui';
import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

const LEASE_MS = 60_000;

type Body = (ctx: ToolContext) => unknown;

/** Versions of one program on one store, each with another input schema for `pay`. */
function versions(input: unknown) {
  let now = 1_800_000_000_000;
  const store = memoryStore({ now: () => now });
  const paid: unknown[] = [];
  const deploy = (inputSchema: z.ZodType, config: Partial<ToolConfig> = {}, body: Body = () => 'paid') => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', ref: 'a', input }] },
    );
    const ai: Countersign = countersign({ model, store, clock: () => now, leaseMs: LEASE_MS, retry: false });
    const pay = ai.defineTool(
      { name: 'pay', description: '', inputSchema, needsApproval: true, ...config } as ToolConfig,
      (given: unknown, ctx: ToolContext) => {
        paid.push(given);
        return body(ctx);
      },
    );
    return { ai, runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }), pay };
  };
  return { deploy, paid, lapse: () => (now += 2 * LEASE_MS) };
}

const withDefault = (amount: number) => z.object({ to: z.string(), amount: z.number().default(amount) });

async function cardOf({ runs }: { readonly runs: Countersign['runs'] }) {
  const [card] = (await runs.requests()).items;
  if (!card) throw new Error('Expected a question.');
  return card;
}

/** Approves and starts an idempotent call in one version, whose process dies. The next version drives it. */
async function deployedInDoubt(before: z.ZodType, after: z.ZodType) {
  const { deploy, paid, lapse } = versions({ to: 'ann' });
  const old = deploy(before, { idempotent: true }, () => new Promise(() => undefined));
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.wait('run');
  await old.runs.decide((await cardOf(old)).id, 'approve');
  await eventually(() => expect(paid).toHaveLength(1));
  lapse();
  const next = deploy(after, { idempotent: true });
  await next.runs.drive('run');
  await next.runs.settled();
  return { next, paid };
}

test('a default is shown on the card and runs, whatever default the next version has', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const old = deploy(withDefault(10));
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  const card = await cardOf(old);
  expect(card.part.metadata?.runsWith).toEqual({ to: 'ann', amount: 10 });
  expect(card.part.toolRequest.input).toEqual({ to: 'ann' });
  expect(card.input).toEqual({ to: 'ann', amount: 10 });
  expect(requestCard(card, old.clerk, true).input).toEqual({ to: 'ann', amount: 10 });
  const next = deploy(withDefault(1_000));
  await next.runs.decide(card.id, 'approve', { digest: card.digest });
  await next.runs.settled();
  expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
  expect((await next.runs.get('run')).status).toBe('done');
});

test('an async default is shown on the card and runs, whatever default the next version has', async () => {
  const later = (amount: number) => withDefault(amount).refine(async () => true);
  const { deploy, paid } = versions({ to: 'ann' });
  const old = deploy(later(10));
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  const card = await cardOf(old);
  expect(card.input).toEqual({ to: 'ann', amount: 10 });
  const next = deploy(later(1_000));
  await next.runs.decide(card.id, 'approve', { digest: card.digest });
  await next.runs.settled();
  expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
});

test.each([true, false])('a default that differs each time is computed once (stored: %s)', async (stored) => {
  let made = 0;
  const seen: unknown[] = [];
  const { deploy, paid } = versions({ to: 'ann' });
  const schema = z.object({ to: z.string(), id: z.number().default(() => ++made) });
  const { clerk } = deploy(schema, {
    needsApproval: (given: unknown) => {
      seen.push(given);
      return true;
    },
  });
  const chat = clerk.chat(stored ? { runId: 'run' } : {});
  const { interrupts } = await chat.send('Pay.');
  expect((await chat.send({ resume: { approve: interrupts } })).text).toBe('Done.');
  expect(seen).toHaveLength(1);
  expect(paid).toEqual(seen);
});

test('a gate that a new version adds is asked before a body with an answered question continues', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const schema = z.object({ to: z.string() });
  const asks: Body = ({ interrupt, resumed }) => resumed ?? interrupt('Pay?');
  const old = deploy(schema, { needsApproval: false }, asks);
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  paid.splice(0);
  const next = deploy(schema, {}, asks);
  await next.runs.decide((await cardOf(old)).id, 'approve');
  await next.runs.settled();
  expect(paid).toEqual([]);
  const gate = await cardOf(next);
  expect(gate).toMatchObject({ kind: 'approval', input: { to: 'ann' } });
  await next.runs.decide(gate.id, 'approve');
  await next.runs.settled();
  expect(paid).toEqual([{ to: 'ann' }]);
  expect((await next.runs.get('run')).status).toBe('done');
});

describe('a default that a new version adds to an approved call', () => {
  const before = z.object({ to: z.string() });

  test.each<[string, Partial<ToolConfig>]>([
    ['approval', {}],
    ['interrupt', { needsApproval: false }],
  ])('is asked about, and runs once a person has approved it (%s)', async (kind, config) => {
    const { deploy, paid } = versions({ to: 'ann' });
    const asks: Body = ({ interrupt, resumed }) => (kind === 'interrupt' ? (resumed ?? interrupt('Pay?')) : 'paid');
    const old = deploy(before, config, asks);
    await old.clerk.start('Pay.', { runId: 'run' });
    await old.runs.settled();
    const asked = await cardOf(old);
    expect(asked).toMatchObject({ kind, input: { to: 'ann' } });
    paid.splice(0);
    const next = deploy(withDefault(1_000), config, asks);
    await next.runs.decide(asked.id, 'approve', { digest: asked.digest });
    await next.runs.settled();
    expect(paid).toEqual([]);
    const card = await cardOf(next);
    expect(card).toMatchObject({ kind: 'unavailable', input: { to: 'ann', amount: 1_000 } });
    await next.runs.decide(card.id, 'approve', { digest: card.digest });
    await next.runs.settled();
    expect(paid).toEqual([{ to: 'ann', amount: 1_000 }]);
    expect((await next.runs.get('run')).status).toBe('done');
  });

  test('stops an idempotent call from running again unasked', async () => {
    const { next, paid } = await deployedInDoubt(before, withDefault(1_000));
    expect(paid).toEqual([{ to: 'ann' }]);
    expect(await cardOf(next)).toMatchObject({ kind: 'doubt', input: { to: 'ann' } });
  });

  test('is reported to the model if nothing is stored', async () => {
    const { deploy, paid } = versions({ to: 'ann' });
    const old = deploy(before);
    const { messages, interrupts } = await old.ai.generate({ prompt: 'Pay.', tools: [old.pay] });
    const next = deploy(withDefault(1_000));
    const after = await next.ai.generate({ messages, tools: [next.pay], resume: { approve: interrupts } });
    expect(JSON.stringify(after.messages)).toContain('no longer accepts the approved input');
    expect(after.interrupts).toEqual([]);
    expect(paid).toEqual([]);
  });
});

test('a call in doubt that was asked about without its tool does not run with an input that was not shown', async () => {
  const { deploy, paid, lapse } = versions({ to: 'ann' });
  const old = deploy(withDefault(10), { needsApproval: false }, () => new Promise(() => undefined));
  await old.clerk.start('Pay.', { runId: 'run' });
  await eventually(() => expect(paid).toHaveLength(1));
  lapse();
  const without = deploy(withDefault(10), { name: 'other' });
  await without.runs.drive('run');
  await without.runs.settled();
  const asked = await cardOf(without);
  expect(asked).toMatchObject({ kind: 'doubt', input: { to: 'ann' } });
  const back = deploy(withDefault(10), { needsApproval: false });
  await back.runs.decide(asked.id, 'approve', { digest: asked.digest });
  await back.runs.settled();
  expect(paid).toHaveLength(1);
  const card = await cardOf(back);
  expect(card).toMatchObject({ kind: 'unavailable', input: { to: 'ann', amount: 10 } });
  await back.runs.decide(card.id, 'approve');
  await back.runs.settled();
  expect(paid[1]).toEqual({ to: 'ann', amount: 10 });
});

test('rejecting a started call whose tool changed does not say that it never ran', async () => {
  const { deploy, paid, lapse } = versions({ to: 'ann' });
  const old = deploy(withDefault(10), {}, () => new Promise(() => undefined));
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  await old.runs.decide((await cardOf(old)).id, 'approve');
  await eventually(() => expect(paid).toHaveLength(1));
  lapse();
  const next = deploy(z.object({ iban: z.string() }));
  await next.runs.drive('run');
  await next.runs.settled();
  const doubt = await cardOf(next);
  expect(doubt.kind).toBe('doubt');
  await next.runs.decide(doubt.id, 'approve');
  await next.runs.settled();
  const card = await cardOf(next);
  expect(card.kind).toBe('unavailable');
  await next.runs.decide(card.id, 'reject');
  await next.runs.settled();
  const messages = JSON.stringify((await next.runs.get('run')).messages);
  expect(messages).toContain('It had started, and it is unknown whether it took effect.');
  expect(messages).not.toContain('It did not run.');
});

test('the messages of an aborted conversation keep the approved input', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const old = deploy(withDefault(10));
  const { messages, interrupts } = await old.ai.generate({ prompt: 'Pay.', tools: [old.pay] });
  const resume = { approve: interrupts };
  const stopped = await old.ai
    .generate({ messages, tools: [old.pay], resume, abortSignal: AbortSignal.abort() })
    .catch((error) => error);
  expect(paid).toEqual([]);
  const next = deploy(withDefault(1_000));
  await next.ai.generate({ messages: stopped.messages, tools: [next.pay] });
  expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
});

test.each([true, false])('a body that forwards an inner question keeps its input (stored: %s)', async (stored) => {
  const { deploy, paid } = versions({ to: 'ann' });
  const asked = interrupt({ name: 'ask', description: '' });
  const passesOn: Body = async ({ interrupt, resumed }) => {
    const model = scriptedModel([resumed ? 'Done.' : { calls: [{ name: 'ask', ref: 'b' }] }]);
    const inner = await countersign({ model }).generate({ tools: [asked], ...(resumed ?? { prompt: 'Ask.' }) });
    if (inner.interrupts.length > 0) interrupt(inner);
    return inner.text;
  };
  const old = deploy(withDefault(10), {}, passesOn);
  const before = old.clerk.chat(stored ? { runId: 'run' } : {});
  const gated = await before.send('Pay.');
  const { messages, interrupts } = await before.send({ resume: { approve: gated.interrupts } });
  const next = deploy(withDefault(1_000), {}, passesOn);
  const after = next.clerk.chat(stored ? { runId: 'run' } : { messages });
  const answers = interrupts.map((question) => respond(question, 'yes'));
  expect((await after.send({ resume: { respond: answers } })).text).toBe('Done.');
  expect(paid).toEqual([
    { to: 'ann', amount: 10 },
    { to: 'ann', amount: 10 },
  ]);
});

test('a schema that rejects its own output parses the original input again', async () => {
  const { deploy, paid } = versions({ amount: '12' });
  const { runs, clerk, ...rest } = deploy(z.object({ amount: z.string().transform(Number) }));
  await clerk.start('Pay.', { runId: 'run' });
  await runs.settled();
  const card = await cardOf({ runs, ...rest });
  expect(card.part.metadata).not.toHaveProperty('runsWith');
  await runs.decide(card.id, 'approve');
  await runs.settled();
  expect(paid).toEqual([{ amount: 12 }]);
});

test.each([false, true])(
  'an ungated call with a schema that rejects its own output runs (in doubt: %s)',
  async (inDoubt) => {
    const { deploy, paid, lapse } = versions({ amount: '12' });
    const schema = z.object({ amount: z.string().transform(Number) });
    const config = { needsApproval: () => false, idempotent: true };
    const { clerk, runs } = deploy(schema, config, () => (inDoubt ? new Promise(() => undefined) : 'paid'));
    await clerk.start('Pay.', { runId: 'run' });
    await eventually(() => expect(paid).toEqual([{ amount: 12 }]));
    if (!inDoubt) return expect(await runs.wait('run')).toMatchObject({ status: 'done' });
    lapse();
    const next = deploy(schema, config);
    await next.runs.drive('run');
    expect(await next.runs.wait('run')).toMatchObject({ status: 'done' });
    expect(paid).toEqual([{ amount: 12 }, { amount: 12 }]);
  },
);

test('a call that its gate let pass does not run with another output of the schema', async () => {
  const { deploy, paid } = versions({ amount: 5 });
  let isSeen = false;
  const schema = z.object({ amount: z.number().transform((amount) => (isSeen ? 100 * amount : amount)) });
  const needsApproval = ({ amount }: { readonly amount: number }) => {
    isSeen = true;
    return amount > 10;
  };
  const { runs, clerk } = deploy(schema, { needsApproval });
  await clerk.start('Pay.', { runId: 'run' });
  expect(await runs.wait('run')).toMatchObject({ status: 'done' });
  expect(paid).toEqual([]);
});

test('null is shown on the card and runs if the schema returns it', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const { runs, clerk, ...rest } = deploy(
    z.any().transform(() => null),
    { inputJsonSchema: { type: 'object' } },
  );
  await clerk.start('Pay.', { runId: 'run' });
  await runs.settled();
  const card = await cardOf({ runs, ...rest });
  expect(card.input).toBeNull();
  await runs.decide(card.id, 'approve', { digest: card.digest });
  await runs.settled();
  expect(paid).toEqual([null]);
});

test('a value that is not JSON is bound by its JSON form', async () => {
  const { deploy, paid } = versions({});
  const { runs, clerk, ...rest } = deploy(z.object({ on: z.coerce.date().default(new Date(5)) }), {
    inputJsonSchema: { type: 'object' },
  });
  await clerk.start('Pay.', { runId: 'run' });
  await runs.settled();
  await runs.decide((await cardOf({ runs, ...rest })).id, 'approve');
  await runs.settled();
  expect(paid).toEqual([{ on: new Date(5) }]);
});

test.each([true, false])('a value without a JSON form is parsed again from the input (gate: %s)', async (asks) => {
  const { deploy, paid } = versions({ to: 'ann' });
  const { runs, clerk, ...rest } = deploy(z.object({ to: z.string().transform((to) => BigInt(to.length)) }), {
    inputJsonSchema: { type: 'object' },
    needsApproval: () => asks,
  });
  await clerk.start('Pay.', { runId: 'run' });
  await runs.settled();
  if (asks) await runs.decide((await cardOf({ runs, ...rest })).id, 'approve');
  await runs.settled();
  expect(paid).toEqual([{ to: 3n }]);
});

test('a schema that no longer accepts the approved input asks again with the new input', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const old = deploy(withDefault(10), { labels: ['money'], risk: 'high' });
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  await old.runs.decide((await cardOf(old)).id, 'approve', { drive: false });
  const next = deploy(z.object({ to: z.string(), amount: z.number().min(100).default(100) }));
  await next.runs.drive('run');
  await next.runs.settled();
  const card = await cardOf(next);
  expect(card).toMatchObject({ kind: 'unavailable', labels: ['money'], risk: 'high' });
  expect(JSON.stringify(card.payload)).toContain('no longer accepts the approved input');
  expect(card.part.metadata?.runsWith).toEqual({ to: 'ann', amount: 100 });
  expect(paid).toEqual([]);
  await next.runs.decide(card.id, 'approve');
  await next.runs.settled();
  expect(paid).toEqual([{ to: 'ann', amount: 100 }]);
});

const PLAIN = z.object({ to: z.string(), amount: z.number() });
const ADDED = PLAIN.extend({ urgent: z.boolean().default(true) });

test.each<[string, z.ZodType, unknown]>([
  ['adds a value that was not shown', ADDED, { to: 'ann', amount: 10, urgent: true }],
  ['drops a shown value', z.object({ to: z.string() }), { to: 'ann' }],
  ['changes a shown value', PLAIN.extend({ to: z.string().toUpperCase() }), { to: 'ANN', amount: 10 }],
])('a schema that newly %s asks again', async (_what, schema, made) => {
  const { deploy, paid } = versions({ to: 'ann', amount: 10 });
  const old = deploy(PLAIN);
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  const shown = await cardOf(old);
  expect(shown.input).toEqual({ to: 'ann', amount: 10 });
  const next = deploy(schema);
  await next.runs.decide(shown.id, 'approve', { digest: shown.digest });
  await next.runs.settled();
  expect(paid).toEqual([]);
  const card = await cardOf(next);
  expect(card).toMatchObject({ kind: 'unavailable', input: made });
  expect(JSON.stringify(card.payload)).toContain('it is parsed differently now');
  await next.runs.decide(card.id, 'approve', { digest: card.digest });
  await next.runs.settled();
  expect(paid).toEqual([made]);
});

test('an approved call waits while the schema throws, and runs once it does not', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const old = deploy(withDefault(10), { risk: 'high' });
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  await old.runs.decide((await cardOf(old)).id, 'approve', { drive: false });
  const broken = deploy(withDefault(10).refine(() => Promise.reject(new Error('The list of payees is away'))));
  await broken.runs.drive('run');
  await broken.runs.settled();
  const card = await cardOf(broken);
  expect(card).toMatchObject({ kind: 'unavailable', risk: 'high', input: { to: 'ann', amount: 10 } });
  expect(JSON.stringify(card.payload)).toContain('The list of payees is away');
  await broken.runs.decide(card.id, 'approve');
  await broken.runs.settled();
  expect(paid).toEqual([]);
  const back = deploy(withDefault(10));
  await back.runs.decide((await cardOf(back)).id, 'approve');
  await back.runs.settled();
  expect(await back.runs.get('run')).toMatchObject({ status: 'done' });
  expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
});

test('an ungated call reports a schema that throws as an error', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const broken = deploy(withDefault(10).refine(() => Promise.reject(new Error('The list of payees is away'))));
  await broken.clerk.start('Pay.', { runId: 'run' });
  await broken.runs.settled();
  expect((await broken.runs.requests()).items).toEqual([]);
  const { status, messages } = await broken.runs.get('run');
  expect([status, JSON.stringify(messages)]).toEqual(['done', expect.stringContaining('The list of payees is away')]);
  expect(paid).toEqual([]);
});

test('an approved number whose unit changed is asked about again, and then parsed by the new schema', async () => {
  const { deploy, paid } = versions({ amount: 10 });
  const old = deploy(z.object({ amount: z.number() }));
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  await old.runs.decide((await cardOf(old)).id, 'approve', { drive: false });
  const next = deploy(z.object({ amount: z.number().transform((amount) => amount * 100) }));
  await next.runs.drive('run');
  await next.runs.settled();
  expect(paid).toEqual([]);
  const card = await cardOf(next);
  expect(card).toMatchObject({ kind: 'unavailable', input: { amount: 10 } });
  await next.runs.decide(card.id, 'approve');
  await next.runs.settled();
  expect(paid).toEqual([{ amount: 1_000 }]);
});

test('the approved input runs after its tool was missing for a while', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const old = deploy(withDefault(10), { risk: 'high' });
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  await old.runs.decide((await cardOf(old)).id, 'approve', { drive: false });
  const without = deploy(withDefault(10), { name: 'other' });
  await without.runs.drive('run');
  await without.runs.settled();
  const back = deploy(withDefault(1_000));
  const card = await cardOf(back);
  expect(card).toMatchObject({ kind: 'unavailable', risk: 'high', input: { to: 'ann', amount: 10 } });
  await back.runs.decide(card.id, 'approve');
  await back.runs.settled();
  expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
});

test('a body that asked continues with its input, whatever default the next version has', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const asks: Body = ({ interrupt, resumed }) => resumed ?? interrupt('Pay?');
  const old = deploy(withDefault(10), { needsApproval: false }, asks);
  await old.clerk.start('Pay.', { runId: 'run' });
  await old.runs.settled();
  const card = await cardOf(old);
  expect(card.input).toEqual({ to: 'ann', amount: 10 });
  const next = deploy(withDefault(1_000), { needsApproval: false }, asks);
  await next.runs.decide(card.id, 'approve', { digest: card.digest });
  await next.runs.settled();
  expect(paid).toEqual([
    { to: 'ann', amount: 10 },
    { to: 'ann', amount: 10 },
  ]);
});

test('a body that asks again after replaceInput shows the parsed new input', async () => {
  const { deploy } = versions({ to: 'ann' });
  const asks: Body = ({ interrupt }) => interrupt('Pay?');
  const { runs, clerk, ...rest } = deploy(withDefault(10), { needsApproval: false }, asks);
  await clerk.start('Pay.', { runId: 'run' });
  await runs.settled();
  const first = await cardOf({ runs, ...rest });
  await runs.decide(first.id, { type: 'restart', resumed: true, replaceInput: { to: 'bob' } });
  await runs.settled();
  expect((await cardOf({ runs, ...rest })).input).toEqual({ to: 'bob', amount: 10 });
});

test('an edit runs as the schema parses it', async () => {
  const { deploy, paid } = versions({ to: 'ann' });
  const { runs, clerk, ...rest } = deploy(withDefault(10));
  await clerk.start('Pay.', { runId: 'run' });
  await runs.settled();
  const card = await cardOf({ runs, ...rest });
  await runs.decide(card.id, { type: 'approve', edit: { to: 'bob', amount: 3 } });
  await runs.settled();
  expect(paid).toEqual([{ to: 'bob', amount: 3 }]);
});

describe('an edit', () => {
  const EDIT = { type: 'approve', edit: { to: 'bob' } } as const;

  /** Edits a call in one version, which does not drive it. */
  async function editedBefore(before: z.ZodType, decision: DecisionInput = EDIT) {
    const { deploy, ...rest } = versions({ to: 'ann' });
    const old = deploy(before);
    await old.clerk.start('Pay.', { runId: 'run' });
    await old.runs.settled();
    await old.runs.decide((await cardOf(old)).id, decision, { drive: false });
    const driveWith = async (after: z.ZodType) => {
      const next = deploy(after);
      await next.runs.drive('run');
      await next.runs.settled();
      return next;
    };
    return { ...rest, driveWith };
  }

  test.each<[string, DecisionInput]>([
    ['approve', EDIT],
    ['restart', { type: 'restart', resumed: true, replaceInput: { to: 'bob' } }],
  ])("runs with the schema's output at the time of the decision (%s)", async (_verb, decision) => {
    const { driveWith, paid } = await editedBefore(withDefault(10), decision);
    const next = await driveWith(withDefault(1_000));
    expect(paid).toEqual([{ to: 'bob', amount: 10 }]);
    expect((await next.runs.get('run')).status).toBe('done');
    expect((await next.runs.verify('run')).ok).toBe(true);
  });

  test('is asked about again if the schema now adds a default', async () => {
    const { driveWith, paid } = await editedBefore(z.object({ to: z.string() }));
    const next = await driveWith(withDefault(1_000));
    expect(paid).toEqual([]);
    const card = await cardOf(next);
    expect(card).toMatchObject({ kind: 'unavailable', input: { to: 'bob', amount: 1_000 } });
    await next.runs.decide(card.id, 'approve', { digest: card.digest });
    await next.runs.settled();
    expect(paid).toEqual([{ to: 'bob', amount: 1_000 }]);
  });

  test('that the schema parses into the original input runs as that', async () => {
    const { deploy, paid } = versions({ to: 'ann', amount: 10 });
    const { runs, clerk, ...rest } = deploy(withDefault(10));
    await clerk.start('Pay.', { runId: 'run' });
    await runs.settled();
    await runs.decide((await cardOf({ runs, ...rest })).id, { type: 'approve', edit: { to: 'ann' } });
    await runs.settled();
    expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
    expect((await runs.get('run')).status).toBe('done');
  });

  test('is parsed again by a schema that rejects its own output', async () => {
    const texts = (times: number) => z.object({ to: z.string().transform((to) => to.length * times) });
    const { driveWith, paid } = await editedBefore(texts(1));
    await driveWith(texts(1));
    expect(paid).toEqual([{ to: 3 }]);
  });

  test('of an idempotent call does not run again with a changed input', async () => {
    const { deploy, paid, lapse } = versions({ to: 'ann' });
    const old = deploy(z.object({ to: z.string() }), { idempotent: true }, () => new Promise(() => undefined));
    await old.clerk.start('Pay.', { runId: 'run' });
    await old.runs.settled();
    await old.runs.decide((await cardOf(old)).id, EDIT);
    await eventually(() => expect(paid).toEqual([{ to: 'bob' }]));
    lapse();
    const next = deploy(withDefault(1_000), { idempotent: true });
    await next.runs.drive('run');
    await next.runs.settled();
    expect(paid).toEqual([{ to: 'bob' }]);
    expect(await cardOf(next)).toMatchObject({ kind: 'doubt', input: { to: 'bob' } });
  });

  test.each([true, false])('gets one default, even if the default differs each time (stored: %s)', async (stored) => {
    let made = 0;
    const { deploy, paid } = versions({ to: 'ann' });
    const schema = z.object({ to: z.string(), id: z.number().default(() => ++made) });
    const asks: Body = ({ interrupt, resumed }) => resumed ?? interrupt('Sure?');
    const { clerk, pay } = deploy(schema, {}, asks);
    const chat = clerk.chat(stored ? { runId: 'run' } : {});
    const { interrupts } = await chat.send('Pay.');
    const edited = interrupts.map((asked) => pay.approve(asked, { edit: { to: 'bob' } }));
    const { interrupts: again } = await chat.send({ resume: { approve: edited } });
    await chat.send({ resume: { approve: again } });
    expect(paid).toHaveLength(2);
    expect(paid[1]).toEqual(paid[0]);
  });

  test('is kept in the messages of an aborted conversation', async () => {
    const { deploy, paid } = versions({ to: 'ann' });
    const old = deploy(withDefault(10));
    const { messages, interrupts } = await old.ai.generate({ prompt: 'Pay.', tools: [old.pay] });
    const approve = interrupts.map((asked) => old.pay.approve(asked, { edit: { to: 'bob' } }));
    const stopped = await old.ai
      .generate({ messages, tools: [old.pay], resume: { approve }, abortSignal: AbortSignal.abort() })
      .catch((error) => error);
    const next = deploy(withDefault(1_000));
    await next.ai.generate({ messages: stopped.messages, tools: [next.pay] });
    expect(paid).toEqual([{ to: 'bob', amount: 10 }]);
  });
});

describe('a call in doubt', () => {
  test('runs again with the approved input', async () => {
    const { paid } = await deployedInDoubt(withDefault(10), withDefault(1_000));
    expect(paid).toEqual([
      { to: 'ann', amount: 10 },
      { to: 'ann', amount: 10 },
    ]);
  });

  type Bill = { readonly lines: number[] };
  const BILL = z.object({ lines: z.array(z.number()) });
  const emptied = ({ lines }: Bill) => void lines.splice(0);

  test.each<[string, Partial<ToolConfig>]>([
    ['its verify', { needsApproval: false, verify: emptied, settlesWithin: 1 }],
    ['its gate', { needsApproval: (bill: Bill) => emptied(bill) ?? false, idempotent: true }],
  ])('runs again with its input even if %s changed the object it received', async (_who, config) => {
    const { deploy, paid, lapse } = versions({ lines: [3, 2] });
    const old = deploy(BILL, config, () => new Promise(() => undefined));
    await old.clerk.start('Pay.', { runId: 'run' });
    await eventually(() => expect(paid).toHaveLength(1));
    lapse();
    const next = deploy(BILL, config);
    await next.runs.drive('run');
    await next.runs.settled();
    expect(paid).toEqual([{ lines: [3, 2] }, { lines: [3, 2] }]);
  });

  test('runs again with the input that its gate saw', async () => {
    let made = 0;
    const seen: unknown[] = [];
    const { deploy, paid, lapse } = versions({ to: 'ann' });
    const schema = z.object({ to: z.string(), id: z.number().default(() => ++made) });
    const config = { idempotent: true, needsApproval: (given: unknown) => seen.push(given) < 0 };
    const old = deploy(schema, config, () => new Promise(() => undefined));
    await old.clerk.start('Pay.', { runId: 'run' });
    await eventually(() => expect(paid).toHaveLength(1));
    lapse();
    const next = deploy(schema, config);
    await next.runs.drive('run');
    await next.runs.settled();
    expect(paid).toHaveLength(2);
    expect(paid).toEqual(seen);
  });

  test.each<[string, Partial<ToolConfig>]>([
    ['is idempotent', { idempotent: true }],
    ['was not found by verify', { verify: () => undefined, settlesWithin: 1 }],
  ])('that %s is asked about if it now needs an approval', async (_why, config) => {
    const { deploy, paid, lapse } = versions({ to: 'ann' });
    const old = deploy(withDefault(10), { ...config, needsApproval: false }, () => new Promise(() => undefined));
    await old.clerk.start('Pay.', { runId: 'run' });
    await eventually(() => expect(paid).toHaveLength(1));
    lapse();
    const next = deploy(withDefault(10), config);
    await next.runs.drive('run');
    await next.runs.settled();
    expect(await cardOf(next)).toMatchObject({
      kind: 'doubt',
      payload: { message: expect.stringContaining('now needs an approval') },
    });
    expect(paid).toHaveLength(1);
  });

  test('without a gate shows the input that would run, and runs with it', async () => {
    const { deploy, paid, lapse } = versions({ to: 'ann' });
    const old = deploy(withDefault(10), { needsApproval: false }, () => new Promise(() => undefined));
    await old.clerk.start('Pay.', { runId: 'run' });
    await eventually(() => expect(paid).toHaveLength(1));
    lapse();
    const next = deploy(withDefault(20), { needsApproval: false });
    await next.runs.drive('run');
    await next.runs.settled();
    const card = await cardOf(next);
    expect(card).toMatchObject({ kind: 'doubt', input: { to: 'ann', amount: 20 } });
    const last = deploy(withDefault(1_000), { needsApproval: false });
    await last.runs.decide(card.id, 'approve', { digest: card.digest });
    await last.runs.settled();
    expect(paid.at(-1)).toEqual({ to: 'ann', amount: 20 });
  });

  test('keeps the risk and labels of its approval', async () => {
    const { deploy, lapse } = versions({ to: 'ann' });
    const asks = { needsApproval: () => ({ message: 'Pay?', risk: 'high' as const, labels: ['money'] }) };
    const old = deploy(withDefault(10), asks, () => new Promise(() => undefined));
    await old.clerk.start('Pay.', { runId: 'run' });
    await old.runs.wait('run');
    await old.runs.decide((await cardOf(old)).id, 'approve');
    lapse();
    const next = deploy(withDefault(10), asks);
    await next.runs.drive('run');
    await next.runs.settled();
    expect(await cardOf(next)).toMatchObject({
      kind: 'doubt',
      risk: 'high',
      labels: ['money'],
      input: { to: 'ann', amount: 10 },
    });
  });
});

describe('a decision cannot set its own bound input', () => {
  const texts = z.object({ to: z.string().transform((to) => to.length) });
  const bound = { runsWith: { to: 'somebody else' } };

  test.each([
    ['an approval', {}, 3],
    ['an edit', { edit: { to: 'jo' } }, 2],
  ])('%s, with a store and without', async (_what, edit, to) => {
    const { deploy, paid } = versions({ to: 'ann' });
    const { ai, clerk, runs, pay } = deploy(texts);
    const bind = (part: ToolRequestPart) => {
      const { metadata, ...approved } = approve(part, edit);
      return { approve: { ...approved, metadata: { ...metadata, bound } } };
    };
    await clerk.start('Pay.', { runId: 'run' });
    await runs.settled();
    await internalsOf(runs).resume('run', bind((await cardOf({ runs })).part));
    await runs.settled();
    const { messages, interrupts } = await ai.generate({ prompt: 'Pay.', tools: [pay] });
    const [asked] = interrupts;
    if (!asked) throw new Error('Expected a question.');
    await ai.generate({ messages, tools: [pay], resume: bind(asked) });
    expect(paid).toEqual([{ to }, { to }]);
    expect(JSON.stringify(await runs.recorded('run'))).not.toContain('somebody else');
  });
});
