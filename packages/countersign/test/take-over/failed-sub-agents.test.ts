// Runs that fail inside a sub-agent and resume.
import { type DecideOptions, ProviderError, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import {
  ask,
  type Calls,
  call,
  type Define,
  delay,
  EVERYWHERE,
  helped,
  justBefore,
  LEASE_MS,
  of,
  only,
  placed,
  question,
  script,
  tool,
  waiting,
  world,
} from '../sub-agents/kit.ts';

test.each(EVERYWHERE)('a pending question of a failed run can be answered (%s)', async (where) => {
  const { open, effects } = world();
  let down = true;
  const one = open((ai) => {
    const body = () => {
      effects.push('paid');
      return 'paid';
    };
    const deputy = ai.defineAgent({
      name: 'deputy',
      tools: [tool(ai, 'pay', body, { needsApproval: true })],
      model: script([[call('pay')]], (turn) => {
        if (turn === 1 && down) throw new Error('down');
      }),
    });
    const model = script([[ask('deputy'), call('color')]]);
    return placed(ai, where, { tools: [deputy, question(ai, 'color')], model });
  });
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  expect(await waiting(one.runs)).toHaveLength(2);
  await one.runs.decide(of(await waiting(one.runs), 'pay').id, 'approve');
  await one.runs.settled();
  expect((await one.runs.get(id)).status).toBe('failed');
  down = false;
  await one.runs.decide(of(await waiting(one.runs), 'color').id, { type: 'respond', output: 'blue' });
  await one.runs.settled();
  expect((await one.runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['paid']);
});

test('a sub-agent with invalid output is asked for it again, and no call is repeated', async () => {
  const { open, effects } = world();
  let reply = 'nope';
  let asked = 0;
  const define: Define = (ai) => {
    const free = tool(ai, 'free', () => {
      effects.push('free');
      return 0;
    });
    const model = script([[call('free')]], (turn, messages) => {
      if (turn === 0) return undefined;
      expect(messages.at(-1)?.role).not.toBe('model');
      asked += 1;
      return reply;
    });
    return helped(ai, { output: { schema: z.object({ n: z.number() }) }, tools: [free], model });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  expect((await one.runs.get(id)).status).toBe('failed');
  reply = '{"n":0}';
  const two = open(define);
  await two.runs.drive(id);
  await two.runs.settled();
  expect(await two.runs.get(id)).toMatchObject({ status: 'done', text: 'end: [{"n":0}]' });
  expect(effects).toEqual(['free']);
  expect(asked).toBe(2);
});

test('a call beside one whose error is thrown inside can still be approved', async () => {
  const { open, effects } = world();
  const one = open((ai) => {
    const bad = tool(ai, 'bad', () => {
      effects.push('bad');
      throw new Error('broken');
    });
    const pay = tool(ai, 'pay', () => effects.push('paid'), { needsApproval: true });
    return helped(ai, { onToolError: 'throw', tools: [bad, pay], model: script([[call('bad'), call('pay')]]) });
  });
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.drive(id);
  await one.runs.settled();
  await one.runs.decide(only((await one.runs.get(id)).pending), 'approve');
  await one.runs.settled();
  expect((await one.runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['bad', 'paid']);
});

describe('a run that fails at the moment of a decision', () => {
  /** A root with `a`, whose model fails on demand, and `b`, which waits for the approval of a payment. */
  async function failing(beside: Calls, options: DecideOptions | 'sleeps') {
    const { open, effects, store, pass } = world();
    const mayFail = Promise.withResolvers<void>();
    const model = { down: true };
    const define: Define = (ai) => {
      const a = ai.defineAgent({
        name: 'a',
        tools: [],
        model: script([], async () => {
          if (!model.down) return;
          await mayFail.promise;
          throw new Error('The model is down.');
        }),
      });
      const pay = tool(ai, 'pay', () => effects.push('paid'), { needsApproval: true });
      const b = ai.defineAgent({ name: 'b', tools: [pay], model: script([[call('pay')]]) });
      const send = tool(ai, 'send', async () => {
        effects.push('sent');
        await mayFail.promise;
        return 'sent';
      });
      return ai.defineAgent({
        name: 'root',
        tools: [a, b, send],
        model: script([[ask('a'), ask('b'), ...beside]]),
      });
    };
    const one = open(define);
    const { id } = await one.root.start('Go');
    await eventually(async () => expect(await waiting(one.runs)).toHaveLength(1));
    const card = only(await waiting(one.runs));
    const two = open(define);
    const { came } = justBefore(
      store,
      ({ type }) => type === 'run-failed',
      async () => {
        if (options === 'sleeps') {
          pass(2 * LEASE_MS);
          await two.runs.drive(id);
          await two.runs.settled();
        } else await two.runs.decide(card.id, 'approve', options);
      },
    );
    mayFail.resolve();
    await one.runs.settled();
    await two.runs.settled();
    expect(came()).toBe(true);
    return { id, two, effects, model, pass };
  }

  test('is failed, and completes when it is driven again', async () => {
    const { id, two, effects, model } = await failing([], { by: 'ann' });
    expect((await two.runs.get(id)).status).toBe('failed');
    model.down = false;
    await two.runs.drive(id);
    await two.runs.settled();
    expect((await two.runs.get(id)).status).toBe('done');
    expect(effects).toEqual(['paid']);
  });

  test('keeps the result of a tool that ended at that moment', async () => {
    const { id, two, pass } = await failing([call('send')], { by: 'ann', drive: false });
    pass(2 * LEASE_MS);
    await two.runs.drive(id);
    await two.runs.settled();
    const doubts = (await waiting(two.runs)).filter(({ kind }) => kind === 'doubt');
    expect(doubts).toEqual([]);
  });

  test('keeps that result even if another process took over at that moment', async () => {
    const { two, effects } = await failing([call('send')], 'sleeps');
    await eventually(async () => expect((await waiting(two.runs)).map(({ tool }) => tool)).toEqual(['pay']));
    expect(effects).toEqual(['sent']);
  });
});

test.each([
  ['at once', 0],
  ['slowly', 20],
  ['not', undefined],
])('a failure after a deadline that came second does not block the run: released %s', async (_how, ms) => {
  const { open, effects, store, pass } = world();
  const define: Define = (ai) => {
    const pay = tool(ai, 'pay', () => effects.push('paid'), { needsApproval: true, expiresIn: 1_000 });
    const model = script([[call('pay')]], (turn) => {
      if (turn === 1) throw new Error('The model is down.');
    });
    return ai.defineAgent({ name: 'root', tools: [pay], model });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const card = only(await waiting(one.runs));
  // Decided in time, and on its way until the deadline and the failure after it are about to be written.
  const isDue = Promise.withResolvers<void>();
  const { came } = justBefore(
    store,
    (event) => event.type === 'decision-made' && event.decision.by === 'ann',
    () => isDue.promise,
  );
  const two = open(define);
  const deciding = two.runs.decide(card.id, 'approve', { by: 'ann', drive: false });
  await eventually(() => expect(came()).toBe(true));
  justBefore(
    store,
    ({ type }) => type === 'run-failed',
    async () => {
      isDue.resolve();
      await deciding;
    },
  );
  pass(2_000);
  const release = store.release.bind(store);
  store.release = async (...args) => {
    if (ms === undefined) throw new ProviderError('store-failed', {}, 'away', { retryable: true });
    await delay(ms);
    return release(...args);
  };
  await one.runs.drive(id);
  await one.runs.settled();
  // A claim that could not be released lapses.
  if (ms === undefined) {
    expect(effects).toEqual([]);
    pass(2 * LEASE_MS);
    await two.runs.drive(id);
    await two.runs.settled();
  }
  expect(effects).toEqual(['paid']);
  expect((await one.runs.get(id)).status).toBe('failed');
});
