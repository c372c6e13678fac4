// Inside a sub-agent the promise holds as at the root: its work is recorded as it happens.
import {
  type Countersign,
  countersign,
  type Message,
  memoryStore,
  type RunRequest,
  type Runs,
  type Tool,
  z,
} from 'countersign';
import type { Store } from 'countersign/store';
import { type ScriptedTurn, scriptedModel } from 'countersign/testing';
import { describe, expect, test, vi } from 'vitest';
import { chainStart, linkAll } from '../../src/runs/port/chain.ts';
import { eventually } from '../eventually.ts';

type DecisionInput = Parameters<Runs['decide']>[1];
type Calls = NonNullable<ScriptedTurn['calls']>;

/** One process of a test: its number, and how it records effects. */
type Process = { readonly nth: number; act<T>(what: string, gives?: T, key?: string): T | undefined };

type Team = {
  /** The calls of the inner model, turn by turn. */
  readonly turns: readonly Calls[];
  readonly tools: (ai: Countersign, process: Process) => readonly Tool[];
  /** Called before each reply of the inner model. */
  readonly thinks?: (process: Process, turn: number) => Promise<void> | void;
  /** The number of agents between the root and the agent with the tools. */
  readonly between?: number;
};

const LEASE_MS = 60_000;
const STUCK = new Promise<never>(() => {});

const answersIn = (messages: readonly Message[]): readonly unknown[] =>
  messages.flatMap(({ role, content }) =>
    role === 'tool' ? content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : [])) : [],
  );

/** One store and any number of processes, all with the same root and sub-agent. */
function team({ turns, tools, thinks, between = 0 }: Team) {
  let now = 1_800_000_000_000;
  const store = memoryStore({ now: () => now });
  const effects: string[] = [];
  const keys: string[] = [];
  let opened = 0;
  const open = (given: Partial<Team> = {}) => {
    opened += 1;
    const process: Process = {
      nth: opened,
      act(what, gives, key) {
        effects.push(what);
        if (key !== undefined) keys.push(key);
        return gives;
      },
    };
    const ai = countersign({ store, clock: () => now, leaseMs: LEASE_MS, retry: false });
    const model = scriptedModel(async ({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'tool').length;
      await thinks?.(process, turn);
      const calls = turns[turn];
      return calls ? { calls } : `inside: ${JSON.stringify(answersIn(messages))}`;
    });
    const delegates = (to: string) =>
      scriptedModel(({ messages }) => {
        const said = answersIn(messages);
        return said.length > 0 ? String(said[0]) : { calls: [{ name: to, ref: `to-${to}`, input: { prompt: 'Go.' } }] };
      });
    let last = ai.defineAgent({
      name: 'helper',
      system: 'You help.',
      maxTurns: 100,
      model,
      tools: [...(given.tools ?? tools)(ai, process)],
    });
    for (let level = 0; level < between; level += 1)
      last = ai.defineAgent({ name: `between-${level}`, model: delegates(last.name), tools: [last] });
    const root = ai.defineAgent({ name: 'root', model: delegates(last.name), tools: [last] });
    return { runs: ai.runs, root };
  };
  const pass = (ms: number) => {
    now += ms;
  };
  const recorded = async (id: string) => JSON.stringify((await store.read(id))?.events ?? []);
  return { open, pass, effects, keys, store, recorded };
}

const only = <T>(items: readonly T[]): T => {
  expect(items).toHaveLength(1);
  return items[0] as T;
};

/** Lets another process take over the run long after the first one stalled, until the run pauses or ends. */
async function takeOver(one: ReturnType<typeof team>, id: string, given: Partial<Team> = {}) {
  one.pass(2 * LEASE_MS);
  const other = one.open(given);
  await other.runs.drive(id);
  await other.runs.settled();
  return other;
}

/** Approves in a process that dies as soon as the approval is recorded: none of its later writes arrive. */
async function approveAndDie(store: Store, runs: Runs, requestId: string): Promise<void> {
  const append = store.append.bind(store);
  let dead: string | undefined;
  vi.spyOn(store, 'append').mockImplementation(async (given) => {
    if (dead !== undefined && given.claim?.token === dead) return STUCK;
    const answer = await append(given);
    if (given.events.some(({ type }) => type === 'decision-made')) dead ??= given.claim?.token;
    return answer;
  });
  await runs.decide(requestId, 'approve');
}

const simple = (ai: Countersign, name: string, body: (key: string) => unknown, config: object = {}): Tool =>
  ai.defineTool(
    { name, description: '', inputSchema: z.object({}), ...config },
    (_input, { idempotencyKey }) => body(idempotencyKey) as never,
  );

const call = (name: string): Calls => [{ name, ref: `ref-${name}`, input: {} }];

describe('a stalled worker', () => {
  test.each([0, 1, 2])('starts nothing inside once its claim has lapsed (%i agents between)', async (between) => {
    const awake = Promise.withResolvers<void>();
    const one = team({
      between,
      turns: [call('pay')],
      tools: (ai, { act }) => [simple(ai, 'pay', () => act('paid', 'paid'))],
      thinks: ({ nth }) => (nth === 1 ? awake.promise : undefined),
    });
    const zombie = one.open();
    const { id } = await zombie.root.start('Go.');
    await eventually(async () => expect(await one.recorded(id)).toContain('call-started'));
    const other = await takeOver(one, id);
    expect((await other.runs.get(id)).text).toBe('inside: ["paid"]');
    awake.resolve();
    await zombie.runs.settled();
    expect(one.effects).toEqual(['paid']);
    expect(await other.runs.verify(id)).toMatchObject({ ok: true });
  });

  test('does not settle the sub-agent while another worker drives it', async () => {
    const awake = Promise.withResolvers<void>();
    const slow = Promise.withResolvers<void>();
    const one = team({
      turns: [call('look')],
      tools: (ai) => [simple(ai, 'look', () => 'seen')],
      thinks: ({ nth }, turn) => (turn === 0 ? undefined : nth === 1 ? awake.promise : slow.promise),
    });
    const zombie = one.open();
    const { id } = await zombie.root.start('Go.');
    await eventually(async () => expect(await one.recorded(id)).toContain('seen'));
    one.pass(2 * LEASE_MS);
    const other = one.open();
    await other.runs.drive(id);
    // The stalled process finishes first, while the other is still at work.
    awake.resolve();
    await zombie.runs.settled();
    slow.resolve();
    await other.runs.settled();
    expect(await other.runs.get(id)).toMatchObject({ status: 'done', text: 'inside: ["seen"]' });
  });
});

describe('a late result from inside a sub-agent', () => {
  /** Puts a nested payment in doubt while the process that started it still waits for its result. */
  async function inDoubt(between: number, more: Calls = []) {
    const bank = Promise.withResolvers<string>();
    const one = team({
      between,
      turns: [[...call('pay'), ...more]],
      tools: (ai, { nth, act }) => [
        simple(ai, 'pay', () => {
          act('paid');
          return nth === 1 ? bank.promise : 'paid again';
        }),
        ai.defineInterrupt({ name: 'ask', description: '', inputSchema: z.object({}), outputSchema: z.string() }),
      ],
    });
    const zombie = one.open();
    const { id } = await zombie.root.start('Go.');
    await eventually(() => expect(one.effects).toEqual(['paid']));
    const other = await takeOver(one, id);
    const cards = (await other.runs.requests()).items;
    const card = only(cards.filter(({ kind }) => kind === 'doubt'));
    const report = async () => {
      bank.resolve('paid at last');
      await zombie.runs.settled();
      await other.runs.settled();
    };
    return { one, id, other, card, report };
  }

  test.each([0, 1, 2])('settles its doubt (%i agents between)', async (between) => {
    const { id, other, one, card, report } = await inDoubt(between);
    await report();
    await eventually(async () => expect((await other.runs.get(id)).text).toBe('inside: ["paid at last"]'));
    expect((await other.runs.get(id)).status).toBe('done');
    expect(one.effects).toEqual(['paid']);
    expect(only((await other.runs.requests({ settled: true })).items)).toMatchObject({
      id: card.id,
      settlement: { withdrawn: true },
    });
    expect(await other.runs.verify(id)).toMatchObject({ ok: true });
  });

  test('leaves the other questions inside pending', async () => {
    const { id, other, report } = await inDoubt(0, call('ask'));
    expect((await other.runs.requests()).items).toHaveLength(2);
    await report();
    await eventually(async () => expect((await other.runs.requests()).items).toHaveLength(1));
    const question = only((await other.runs.requests()).items);
    expect(question).toMatchObject({ tool: 'ask', kind: 'question' });
    await other.runs.decide(question.id, { type: 'respond', output: 'blue' });
    await other.runs.settled();
    expect((await other.runs.get(id)).text).toBe('inside: ["paid at last","blue"]');
  });

  test('changes nothing once a person has reported the outcome', async () => {
    const { id, other, card, report } = await inDoubt(0);
    await other.runs.decide(card.id, { type: 'respond', output: 'not paid' });
    await other.runs.settled();
    await report();
    expect((await other.runs.get(id)).text).toBe('inside: ["not paid"]');
  });

  test('does not settle an approved second try', async () => {
    const { id, other, one, card, report } = await inDoubt(0, call('ask'));
    await other.runs.decide(card.id, 'approve');
    await other.runs.settled();
    await report();
    const question = only((await other.runs.requests()).items);
    await other.runs.decide(question.id, { type: 'respond', output: 'blue' });
    await other.runs.settled();
    expect((await other.runs.get(id)).text).toBe('inside: ["paid again","blue"]');
    expect(one.effects).toEqual(['paid', 'paid']);
  });
});

describe('after a crash', () => {
  test.each([0, 1])(
    'completed calls inside are not run again, and no question is asked (%i between)',
    async (between) => {
      const one = team({
        between,
        turns: [call('first'), call('second')],
        tools: (ai, { act }) => [
          simple(ai, 'first', () => act('first', 1)),
          simple(ai, 'second', () => act('second', 2)),
        ],
        thinks: ({ nth }, turn) => (nth === 1 && turn === 1 ? STUCK : undefined),
      });
      const crashed = one.open();
      const { id } = await crashed.root.start('Go.');
      await eventually(async () => expect(one.effects).toEqual(['first']));
      await eventually(async () => expect(await one.recorded(id)).toContain('call-settled'));
      const other = await takeOver(one, id);
      expect((await other.runs.requests()).items).toEqual([]);
      expect((await other.runs.get(id)).text).toBe('inside: [1,2]');
      expect(one.effects).toEqual(['first', 'second']);
    },
  );

  const stuckPay = (more: object = {}): Team => ({
    turns: [call('pay')],
    tools: (ai, { nth, act }) => [
      simple(
        ai,
        'pay',
        (key) => {
          act('paid', undefined, key);
          return nth === 1 ? STUCK : 'paid';
        },
        more,
      ),
    ],
  });

  test.each<[string, DecisionInput, string, number]>([
    ['it happened', { type: 'respond', output: 'paid, says the bank' }, 'inside: ["paid, says the bank"]', 1],
    ['it did not happen', 'approve', 'inside: ["paid"]', 2],
  ])('a doubt is about the nested call: %s', async (_name, decision, text, times) => {
    const one = team(stuckPay());
    const crashed = one.open();
    const { id } = await crashed.root.start('Go.');
    await eventually(() => expect(one.effects).toEqual(['paid']));
    const other = await takeOver(one, id);
    const card: RunRequest = only((await other.runs.requests()).items);
    expect(card).toMatchObject({ tool: 'pay', kind: 'doubt' });
    expect(card.part.metadata?.path).toEqual(['to-helper']);
    await other.runs.decide(card.id, decision);
    await other.runs.settled();
    expect((await other.runs.get(id)).text).toBe(text);
    expect(one.effects).toHaveLength(times);
    expect(new Set(one.keys).size).toBe(1);
  });

  test('a rejected doubt tells the inner model that the outcome is unknown', async () => {
    const one = team(stuckPay());
    const { id } = await one.open().root.start('Go.');
    await eventually(() => expect(one.effects).toEqual(['paid']));
    const other = await takeOver(one, id);
    await other.runs.decide(only((await other.runs.requests()).items).id, 'reject');
    await other.runs.settled();
    expect((await other.runs.get(id)).text).toMatch(/unknown whether it took effect/);
    expect(one.effects).toEqual(['paid']);
  });

  test('only a message sent after the question withdraws a doubt inside', async () => {
    const one = team(stuckPay());
    const { id } = await one.open().root.start('Go.');
    await eventually(() => expect(one.effects).toEqual(['paid']));
    one.pass(2 * LEASE_MS);
    const { root } = one.open();
    const { interrupts } = await root.generate({ runId: id, prompt: 'And?' });
    expect(only(interrupts).metadata).toMatchObject({ interruptKind: 'doubt', path: ['to-helper'] });
    const { text, interrupts: none } = await root.generate({ runId: id, prompt: 'Never mind.' });
    expect({ text, none }).toEqual({ text: expect.stringMatching(/unknown whether it took effect/), none: [] });
    expect(one.effects).toEqual(['paid']);
  });

  test('an approved and started call inside is in doubt and never started again', async () => {
    const one = team(stuckPay({ needsApproval: true }));
    const crashed = one.open();
    const { id } = await crashed.root.start('Go.');
    await crashed.runs.settled();
    await crashed.runs.decide(only((await crashed.runs.requests()).items).id, 'approve', { by: 'ann' });
    await eventually(() => expect(one.effects).toEqual(['paid']));
    const other = await takeOver(one, id);
    expect(only((await other.runs.requests()).items)).toMatchObject({ tool: 'pay', kind: 'doubt' });
    expect(one.effects).toEqual(['paid']);
  });

  test('an approval inside that was not acted on takes effect once, without a second question', async () => {
    const one = team({
      turns: [[...call('pay'), ...call('look')]],
      tools: (ai, { act }) => [
        simple(ai, 'pay', () => act('paid', 'paid'), { needsApproval: true }),
        simple(ai, 'look', () => 'seen'),
      ],
    });
    const first = one.open();
    const { id } = await first.root.start('Go.');
    await first.runs.settled();
    const card = only((await first.runs.requests()).items);
    await approveAndDie(one.store, first.runs, card.id);
    const other = await takeOver(one, id);
    expect((await other.runs.requests()).items).toEqual([]);
    expect((await other.runs.get(id)).text).toBe('inside: ["paid","seen"]');
    expect(one.effects).toEqual(['paid']);
  });

  test('an idempotent tool inside runs again with the same key', async () => {
    const one = team(stuckPay({ idempotent: true }));
    const { id } = await one.open().root.start('Go.');
    await eventually(() => expect(one.effects).toEqual(['paid']));
    const other = await takeOver(one, id);
    expect((await other.runs.get(id)).text).toBe('inside: ["paid"]');
    expect(one.keys).toHaveLength(2);
    expect(new Set(one.keys).size).toBe(1);
  });

  test.each([
    ['found', { verify: () => ({ output: 'paid before' }) }, 'inside: ["paid before"]', 1],
    ['not found, after settlesWithin', { verify: () => undefined, settlesWithin: LEASE_MS }, 'inside: ["paid"]', 2],
    ['not found, before settlesWithin', { verify: () => undefined, settlesWithin: 9 * LEASE_MS }, undefined, 1],
  ])('verify of a nested tool decides: %s', async (_name, config, text, times) => {
    const one = team(stuckPay(config));
    const { id } = await one.open().root.start('Go.');
    await eventually(() => expect(one.effects).toEqual(['paid']));
    const other = await takeOver(one, id);
    const run = await other.runs.get(id);
    if (text === undefined) expect(run.status).toBe('waiting');
    else expect(run.text).toBe(text);
    expect(one.effects).toHaveLength(times);
  });

  test('a completed step of a nested tool is not repeated', async () => {
    const one = team({
      turns: [call('trip')],
      tools: (ai, { nth, act }) => [
        ai.defineTool(
          { name: 'trip', description: '', inputSchema: z.object({}), idempotent: true },
          async (_input, { step }) => {
            await step('flight', () => act('flight', 1));
            if (nth === 1) await STUCK;
            await step('hotel', () => act('hotel', 2));
            return 'booked';
          },
        ),
      ],
    });
    const { id } = await one.open().root.start('Go.');
    await eventually(async () => expect(await one.recorded(id)).toContain('step-done'));
    const other = await takeOver(one, id);
    expect((await other.runs.get(id)).text).toBe('inside: ["booked"]');
    expect(one.effects).toEqual(['flight', 'hotel']);
  });

  test.each([
    ['before', false, 'inside: ["sent"]'],
    ['after', true, undefined],
  ])('a crash %s the commit point of a nested tool', async (_name, committed, text) => {
    const one = team({
      turns: [call('send')],
      tools: (ai, { nth, act }) => [
        ai.defineTool(
          { name: 'send', description: '', inputSchema: z.object({}), commits: true },
          async (_input, { commitPoint }) => {
            if (nth === 1 && !committed) await STUCK;
            await commitPoint();
            act('sent');
            if (nth === 1) await STUCK;
            return 'sent';
          },
        ),
      ],
    });
    const { id } = await one.open().root.start('Go.');
    const last = committed ? 'call-committed' : '"call-started","callId"';
    await eventually(async () => {
      expect(await one.recorded(id)).toContain(last);
      expect((await one.recorded(id)).match(/call-started/g)).toHaveLength(2);
    });
    const other = await takeOver(one, id);
    const run = await other.runs.get(id);
    if (text === undefined) expect(only((await other.runs.requests()).items)).toMatchObject({ tool: 'send' });
    else expect(run.text).toBe(text);
    expect(one.effects).toEqual(['sent']);
  });

  test('a second crash keeps the work of the first and the second process', async () => {
    const one = team({
      turns: [call('first'), call('second'), call('third')],
      tools: (ai, { act }) =>
        ['first', 'second', 'third'].map((name) => simple(ai, name, () => act(name, name), { idempotent: true })),
      thinks: ({ nth }, turn) => (nth < 3 && turn === nth ? STUCK : undefined),
    });
    const { id } = await one.open().root.start('Go.');
    await eventually(async () => expect(await one.recorded(id)).toContain('"output":"first"'));
    one.pass(2 * LEASE_MS);
    await one.open().runs.drive(id);
    await eventually(async () => expect(await one.recorded(id)).toContain('"output":"second"'));
    const last = await takeOver(one, id);
    expect((await last.runs.get(id)).text).toBe('inside: ["first","second","third"]');
    expect(one.effects).toEqual(['first', 'second', 'third']);
  });

  test('a call of a removed tool waits inside and runs when the tool is back', async () => {
    const one = team({
      turns: [call('pay')],
      tools: (ai, { act }) => [simple(ai, 'pay', () => act('paid', 'paid'), { needsApproval: true })],
    });
    const first = one.open();
    const { id } = await first.root.start('Go.');
    await first.runs.settled();
    const card = only((await first.runs.requests()).items);
    await approveAndDie(one.store, first.runs, card.id);
    const without = await takeOver(one, id, { tools: () => [] });
    const gone = only((await without.runs.requests()).items);
    expect(gone).toMatchObject({ tool: 'pay', kind: 'unavailable' });
    const back = one.open();
    await back.runs.decide(gone.id, 'approve');
    await back.runs.settled();
    expect((await back.runs.get(id)).text).toBe('inside: ["paid"]');
    expect(one.effects).toEqual(['paid']);
  });

  test('a sub-agent recorded by a version without nested events is in doubt as a whole', async () => {
    const one = team(stuckPay());
    const append = one.store.append.bind(one.store);
    vi.spyOn(one.store, 'append').mockImplementation(async (given) => {
      const events = given.events.filter(({ type }) => type !== 'call-went-on').map(withoutInside);
      if (events.length === 0) return { claimed: true };
      const record = (await one.store.read(given.runId))?.run;
      const before = record?.hash ?? chainStart({ id: given.runId, agent: 'root', startedBy: null });
      return append({ ...given, events, hash: linkAll(before, events) });
    });
    const { id } = await one.open().root.start('Go.');
    await eventually(() => expect(one.effects).toEqual(['paid']));
    vi.restoreAllMocks();
    const other = await takeOver(one, id);
    expect(only((await other.runs.requests()).items)).toMatchObject({ tool: 'helper', kind: 'doubt' });
    expect(one.effects).toEqual(['paid']);
  });
});

function withoutInside<E extends object>(event: E): E {
  const { inside: _inside, ...rest } = event as E & { inside?: unknown };
  return rest as E;
}

describe('a clean stop', () => {
  test('does not wait for the end of a sub-agent and leaves no doubt', async () => {
    const begun = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const one = team({
      turns: [call('first'), call('second')],
      tools: (ai, { nth, act }) => [
        simple(ai, 'first', async () => {
          begun.resolve();
          if (nth === 1) await done.promise;
          act('first');
          return 1;
        }),
        simple(ai, 'second', () => act(`second, by ${nth}`, 2)),
      ],
    });
    const first = one.open();
    const { id } = await first.root.start('Go.');
    await begun.promise;
    const stopped = first.runs.stop();
    done.resolve();
    await stopped;
    expect(one.effects).toEqual(['first']);
    const other = one.open();
    await other.runs.drive(id);
    await other.runs.settled();
    expect((await other.runs.get(id)).text).toBe('inside: [1,2]');
    expect(one.effects).toEqual(['first', 'second, by 2']);
  });
});

test('a cancelled run starts nothing more inside', async () => {
  const done = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const one = team({
    turns: [call('first'), call('second')],
    tools: (ai, { act }) => [
      simple(ai, 'first', async () => {
        begun.resolve();
        await done.promise;
        return 1;
      }),
      simple(ai, 'second', () => act('second')),
    ],
  });
  const { root, runs } = one.open();
  const { id } = await root.start('Go.');
  await begun.promise;
  await runs.cancel(id);
  done.resolve();
  await runs.settled();
  expect((await runs.get(id)).status).toBe('cancelled');
  expect(one.effects).toEqual([]);
});

test('a pause inside costs the same, however long the inner conversation is', async () => {
  const pauses = 40;
  const one = team({
    turns: Array.from({ length: pauses }, () => call('pay')),
    tools: (ai) => [simple(ai, 'pay', () => 'paid', { needsApproval: true })],
  });
  const { root, runs } = one.open();
  const { id } = await root.start('Go.');
  const sizes: number[] = [];
  for (let asked = 0; asked < pauses; asked += 1) {
    await runs.settled();
    await runs.decide(only((await runs.requests()).items).id, 'approve');
    sizes.push((await one.recorded(id)).length);
  }
  await runs.settled();
  expect((await runs.get(id)).status).toBe('done');
  const written = sizes.map((size, index) => size - (sizes[index - 1] ?? 0)).slice(1);
  expect(Math.max(...written)).toBeLessThan(1.1 * Math.min(...written));
});

test("deadlines inside follow the store's clock", async () => {
  const one = team({
    turns: [call('pay')],
    tools: (ai, { act }) => [simple(ai, 'pay', () => act('paid'), { needsApproval: true, expiresIn: 1_000 })],
  });
  const { root, runs } = one.open();
  const { id } = await root.start('Go.');
  await runs.settled();
  const { createdAt, expiresAt } = only((await runs.requests()).items);
  expect(expiresAt).toBe(createdAt + 1_000);
  one.pass(2_000);
  await runs.drive(id);
  await runs.settled();
  expect((await runs.get(id)).text).toMatch(/deadline passed/);
  expect(one.effects).toEqual([]);
});
