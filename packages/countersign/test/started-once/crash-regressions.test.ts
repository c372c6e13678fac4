// Bugs found by the crash campaigns, each as a small test on the memory store.
import { countersign, memoryStore, ProviderError, type RunRequest, type Runs, z } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { holdSteadyClock } from '../steady-clock.ts';

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test('a release does not overtake a reply that arrives while the previous result is written', async () => {
  const real = memoryStore();
  let held = 0;
  // Like a pool of connections: a later write may arrive earlier. The second write is slow while the first is on its way.
  const store: Store = Object.assign(Object.create(real) as Store, {
    ...bound(real),
    append: async (append: Parameters<Store['append']>[0]) => {
      if (append.events.some(({ type }) => type === 'call-settled')) await delay(20);
      if (append.events.some(({ type }) => type === 'model-replied') && held++ > 0) await delay(20);
      return real.append(append);
    },
  });
  let asked = 0;
  const model = scriptedModel(async () => {
    asked += 1;
    if (asked === 1) return { calls: [{ name: 'look', input: {} }] };
    await delay(5);
    return 'Done.';
  });
  const ai = countersign({ model, store, retry: false });
  const look = ai.defineTool({ name: 'look', description: '', inputSchema: z.object({}) }, () => 'seen');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [look] });
  const { id } = await clerk.start('Look.');
  await ai.runs.settled();
  expect((await ai.runs.get(id)).status).toBe('done');
  expect(asked).toBe(2);
});

test('a stop releases a run even if a decision arrives at the same moment', async () => {
  const real = memoryStore();
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let slow = false;
  const store: Store = {
    ...bound(real),
    append: async (append) => {
      if (slow && append.claim?.how === 'release') {
        slow = false;
        reached.resolve();
        await gate.promise;
      }
      return real.append(append);
    },
  };
  const make = (on: Store) => {
    const ai = countersign({
      model: scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? 'Done.'
          : {
              calls: [
                { name: 'pay', input: {} },
                { name: 'pay', input: {} },
              ],
            },
      ),
      store: on,
      retry: false,
    });
    const pay = ai.defineTool(
      { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
      () => 'paid',
    );
    return { ai, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  };
  const first = make(store);
  const second = make(real);
  const { id } = await first.clerk.start('Pay.');
  await first.ai.runs.wait(id);
  await first.ai.runs.settled();
  const [one, two] = (await second.ai.runs.requests()).items;
  if (!one || !two) throw new Error('Expected two questions.');
  slow = true;
  await first.ai.runs.decide(one.id, 'approve');
  await reached.promise;
  const stopping = first.ai.runs.stop();
  await second.ai.runs.decide(two.id, 'approve', { drive: false });
  gate.resolve();
  await stopping;
  expect(await real.due(10)).toEqual([id]);
});

test('runs of unknown agents do not block the others', async () => {
  const store = memoryStore();
  const other = countersign({ model: scriptedModel(() => 'Hi.'), store, retry: false });
  const stranger = other.defineAgent({ name: 'stranger' });
  await other.runs.stop();
  for (let n = 0; n < 8; n++) await stranger.start('Hello.');
  await other.runs.settled();
  const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, retry: false });
  const clerk = ai.defineAgent({ name: 'clerk' });
  const starter = countersign({ model: scriptedModel(() => 'Hi.'), store, retry: false });
  const same = starter.defineAgent({ name: 'clerk' });
  await starter.runs.stop();
  const { id } = await same.start('Hello.');
  await starter.runs.settled();
  expect(clerk.name).toBe('clerk');
  const worker = ai.runs.work({ pollMs: 5 });
  await eventually(async () => expect((await ai.runs.get(id)).status).toBe('done'));
  await worker.stop();
});

test('a worker with a concurrency of one takes the next run as soon as it is free', async () => {
  const store = memoryStore();
  const starter = countersign({ model: scriptedModel(() => 'Hi.'), store, retry: false });
  const same = starter.defineAgent({ name: 'clerk' });
  await starter.runs.stop();
  for (let n = 0; n < 20; n++) await same.start('Hello.');
  await starter.runs.settled();
  const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, retry: false });
  ai.defineAgent({ name: 'clerk' });
  const worker = ai.runs.work({ concurrency: 1, pollMs: 500 });
  await eventually(async () => expect((await ai.runs.list({ status: 'done' })).items).toHaveLength(20));
  await worker.stop();
});

test('a second worker can start on an instance whose worker was stopped', async () => {
  const store = memoryStore();
  const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, retry: false });
  const clerk = ai.defineAgent({ name: 'clerk' });
  await ai.runs.work({ pollMs: 5 }).stop();
  const worker = ai.runs.work({ pollMs: 5 });
  const { id } = await clerk.start('Hello.');
  await eventually(async () => expect((await ai.runs.get(id)).status).toBe('done'));
  await worker.stop();
});

test('a run whose agent has an unknown model fails with an error', async () => {
  const store = memoryStore();
  const ai = countersign({ store });
  const clerk = ai.defineAgent({ name: 'clerk', model: 'nobody/nothing' });
  const { id } = await clerk.start('Hello.');
  await ai.runs.settled();
  expect(await ai.runs.get(id)).toMatchObject({ status: 'failed' });
});

test("a worker whose clock is behind the store's clock does not spin on a deadline", async () => {
  let claims = 0;
  const real = memoryStore({ now: () => Date.now() + 5_000 });
  const store: Store = {
    ...bound(real),
    claim: (...args) => {
      claims += 1;
      return real.claim(...args);
    },
  };
  const ai = countersign({ model: scriptedModel([{ calls: [{ name: 'ask' }] }, 'Done.']), store, retry: false });
  const ask = ai.defineInterrupt({ name: 'ask', description: '', outputSchema: z.string(), expiresIn: 4_000 });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [ask] });
  const { id } = await clerk.start('Ask.');
  await ai.runs.wait(id);
  await ai.runs.settled();
  const worker = ai.runs.work({ pollMs: 50 });
  await delay(300);
  await worker.stop();
  expect(claims).toBeLessThan(20);
});

type Step = (name: string, work: () => string) => Promise<string>;

/** Opens processes on one store with a shared clock. Each call of `act` runs `body`. */
function oneStore(body: (step: Step) => Promise<string>) {
  holdSteadyClock();
  let now = 1_800_000_000_000;
  const store = memoryStore({ now: () => now });
  const pass = (ms: number) => {
    now += ms;
  };
  const open = (on: Store = store, leaseMs = 60_000) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'act' }] },
    );
    const ai = countersign({ model, store: on, clock: () => now, leaseMs, retry: false });
    const act = ai.defineTool({ name: 'act', description: '' }, (_input, { step }) => body(step));
    const gated = ai.defineTool({ name: 'ask', description: '', needsApproval: true }, () => 'acted');
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [act, gated] }) };
  };
  return { store, open, pass };
}

test('a recorded start and a recorded decision are acknowledged, however slow the store is', async () => {
  const { store, open, pass } = oneStore(async (step) => {
    await step('nothing', () => '');
    return 'acted';
  });
  const slow: Store = {
    ...bound(store),
    append: async (append) => {
      const appended = await store.append(append);
      pass(120_000);
      return appended;
    },
  };
  expect(await open(slow).clerk.start('Act.', { runId: 'slow' })).toEqual({ id: 'slow' });

  // Raises a doubt: the process that started the call is gone.
  const gone = open();
  await gone.runs.stop();
  await gone.clerk.start('Act.', { runId: 'decided' });
  await open({
    ...bound(store),
    append: (append) => (isSettled(append) ? forever() : store.append(append)),
  }).runs.drive('decided');
  await eventually(async () => expect((await store.read('decided'))?.events.at(-1)?.type).toBe('step-done'));
  pass(120_000);
  const other = open();
  await other.runs.drive('decided');
  await other.runs.settled();
  const [card] = (await other.runs.requests({ runId: 'decided' })).items;
  if (!card) throw new Error('Expected a doubt.');
  expect(await open(slow).runs.decide(card.id, { type: 'respond', output: 'acted' }, { by: 'bob' })).toMatchObject({
    by: 'bob',
  });
});

const forever = () => new Promise<never>(() => undefined);
const isSettled = ({ events }: Parameters<Store['append']>[0]): boolean =>
  events.some(({ type }) => type === 'call-settled');

test('of two concurrent approvals, one of them losing its connection, the call runs once', async () => {
  const { store, open } = oneStore(async () => 'acted');
  const ran: string[] = [];
  const process = (name: string, on: Store) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay' }] },
    );
    const ai = countersign({ model, store: on, clock: () => 1_800_000_000_000, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => {
      ran.push(name);
      return 'paid';
    });
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  };
  const first = process('first', store);
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let lost = false;
  const second = process('second', {
    ...bound(store),
    append: async (append) => {
      if (lost) return store.append(append);
      lost = true;
      reached.resolve();
      await gate.promise;
      throw new ProviderError('store-failed', {}, 'The connection was lost.', { retryable: true });
    },
  });
  const { id } = await first.clerk.start('Pay.');
  await first.runs.settled();
  const [card] = (await first.runs.requests()).items;
  if (!card) throw new Error('Expected a question.');
  const deciding = second.runs.decide(card.id, 'approve', { by: 'ann' });
  await reached.promise;
  const decided = await first.runs.decide(card.id, 'approve', { by: 'ann' });
  gate.resolve();
  expect(await deciding).toEqual(decided);
  await Promise.all([first.runs.settled(), second.runs.settled()]);
  expect(ran).toEqual(['first']);
  expect(await open().runs.verify(id)).toMatchObject({ ok: true });
});

test('a late result settles an open doubt', async () => {
  const gate = Promise.withResolvers<string>();
  const { open, pass } = oneStore(() => gate.promise);
  const zombie = open();
  const other = open();
  const { id } = await zombie.clerk.start('Act.');
  await eventually(async () =>
    expect((await zombie.runs.recorded(id)).map(({ type }) => type)).toContain('call-started'),
  );
  pass(120_000);
  await other.runs.drive(id);
  await other.runs.settled();
  expect((await other.runs.requests()).items).toMatchObject([{ kind: 'doubt' }]);
  gate.resolve('acted');
  await eventually(async () => expect((await other.runs.get(id)).status).toBe('done'));
});

test('a process that lost its claim starts no further step', async () => {
  const gate = Promise.withResolvers<void>();
  const effects: string[] = [];
  let bodies = 0;
  const { open, pass } = oneStore(async (step) => {
    const isFirst = bodies++ === 0;
    const happens = (name: string) =>
      step(name, () => {
        effects.push(name);
        return name;
      });
    await happens('flight');
    if (isFirst) await gate.promise;
    return happens('hotel');
  });
  const zombie = open();
  const other = open();
  const { id } = await zombie.clerk.start('Act.');
  await eventually(async () => expect((await zombie.runs.recorded(id)).map(({ type }) => type)).toContain('step-done'));
  pass(120_000);
  await other.runs.drive(id);
  await other.runs.settled();
  const [card] = (await other.runs.requests({ runId: id })).items;
  if (!card) throw new Error('Expected a doubt.');
  await other.runs.decide(card.id, 'approve');
  await other.runs.settled();
  gate.resolve();
  await zombie.runs.settled();
  expect(effects).toEqual(['flight', 'hotel']);
});

test('a completed step is recorded before the body continues', async () => {
  const { store, open } = oneStore(async (step) => {
    await step('flight', () => 'flight');
    recorded.push(...((await store.read('trip'))?.events ?? []).map(({ type }) => type));
    return 'acted';
  });
  const recorded: string[] = [];
  const { clerk, runs } = open();
  await clerk.start('Act.', { runId: 'trip' });
  await runs.settled();
  expect(recorded).toContain('step-done');
});

/** An agent whose sub-agent pays ann and bob after approvals. The payment to ann waits for `gate`. */
function twoQuestionsInside(gate: () => Promise<void>) {
  let now = 1_800_000_000_000;
  const store = memoryStore({ now: () => now });
  const paid: string[] = [];
  const once = (calls: { readonly name: string; readonly input: unknown }[]) =>
    scriptedModel(({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls }));
  const open = () => {
    const ai = countersign({ store, clock: () => now, leaseMs: 60_000, retry: false });
    const pay = ai.defineTool(
      { name: 'pay', description: '', inputSchema: z.object({ to: z.string() }), needsApproval: true },
      async ({ to }) => {
        if (to === 'ann') await gate();
        paid.push(to);
        return 'paid';
      },
    );
    const asks = once(['ann', 'bob'].map((to) => ({ name: 'pay', input: { to } })));
    const payer = ai.defineAgent({ name: 'payer', model: asks, tools: [pay] });
    const delegates = once([{ name: 'payer', input: { prompt: 'Pay.' } }]);
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', model: delegates, tools: [payer] }) };
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { open, pass, paid };
}

async function questionOf(runs: Runs, to: string): Promise<RunRequest> {
  const card = (await runs.requests()).items.find(({ input }) => JSON.stringify(input) === JSON.stringify({ to }));
  if (!card) throw new Error(`No question about ${to}.`);
  return card;
}

test('the second of two questions inside a sub-agent can be decided while the first call runs', async () => {
  const gate = Promise.withResolvers<void>();
  const { open, paid } = twoQuestionsInside(() => gate.promise);
  const { runs, clerk } = open();
  const { id } = await clerk.start('Pay.');
  await runs.settled();
  const ann = await questionOf(runs, 'ann');
  const bob = await questionOf(runs, 'bob');
  await runs.decide(ann.id, 'approve');
  // A pending question can be decided.
  const shown = (await runs.requests()).items.map((card) => card.id);
  const deciding = shown.includes(bob.id) ? runs.decide(bob.id, 'approve') : undefined;
  gate.resolve();
  await deciding;
  await runs.settled();
  if (!deciding) await runs.decide(bob.id, 'approve');
  await eventually(async () => expect((await runs.get(id)).status).toBe('done'));
  expect(paid.sort()).toEqual(['ann', 'bob']);
});

test('after a doubt inside a sub-agent, the other question inside is still asked, decided and done', async () => {
  const reached = Promise.withResolvers<void>();
  let tries = 0;
  const { open, pass, paid } = twoQuestionsInside(async () => {
    reached.resolve();
    if (tries++ === 0) await forever();
  });
  const dead = open();
  const { id } = await dead.clerk.start('Pay.');
  await dead.runs.settled();
  await dead.runs.decide((await questionOf(dead.runs, 'ann')).id, 'approve');
  await reached.promise;
  pass(120_000);
  const { runs } = open();
  for (let round = 0; round < 5; round++) {
    await runs.drive(id);
    await runs.settled();
    for (const card of (await runs.requests()).items) {
      await runs.decide(card.id, 'approve');
      await runs.settled();
    }
  }
  expect(await runs.get(id)).toMatchObject({ status: 'done', error: null });
  expect(paid.sort()).toEqual(['ann', 'bob']);
});

test('a late result settles the doubt even if the lost claim is noticed while it is written', async () => {
  const gate = Promise.withResolvers<string>();
  const { store, open, pass } = oneStore(() => gate.promise);
  const renewed: boolean[] = [];
  const slow: Store = {
    ...bound(store),
    append: async (append) => {
      if (isSettled(append)) await eventually(() => expect(renewed).toContain(false));
      if (isSettled(append)) await delay(20);
      return store.append(append);
    },
    renew: async (...args) => {
      const isHeld = await store.renew(...args);
      renewed.push(isHeld);
      return isHeld;
    },
  };
  const zombie = open(slow, 90);
  const other = open();
  const { id } = await zombie.clerk.start('Act.');
  await eventually(async () =>
    expect((await zombie.runs.recorded(id)).map(({ type }) => type)).toContain('call-started'),
  );
  pass(120_000);
  gate.resolve('acted');
  await other.runs.drive(id);
  await other.runs.settled();
  await eventually(async () => expect((await other.runs.get(id)).status).toBe('done'));
});

test('the late result of a first try does not settle an approved second try', async () => {
  const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let tries = 0;
  const { open, pass } = oneStore(() => gates[tries++]?.promise ?? forever());
  const zombie = open();
  const other = open();
  const { id } = await zombie.clerk.start('Act.');
  await eventually(() => expect(tries).toBe(1));
  pass(120_000);
  await other.runs.drive(id);
  await other.runs.settled();
  const [card] = (await other.runs.requests({ runId: id })).items;
  if (!card) throw new Error('Expected a doubt.');
  await other.runs.decide(card.id, 'approve', { by: 'bob' });
  await eventually(() => expect(tries).toBe(2));
  gates[0]?.resolve('first');
  await zombie.runs.settled();
  await delay(20);
  gates[1]?.resolve('second');
  await eventually(async () => expect((await other.runs.get(id)).status).toBe('done'));
  const results = (await other.runs.recorded(id)).flatMap((event) =>
    event.type === 'call-settled' && event.result.type === 'output' ? [event.result.output] : [],
  );
  expect(results).toEqual(['second']);
  expect(await other.runs.verify(id)).toMatchObject({ ok: true });
});

/** A process whose clock is `skewMs` ahead of the store's clock. */
function skewed(store: Store, storeNow: () => number, skewMs: number, config: object, body: () => Promise<string>) {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'act' }] },
  );
  const ai = countersign({ model, store, clock: () => storeNow() + skewMs, leaseMs: 60_000, retry: false });
  const act = ai.defineTool({ name: 'act', description: '', ...config }, body);
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [act] }) };
}

test("settlesWithin is measured by the store's clock, not by a fast local one", async () => {
  let now = 1_800_000_000_000;
  let tries = 0;
  const store = memoryStore({ now: () => now });
  const config = { verify: () => undefined, settlesWithin: 600_000 };
  const body = () => (tries++ === 0 ? forever() : Promise.resolve('acted'));
  const zombie = skewed(store, () => now, 0, config, body);
  const other = skewed(store, () => now, 3_600_000, config, body);
  const { id } = await zombie.clerk.start('Act.');
  await eventually(() => expect(tries).toBe(1));
  now += 120_000;
  await other.runs.drive(id);
  await other.runs.settled();
  expect(tries).toBe(1);
  expect((await other.runs.requests()).items).toMatchObject([{ kind: 'doubt' }]);
});

test.each([-86_400_000, 86_400_000])(
  "a deadline follows the store's clock even if the local one is off by %i ms",
  async (skewMs) => {
    let now = 1_800_000_000_000;
    const store = memoryStore({ now: () => now });
    const config = { needsApproval: true, expiresIn: 60_000 };
    const { runs, clerk } = skewed(
      store,
      () => now,
      skewMs,
      config,
      async () => 'acted',
    );
    const [first, second] = [await clerk.start('Act.'), await clerk.start('Act.')];
    await runs.settled();
    const cardOf = async (runId: string) => (await runs.requests({ runId })).items[0]?.id ?? '';
    const [inTime, late] = [await cardOf(first.id), await cardOf(second.id)];
    now += 59_000;
    const worker = runs.work({ pollMs: 5 });
    await delay(30);
    expect(await runs.decide(inTime, 'approve', { by: 'bob' })).toMatchObject({ by: 'bob' });
    now += 2_000;
    await eventually(async () => expect((await runs.get(second.id)).status).toBe('done'));
    await expect(runs.decide(late, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
    await worker.stop();
  },
);

function bound(store: Store): Store {
  return {
    append: (append) => store.append(append),
    read: (...args) => store.read(...args),
    claim: (...args) => store.claim(...args),
    renew: (...args) => store.renew(...args),
    delete: (runId) => store.delete(runId),
    release: (...args) => store.release(...args),
    due: (limit, agents) => store.due(limit, agents),
    listRuns: (query) => store.listRuns(query),
    listRequests: (query) => store.listRequests(query),
    request: (id) => store.request(id),
    queue: () => store.queue(),
    countRuns: () => store.countRuns(),
    stats: (query) => store.stats(query),
    notes: store.notes,
    now: () => store.now(),
    watch: (changed) => store.watch(changed),
    migrate: () => store.migrate(),
    close: () => store.close(),
  };
}
