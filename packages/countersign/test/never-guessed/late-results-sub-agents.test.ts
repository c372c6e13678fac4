// Results that arrive after another process took over the run, at the root and inside sub-agents.
import { ConflictError, ProviderError, type RunEvent } from 'countersign';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { eventually } from '../eventually.ts';
import {
  above,
  ask,
  call,
  type Define,
  delay,
  EVERYWHERE,
  LEASE_MS,
  only,
  placed,
  question,
  script,
  tool,
  type Where,
  waiting,
  world,
} from '../sub-agents/kit.ts';

/** A body that records its start and returns the answer of the bank. */
function asksBank(effects: string[], bank: { readonly promise: Promise<string> }) {
  return () => {
    effects.push('pay');
    return bank.promise;
  };
}

/** The first process is stuck in two bodies. The second takes over and asks about both. */
async function twoInDoubt(where: Where) {
  const { open, takeOver, effects, store } = world();
  const bank = Promise.withResolvers<void>();
  const define: Define = (ai, nth) => {
    const tools = ['one', 'two'].map((name) =>
      tool(ai, name, async () => {
        effects.push(name);
        if (nth === 1) await bank.promise;
        return `${name} done`;
      }),
    );
    return placed(ai, where, { tools, model: script([[call('one'), call('two')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await eventually(() => expect(effects).toHaveLength(2));
  const two = await takeOver(id, define);
  return { id, one, two, effects, store, wake: bank.resolve };
}

test.each(EVERYWHERE)('two late results at the same moment settle both doubts (%s)', async (where) => {
  const { id, one, two, effects, wake } = await twoInDoubt(where);
  expect(await waiting(two.runs)).toHaveLength(2);
  wake();
  await one.runs.settled();
  await eventually(async () => expect((await two.runs.get(id)).status).toBe('done'));
  expect(await waiting(two.runs)).toEqual([]);
  expect(effects).toHaveLength(2);
});

describe.each<Where | 'two deep'>([...EVERYWHERE, 'two deep'])('after a person settled the doubt (%s)', (where) => {
  /** The first process is stuck in its body. The second takes over and asks how the call ended. */
  async function inDoubt(thinks?: (nth: number, turn: number) => void) {
    const theWorld = world();
    const { open, takeOver, effects } = theWorld;
    const bank = Promise.withResolvers<string>();
    const define: Define = (ai, nth) => {
      const pay = tool(ai, 'pay', async () => {
        effects.push('pay');
        return nth === 1 ? bank.promise : 'second';
      });
      const model = script([[call('pay')], [call('color')]], (turn) => thinks?.(nth, turn));
      const config = { tools: [pay, question(ai, 'color')], model };
      if (where !== 'two deep') return placed(ai, where, config);
      const deep = ai.defineAgent({ name: 'deep', ...config });
      return above(ai, ai.defineAgent({ name: 'helper', tools: [deep], model: script([[ask('deep')]]) }));
    };
    const one = open(define);
    const { id } = await one.root.start('Go');
    await eventually(() => expect(effects).toHaveLength(1));
    const two = await takeOver(id, define);
    const doubt = only(await waiting(two.runs));
    expect(doubt.kind).toBe('doubt');
    /** Wakes the first process and waits until it has nothing left to do. */
    const wake = async (output: string) => {
      bank.resolve(output);
      for (let i = 0; i < 5; i++) {
        await one.runs.settled();
        await delay(20);
      }
    };
    const late = async () => (await two.runs.recorded(id)).flatMap(lateIn);
    /** Answers the question that follows the payment. */
    const end = async () => {
      const last = only(await waiting(two.runs));
      expect(last.tool).toBe('color');
      await two.runs.decide(last.id, { type: 'respond', output: 'red' });
      await two.runs.settled();
      return two.runs.get(id);
    };
    return { ...theWorld, id, one, two, doubt, wake, late, end };
  }

  test.each([
    ['by a retry', 'approve', 'first', ['first']],
    ['by a retry with the same output', 'approve', 'second', ['second']],
    ['with another output', { type: 'respond', output: 'said' }, 'first', ['first']],
    ['with the same output', { type: 'respond', output: 'first' }, 'first', []],
    ['by rejecting', { type: 'reject', reason: 'leave it' }, 'first', ['first']],
  ] as const)('%s, a late result is recorded without changing the run', async (_how, decision, output, lateOutputs) => {
    const { id, two, doubt, wake, late, end } = await inDoubt();
    await two.runs.decide(doubt.id, decision);
    await two.runs.settled();
    const before = await two.runs.get(id);
    expect(before.status).toBe('waiting');
    await wake(output);
    expect(await late()).toEqual(lateOutputs);
    const { status, messages, pending } = await two.runs.get(id);
    expect({ status, messages, pending }).toEqual({
      status: 'waiting',
      messages: before.messages,
      pending: before.pending,
    });
    expect(await end()).toMatchObject({ status: 'done' });
    expect(await two.runs.verify(id)).toMatchObject({ ok: true });
  });

  test('a late result is recorded on a completed run', async () => {
    const { id, two, doubt, wake, late, end, effects } = await inDoubt();
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    const { messages } = await end();
    await wake('first');
    expect(await late()).toEqual(['first']);
    expect(await two.runs.get(id)).toMatchObject({ status: 'done', messages });
    expect(await two.runs.verify(id)).toMatchObject({ ok: true });
    expect(effects).toHaveLength(2);
    await two.runs.delete(id);
  });

  test('a late result is recorded on a run cancelled meanwhile', async () => {
    const { id, two, wake, late } = await inDoubt();
    await two.runs.cancel(id);
    await wake('first');
    expect(await late()).toEqual(['first']);
    const fact = (await two.runs.recorded(id)).find(({ type }) => type === 'call-ended-late');
    expect(fact && 'path' in fact ? fact.path : []).toHaveLength(['root', 'inside', 'two deep'].indexOf(where));
    expect((await two.runs.get(id)).status).toBe('cancelled');
    expect(await two.runs.verify(id)).toMatchObject({ ok: true });
  });

  test('a late result is recorded on a failed run, which stays failed until it is driven', async () => {
    let isBroken = true;
    const { id, two, doubt, wake, late, end } = await inDoubt((nth, turn) => {
      if (nth === 2 && turn === 1 && isBroken) throw new Error('The model is away.');
    });
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    const before = await two.runs.get(id);
    expect(before.status).toBe('failed');
    await wake('first');
    expect(await late()).toEqual(['first']);
    const after = await two.runs.get(id);
    expect(after).toMatchObject({ status: 'failed', error: before.error, messages: before.messages });
    expect(await two.runs.verify(id)).toMatchObject({ ok: true });
    isBroken = false;
    await two.runs.drive(id);
    await two.runs.settled();
    expect(await end()).toMatchObject({ status: 'done' });
  });

  test('a decision made while the late result is written does not stop the run', async () => {
    const { id, two, doubt, wake, late, end, store } = await inDoubt();
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    const append = store.append.bind(store);
    const decided = Promise.withResolvers<void>();
    store.append = async (given) => {
      const appended = await append(given);
      if (given.events.flatMap(lateIn).length > 0) await end().finally(decided.resolve);
      return appended;
    };
    await wake('first');
    await decided.promise;
    expect(await late()).toEqual(['first']);
    expect(await two.runs.get(id)).toMatchObject({ status: 'done' });
  });

  test('a late result is recorded once when the store fails right after writing it', async () => {
    const { id, two, doubt, wake, late, store, pass } = await inDoubt();
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    const [append, read] = [store.append.bind(store), store.read.bind(store)];
    const away = () => new ProviderError('store-failed', {}, 'The store is away.', { retryable: true });
    store.append = async (given) => {
      await append(given);
      store.read = async () => {
        throw away();
      };
      store.append = async () => {
        // Longer than the journal retries a write.
        pass(31_000);
        Object.assign(store, { append, read });
        throw away();
      };
      throw away();
    };
    await wake('first');
    expect(await late()).toEqual(['first']);
    expect(await two.runs.verify(id)).toMatchObject({ ok: true });
  });

  test('a late result is recorded once when the store fails before writing it', async () => {
    const { two, doubt, wake, late, store, pass } = await inDoubt();
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    const append = store.append.bind(store);
    store.append = async (given) => {
      if (given.events.flatMap(lateIn).length === 0) return append(given);
      pass(31_000);
      store.append = append;
      throw new ProviderError('store-failed', {}, 'The store is away.', { retryable: true });
    };
    await wake('first');
    expect(await late()).toEqual(['first']);
  });

  test('a stop does not wait long for a store that rejects writes', async () => {
    const { one, two, doubt, wake, late, store, pass } = await inDoubt();
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    const tried = Promise.withResolvers<void>();
    const append = store.append.bind(store);
    let tries = 0;
    store.append = async (given) => {
      if (given.events.flatMap(lateIn).length === 0) return append(given);
      tries += 1;
      tried.resolve();
      pass(31_000);
      throw new ProviderError('store-failed', {}, 'The store is read-only.', { retryable: true });
    };
    const woken = wake('first');
    await tried.promise;
    await one.runs.stop();
    await woken;
    expect(tries).toBeLessThan(4);
    expect(await late()).toEqual([]);
  });

  test('a late result is recorded after many version conflicts, even during a stop', async () => {
    const { one, two, doubt, wake, late, store, pass } = await inDoubt();
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    const append = store.append.bind(store);
    let others = 60;
    store.append = async (given) => {
      pass(31_000);
      if (others-- > 0) throw new ConflictError('stale-version', {}, 'Another writer was first.');
      return append(given);
    };
    await Promise.all([one.runs.stop(), wake('first')]);
    expect(await late()).toEqual(['first']);
  });
});

test.each(EVERYWHERE)('two tries with equal late results are both recorded (%s)', async (where) => {
  const { open, takeOver, effects } = world();
  const bank = Promise.withResolvers<string>();
  const define: Define = (ai) => {
    const pay = tool(ai, 'pay', asksBank(effects, bank));
    return placed(ai, where, { tools: [pay], model: script([[call('pay')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await eventually(() => expect(effects).toHaveLength(1));
  const two = await takeOver(id, define);
  await two.runs.decide(only(await waiting(two.runs)).id, 'approve');
  await eventually(() => expect(effects).toHaveLength(2));
  const three = await takeOver(id, define);
  await three.runs.decide(only(await waiting(three.runs)).id, { type: 'respond', output: 'said' });
  await three.runs.settled();
  bank.resolve('paid');
  const late = async () => (await three.runs.recorded(id)).flatMap(lateIn);
  await eventually(async () => expect(await late()).toEqual(['paid', 'paid']));
});

test.each(EVERYWHERE)('a stopping process records a late result once the failed store is back (%s)', async (where) => {
  const { open, takeOver, effects, store } = world();
  const bank = Promise.withResolvers<string>();
  const define: Define = (ai) => {
    return placed(ai, where, { tools: [tool(ai, 'pay', asksBank(effects, bank))], model: script([[call('pay')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await eventually(() => expect(effects).toHaveLength(1));
  const two = await takeOver(id, define);
  // The first process learns that it lost the run, and stops driving it.
  await one.runs.drive(id).catch(() => undefined);
  const read = store.read.bind(store);
  let fails = 3;
  store.read = async (...given) => {
    if (fails-- > 0) throw new ProviderError('store-failed', {}, 'The store is away.', { retryable: true });
    return read(...given);
  };
  bank.resolve('first');
  await eventually(() => expect(fails).toBeLessThan(3));
  await one.runs.stop();
  expect(await waiting(two.runs)).toEqual([]);
  await two.runs.drive(id);
  expect((await two.runs.wait(id)).text).toContain('first');
});

describe.each(EVERYWHERE)(
  'a process that read new events but does not know yet that it lost its claim (%s)',
  (where) => {
    test.each([
      ['settles the doubt with its result', undefined, []],
      [
        'records its result as late after a person settled the doubt',
        { type: 'respond', output: 'said' } as const,
        ['first'],
      ],
    ])('%s', async (_what, decision, lateOutputs) => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      const { open, takeOver, effects, store } = world();
      const bank = Promise.withResolvers<string>();
      const define: Define = (ai) => {
        const tools = [tool(ai, 'pay', asksBank(effects, bank)), question(ai, 'color')];
        return placed(ai, where, { tools, model: script([[call('pay')], [call('color')]]) });
      };
      const one = open(define);
      const { id } = await one.root.start('Go');
      await eventually(() => expect(effects).toHaveLength(1));
      // It renews its claim and stalls before it reads the new events.
      const read = store.read.bind(store);
      const [stalled, awake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      store.read = async (...given) => {
        store.read = read;
        stalled.resolve();
        await awake.promise;
        return read(...given);
      };
      vi.advanceTimersByTime(LEASE_MS / 2);
      await stalled.promise;
      const two = await takeOver(id, define);
      if (decision) await two.runs.decide(only(await waiting(two.runs)).id, decision);
      await two.runs.settled();
      awake.resolve();
      await delay(20);
      bank.resolve('first');
      await eventually(async () => {
        await one.runs.settled();
        expect(only(await waiting(two.runs)).tool).toBe('color');
        expect((await two.runs.recorded(id)).flatMap(lateIn)).toEqual(lateOutputs);
      });
      expect(await two.runs.verify(id)).toMatchObject({ ok: true });
      expect(effects).toHaveLength(1);
    });
  },
);

test.each(EVERYWHERE)(
  'a late result that cannot be recorded causes a warning, and the next one is recorded (%s)',
  async (where) => {
    const { two, store, wake } = await twoInDoubt(where);
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const read = store.read.bind(store);
    let fails = 1;
    store.read = async (...given) => {
      if (fails-- > 0) throw new ProviderError('store-failed', {}, 'It has no rights.', { retryable: false });
      return read(...given);
    };
    wake();
    await eventually(async () => expect(await waiting(two.runs)).toHaveLength(1));
    await eventually(() => expect(warnings).toHaveBeenCalled());
    const said = warnings.mock.calls.map(([message]) => String(message));
    warnings.mockRestore();
    expect(said).toEqual([
      expect.stringMatching(/^Call .* of run .* could not be recorded: It has no rights\. Check what/),
    ]);
  },
);

test.each([
  ['finds nothing: the result settles the call', undefined, 'first', []],
  ['finds another output: the result is recorded as late', { output: 'found' }, 'found', ['first']],
])('a result arrives inside a sub-agent while verify runs and %s', async (_what, found, answer, lateOutputs) => {
  const { open, takeOver, effects } = world();
  const bank = Promise.withResolvers<string>();
  const looks = Promise.withResolvers<void>();
  const look = Promise.withResolvers<typeof found>();
  const verify = () => {
    looks.resolve();
    return look.promise;
  };
  const define: Define = (ai) => {
    const pay = tool(ai, 'pay', asksBank(effects, bank), { verify });
    return placed(ai, 'inside', { tools: [pay], model: script([[call('pay')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await eventually(() => expect(effects).toHaveLength(1));
  const takenOver = takeOver(id, define);
  await looks.promise;
  bank.resolve('first');
  await delay(100);
  look.resolve(found);
  const two = await takenOver;
  await one.runs.settled();
  await eventually(async () => expect((await two.runs.get(id)).status).toBe('done'));
  expect((await two.runs.get(id)).text).toContain(answer);
  expect((await two.runs.recorded(id)).flatMap(lateIn)).toEqual(lateOutputs);
  expect(effects).toHaveLength(1);
});

/** Returns the outputs recorded as late. Nested ones are recorded at the root too. */
function lateIn(event: RunEvent): readonly unknown[] {
  return event.type === 'call-ended-late' && event.result.type === 'output' ? [event.result.output] : [];
}
