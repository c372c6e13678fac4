// Messages in a stored conversation while others send, decide or drive: each message is answered once.
import { countersign, type ModelRequest, memoryStore, type Runs, respond, z } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { hear } from '../../src/loop/generate.ts';
import { afterStarts, changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

type Reply = (request: ModelRequest) => ScriptStep | Promise<ScriptStep>;

const textsOf = (messages: ModelRequest['messages'], role: string): string[] =>
  messages
    .filter((message) => message.role === role)
    .flatMap(({ content }) => content.map((part) => ('text' in part ? part.text : '')));

/** Answers with all messages of the user so far. */
const echo: Reply = ({ messages }) => `Heard: ${textsOf(messages, 'user').join(' ')}`;

type TalkOptions = {
  readonly store?: Store;
  readonly clock?: () => number;
  readonly body?: () => unknown;
  readonly leaseMs?: number;
};

function talk(reply: Reply, { store = memoryStore(), body = () => 'paid', ...options }: TalkOptions = {}) {
  const paid: string[] = [];
  const model = scriptedModel(reply);
  const ai = countersign({ model, store, retry: false, ...options });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
    async () => {
      paid.push('pay');
      return body();
    },
  );
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }), paid, model };
}

const says = (text: string) => [{ role: 'user' as const, content: [{ text }] }];
const rolesOf = async (runs: Runs, id: string) => (await runs.get(id)).messages.map(({ role }) => role);
const asksToPay: ScriptStep = { calls: [{ name: 'pay', ref: 'p', input: {} }] };
const paysFirst: Reply = (request) =>
  request.messages.some(({ role }) => role === 'tool') ? echo(request) : asksToPay;
const twoToPay: Reply = (request) => {
  if (request.messages.some(({ role }) => role === 'tool')) return echo(request);
  return { calls: ['p', 'q'].map((ref) => ({ name: 'pay', ref, input: {} })) };
};

describe('concurrent messages in one conversation', () => {
  test.each(['cancel', 'queue', 'refuse'] as const)('are all answered (%s)', async (whilePending) => {
    const { clerk, runs } = talk(async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return echo(request);
    });
    await clerk.generate({ runId: 'talk', prompt: 'a' });
    await Promise.all(['b', 'c', 'd'].map((prompt) => clerk.generate({ runId: 'talk', prompt, whilePending })));
    const { messages, text, status } = await runs.get('talk');
    expect(messages.map(({ role }) => role).join(' ')).toBe('user model user model user model user model');
    expect(textsOf(messages, 'user').toSorted()).toEqual(['a', 'b', 'c', 'd']);
    expect(text).toBe(`Heard: ${textsOf(messages, 'user').join(' ')}`);
    expect(status).toBe('done');
  });

  test.each(['cancel', 'queue', 'refuse'] as const)(
    'are answered even if both are the first message (%s)',
    async (whilePending) => {
      const { clerk, runs } = talk(echo);
      await Promise.all(['a', 'b'].map((prompt) => clerk.generate({ runId: 'talk', prompt, whilePending })));
      const { messages, text } = await runs.get('talk');
      expect(messages.map(({ role }) => role).join(' ')).toBe('user model user model');
      expect(text).toBe(`Heard: ${textsOf(messages, 'user').join(' ')}`);
    },
  );

  test('are answered if sent while the model replies in another process', async () => {
    const store = memoryStore();
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const here = talk(
      async (request) => {
        asked.resolve();
        await go.promise;
        return echo(request);
      },
      { store },
    );
    const there = talk(echo, { store });
    await here.clerk.start('a', { runId: 'talk' });
    await asked.promise;
    const speaking = internalsOf(there.runs).speak('talk', (run) => hear(run, says('b'), 'queue', new Set()));
    await new Promise((resolve) => setTimeout(resolve, 20));
    go.resolve();
    await speaking;
    expect(await there.runs.wait('talk')).toMatchObject({ status: 'done', text: 'Heard: a b' });
    expect(await rolesOf(there.runs, 'talk')).toEqual(['user', 'model', 'user', 'model']);
  });
});

describe('a message sent right after an approval', () => {
  test.each(['cancel', 'queue'] as const)('does not take it back, and is answered (%s)', async (whilePending) => {
    const kept = memoryStore();
    let decideFirst: (() => Promise<unknown>) | undefined;
    // Approves between the read of the sender and the write of the message.
    const store = changedStore(kept, {
      append: async (append) => {
        const decide = append.events.some(({ type }) => type === 'user-spoke') ? decideFirst : undefined;
        decideFirst = undefined;
        await decide?.();
        return kept.append(append);
      },
    });
    const { clerk, runs, paid } = talk(paysFirst, { store });
    await clerk.generate({ runId: 'talk', prompt: 'a' });
    const [card = ''] = (await runs.get('talk')).pending;
    decideFirst = () => runs.decide(card, 'approve', { drive: false });
    const speaking = clerk.generate({
      runId: 'talk',
      prompt: 'b',
      whilePending,
    });
    expect((await speaking).text).toBe('Heard: a b');
    expect(paid).toEqual(['pay']);
    const types = (await runs.recorded('talk')).flatMap((event) =>
      event.type === 'call-settled' ? [event.result.type] : [],
    );
    expect(types).toEqual(['output']);
  });

  test.each(['cancel', 'queue', 'refuse'] as const)(
    'waits for the running body, whose result counts (%s)',
    async (whilePending) => {
      const began = Promise.withResolvers<void>();
      const done = Promise.withResolvers<string>();
      const { clerk, runs, paid } = talk(paysFirst, {
        body: () => {
          began.resolve();
          return done.promise;
        },
      });
      await clerk.generate({ runId: 'talk', prompt: 'a' });
      await runs.decide((await runs.get('talk')).pending[0] ?? '', 'approve');
      await began.promise;
      const speaking = internalsOf(runs).speak('talk', (run) => hear(run, says('b'), whilePending, new Set()));
      await new Promise((resolve) => setTimeout(resolve, 20));
      done.resolve('paid');
      await speaking;
      expect((await runs.wait('talk')).text).toBe('Heard: a b');
      expect(paid).toEqual(['pay']);
      expect(JSON.stringify((await runs.get('talk')).messages)).toContain('"output":"paid"');
    },
  );
});

test('a message waits for a dead process at most until its claim lapses', async () => {
  let now = 1_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const dead = talk(() => new Promise(() => undefined), { store, clock });
  await dead.clerk.start('a', { runId: 'talk' });
  const { clerk, runs } = talk(echo, { store, clock });
  const speaking = clerk.generate({ runId: 'talk', prompt: 'b' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await rolesOf(runs, 'talk')).toEqual(['user']);
  now += 60_000;
  expect((await speaking).text).toBe('Heard: a b');
  expect(await rolesOf(runs, 'talk')).toEqual(['user', 'model', 'user', 'model']);
});

test('a decision in a conversation waits for a dead process at most until its claim lapses', async () => {
  let now = 1_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const dead = talk(twoToPay, { store, clock, body: () => new Promise(() => undefined) });
  const { interrupts } = await dead.clerk.generate({ runId: 'talk', prompt: 'a' });
  await internalsOf(dead.runs).resume('talk', { approve: interrupts.slice(0, 1) });
  await eventually(() => expect(dead.paid).toEqual(['pay']));
  const { clerk, runs, paid } = talk(twoToPay, { store, clock });
  const deciding = clerk.generate({ runId: 'talk', resume: { approve: interrupts.slice(1) } });
  await eventually(async () => expect((await runs.get('talk')).pending).toEqual([]));
  now += 60_000;
  expect((await deciding).interrupts).toMatchObject([{ metadata: { interruptKind: 'doubt' } }]);
  expect(paid).toEqual(['pay']);
});

test('a decision in a conversation is answered even if its own claim lapsed meanwhile', async () => {
  let now = 1_000;
  const clock = () => now;
  const store = afterStarts(memoryStore({ now: clock }), () => {
    now += 60_000;
  });
  const { clerk, paid } = talk(paysFirst, { store, clock });
  const { interrupts } = await clerk.generate({ runId: 'talk', prompt: 'a' });
  const response = await clerk.generate({ runId: 'talk', resume: { approve: interrupts } });
  expect(response.interrupts).toMatchObject([{ metadata: { interruptKind: 'doubt' } }]);
  expect(paid).toEqual([]);
});

describe('a call whose process died after the start', () => {
  async function died({
    reply = paysFirst,
    whilePending = 'cancel' as 'cancel' | 'refuse',
    slow = (store: Store) => store,
  } = {}) {
    let now = 1_000;
    const clock = () => now;
    const store = memoryStore({ now: clock });
    const dead = talk(reply, { store, clock, body: () => new Promise(() => undefined) });
    const { interrupts } = await dead.clerk.generate({ runId: 'talk', prompt: 'a' });
    await internalsOf(dead.runs).resume('talk', { approve: interrupts.slice(0, 1) });
    await eventually(() => expect(dead.paid).toEqual(['pay']));
    now += 60_000;
    const { clerk, ...rest } = talk(reply, { store: slow(store), clock });
    const send = (prompt: string, resume: object = {}) =>
      clerk.generate({ runId: 'talk', prompt, resume, whilePending });
    return { ...rest, clerk, store, clock, approved: interrupts.slice(0, 1), others: interrupts.slice(1), send };
  }

  const inDoubt = [{ metadata: { interruptKind: 'doubt' } }];

  test('is asked about even if a message came before the question', async () => {
    const { send, paid, clerk } = await died();
    const { interrupts } = await send('b');
    expect(interrupts).toMatchObject(inDoubt);
    const [part] = interrupts;
    const done = await clerk.generate({ runId: 'talk', resume: { respond: respond(part as never, 'paid') } });
    expect(done).toMatchObject({ interrupts: [], text: 'Heard: a b' });
    expect(paid).toEqual([]);
  });

  test('is still asked about after a message with another decision, while a third call runs', async () => {
    let now = 1_000;
    const clock = () => now;
    const store = memoryStore({ now: clock });
    const reply: Reply = (request) => {
      if (request.messages.some(({ role }) => role === 'tool')) return echo(request);
      return { calls: ['p', 'q', 'r'].map((ref) => ({ name: 'pay', ref, input: {} })) };
    };
    const dead = talk(reply, { store, clock, body: () => new Promise(() => undefined) });
    const { interrupts } = await dead.clerk.generate({ runId: 'talk', prompt: 'a' });
    await internalsOf(dead.runs).resume('talk', { approve: interrupts.slice(0, 1) });
    await eventually(() => expect(dead.paid).toEqual(['pay']));
    now += 60_000;
    const finish = Promise.withResolvers<string>();
    const { clerk, runs, paid } = talk(reply, { store, clock, body: () => finish.promise });
    await runs.drive('talk');
    await runs.settled();
    await internalsOf(runs).resume('talk', { approve: interrupts.slice(1, 2) });
    await eventually(() => expect(paid).toHaveLength(1));
    const sending = clerk.generate({ runId: 'talk', prompt: 'b', resume: { approve: interrupts.slice(2) } });
    await eventually(async () => expect((await runs.get('talk')).pending).toHaveLength(1));
    finish.resolve('paid');
    expect((await sending).interrupts).toMatchObject(inDoubt);
    expect(paid).toHaveLength(2);
  });

  test('is asked about even if the process of an earlier message stalls meanwhile', async () => {
    const mayContinue = Promise.withResolvers<void>();
    let reads = 0;
    const slow = (store: Store) =>
      changedStore(store, {
        read: async (...args) => {
          const loaded = await store.read(...args);
          reads += 1;
          if (reads === 1) await mayContinue.promise;
          return loaded;
        },
      });
    const { send, store, clock, runs } = await died({ slow });
    const sent = send('b');
    await eventually(() => expect(reads).toBe(1));
    const other = talk(paysFirst, { store, clock });
    await other.runs.drive('talk');
    await other.runs.settled();
    mayContinue.resolve();
    expect((await sent).interrupts).toMatchObject(inDoubt);
    expect((await runs.get('talk')).pending).toHaveLength(1);
  });

  test('is withdrawn by a message sent after the question', async () => {
    const { send, paid } = await died();
    await send('b');
    expect(await send('c')).toMatchObject({ interrupts: [], text: 'Heard: a b c' });
    expect(paid).toEqual([]);
  });

  test('is asked about even if the message with its approval is sent again', async () => {
    const { runs, send, approved } = await died();
    await runs.drive('talk');
    expect((await send('b', { approve: approved })).interrupts).toMatchObject(inDoubt);
  });

  test('is asked about even if a message comes with a decision on another call', async () => {
    const { runs, send, others, paid } = await died({ reply: twoToPay });
    await runs.drive('talk');
    expect((await send('b', { approve: others })).interrupts).toMatchObject(inDoubt);
    expect(paid).toEqual(['pay']);
  });

  test('is asked about, and a message with whilePending refuse is rejected', async () => {
    const { runs, send } = await died({ whilePending: 'refuse' });
    await expect(send('b')).rejects.toMatchObject({ code: 'decision-pending' });
    expect((await runs.get('talk')).pending).toHaveLength(1);
  });
});

test('a message does not take a run whose claim lapsed from its own process', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const kept = memoryStore({ now: clock });
  const store = changedStore(kept, { renew: () => new Promise(() => undefined) });
  const { promise, resolve } = Promise.withResolvers<string>();
  const { clerk, runs, paid } = talk(paysFirst, { store, clock, leaseMs: 60_000, body: () => promise });
  await clerk.generate({ runId: 'talk', prompt: 'a' });
  const [card] = (await runs.requests()).items;
  await runs.decide(card?.id ?? '', 'approve');
  await eventually(() => expect(paid).toEqual(['pay']));
  now += 120_000;
  const speaking = clerk.generate({ runId: 'talk', prompt: 'b' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  resolve('paid');
  expect((await speaking).text).toBe('Heard: a b');
  expect((await runs.requests({ settled: true })).items.map(({ kind }) => kind)).toEqual(['approval']);
});

test('a waiting message can be aborted, and is not recorded', async () => {
  const { clerk, runs } = talk(() => new Promise(() => undefined));
  await clerk.start('a', { runId: 'talk' });
  const abort = new AbortController();
  const speaking = internalsOf(runs).speak('talk', (run) => hear(run, says('b'), 'cancel', new Set()), {
    signal: abort.signal,
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  abort.abort(new Error('gone'));
  await expect(speaking).rejects.toThrow('gone');
  expect(await rolesOf(runs, 'talk')).toEqual(['user']);
});

test.each(['cancel', 'queue', 'refuse'] as const)(
  'a message continues a cancelled conversation (%s)',
  async (whilePending) => {
    const { clerk, runs, paid } = talk(paysFirst);
    await clerk.generate({ runId: 'talk', prompt: 'a' });
    await runs.cancel('talk');
    const { text } = await clerk.generate({ runId: 'talk', prompt: 'b', whilePending });
    expect(text).toBe('Heard: a b');
    expect(await rolesOf(runs, 'talk')).toEqual(['user', 'model', 'tool', 'user', 'model']);
    expect(paid).toEqual([]);
  },
);

test('a message in a stopped process waits until another process has driven the run', async () => {
  const store = memoryStore();
  const { clerk, runs, model } = talk(echo, { store });
  await runs.stop();
  await clerk.start('a', { runId: 'talk' });
  const speaking = internalsOf(runs).speak('talk', (run) => hear(run, says('b'), 'cancel', new Set()));
  const worker = talk(echo, { store }).runs.work({ pollMs: 5 });
  await speaking;
  await eventually(async () => expect((await runs.get('talk')).text).toBe('Heard: a b'));
  expect(await rolesOf(runs, 'talk')).toEqual(['user', 'model', 'user', 'model']);
  expect(model.requests).toHaveLength(0);
  await worker.stop();
});
