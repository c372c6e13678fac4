// Results that come after another process has taken the run over.
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

/** A body that says that it has begun, and comes to what the bank says. */
function asksBank(effects: string[], bank: { readonly promise: Promise<string> }) {
  return () => {
    effects.push('pay');
    return bank.promise;
  };
}

/** The first process is stuck in two bodies; the second one takes over, and a person is asked about both. */
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

test.each(EVERYWHERE)('two results that come late in the same moment both settle their doubt (%s)', async (where) => {
  const { id, one, two, effects, wake } = await twoInDoubt(where);
  expect(await waiting(two.runs)).toHaveLength(2);
  wake();
  await one.runs.settled();
  await eventually(async () => expect((await two.runs.get(id)).status).toBe('done'));
  expect(await waiting(two.runs)).toEqual([]);
  expect(effects).toHaveLength(2);
});

describe.each<Where | 'two deep'>([...EVERYWHERE, 'two deep'])('after a person has settled the doubt (%s)', (where) => {
  /** The first process is stuck in its body; the second one takes over, and a person is asked how it ended. */
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
    expect(doubt.kind).toBe('unknown-outcome');
    /** The first one wakes up. Whatever comes of that has come of it. */
    const wake = async (output: string) => {
      bank.resolve(output);
      for (let i = 0; i < 5; i++) {
        await one.runs.settled();
        await delay(20);
      }
    };
    const late = async () => (await two.runs.recorded(id)).flatMap(lateIn);
    /** Answers the question that comes after the payment. */
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
    ['another try', 'approve', 'first', ['first']],
    ['another try that came to the same', 'approve', 'second', ['second']],
    ['what it had done', { type: 'respond', output: 'said' }, 'first', ['first']],
    ['the very same', { type: 'respond', output: 'first' }, 'first', []],
    ['that it is left', { type: 'reject', reason: 'leave it' }, 'first', ['first']],
  ] as const)('with %s, what comes late is on record', async (_how, decision, output, told) => {
    const { id, two, doubt, wake, late, end } = await inDoubt();
    await two.runs.decide(doubt.id, decision);
    await two.runs.settled();
    const before = await two.runs.get(id);
    expect(before.status).toBe('waiting');
    await wake(output);
    expect(await late()).toEqual(told);
    const { status, messages, pending } = await two.runs.get(id);
    expect({ status, messages, pending }).toEqual({
      status: 'waiting',
      messages: before.messages,
      pending: before.pending,
    });
    expect(await end()).toMatchObject({ status: 'done' });
    expect(await two.runs.verify(id)).toMatchObject({ ok: true });
  });

  test('and the run is over, what comes late is on record', async () => {
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

  test('by cancelling the run, what comes late is on record', async () => {
    const { id, two, wake, late } = await inDoubt();
    await two.runs.cancel(id);
    await wake('first');
    expect(await late()).toEqual(['first']);
    const fact = (await two.runs.recorded(id)).find(({ type }) => type === 'call-ended-late');
    expect(fact && 'path' in fact ? fact.path : []).toHaveLength(['root', 'inside', 'two deep'].indexOf(where));
    expect((await two.runs.get(id)).status).toBe('cancelled');
    expect(await two.runs.verify(id)).toMatchObject({ ok: true });
  });

  test('and the run has failed, what comes late is on record, and it stays failed until it is driven', async () => {
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

  test('and decides the next question just when that is put on record, the run goes on', async () => {
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

  test('and the store goes away for long just after taking what comes late, it is on record once', async () => {
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
        // Longer than a write is tried for.
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

  test('and the store was away for long before it took what comes late, it is on record once', async () => {
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

  test('and the store takes no writes any more, a stop does not wait for long', async () => {
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

  test('and others are first each time, what comes late is on record, also before a stop', async () => {
    const { one, two, doubt, wake, late, store, pass } = await inDoubt();
    await two.runs.decide(doubt.id, 'approve');
    await two.runs.settled();
    const append = store.append.bind(store);
    let others = 60;
    store.append = async (given) => {
      pass(31_000);
      if (others-- > 0) throw new ConflictError('stale-version', {}, 'Somebody else was first.');
      return append(given);
    };
    await Promise.all([one.runs.stop(), wake('first')]);
    expect(await late()).toEqual(['first']);
  });
});

test.each(EVERYWHERE)(
  'two tries that come late to the same in the same moment are both on record (%s)',
  async (where) => {
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
  },
);

test.each(EVERYWHERE)(
  'a late result is told although the store is away, before the process stops (%s)',
  async (where) => {
    const { open, takeOver, effects, store } = world();
    const bank = Promise.withResolvers<string>();
    const define: Define = (ai) => {
      return placed(ai, where, { tools: [tool(ai, 'pay', asksBank(effects, bank))], model: script([[call('pay')]]) });
    };
    const one = open(define);
    const { id } = await one.root.start('Go');
    await eventually(() => expect(effects).toHaveLength(1));
    const two = await takeOver(id, define);
    // The first one hears that it has lost the run, and stops driving it.
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
  },
);

describe.each(EVERYWHERE)(
  'who has read what others recorded, and not heard yet that the run is theirs (%s)',
  (where) => {
    test.each([
      ['settles the doubt', undefined, []],
      ['has what comes late on record', { type: 'respond', output: 'said' } as const, ['first']],
    ])('%s', async (_what, decision, told) => {
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
      // It renews its claim, and is stalled before it reads what is new.
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
        expect((await two.runs.recorded(id)).flatMap(lateIn)).toEqual(told);
      });
      expect(await two.runs.verify(id)).toMatchObject({ ok: true });
      expect(effects).toHaveLength(1);
    });
  },
);

test.each(EVERYWHERE)(
  'a late result that cannot be recorded is told by a warning, and the next one is not lost (%s)',
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
  ['finds nothing: it settles the doubt', undefined, 'first', []],
  ['finds something else: it is on record', { output: 'found' }, 'found', ['first']],
])('what comes late while others look it up inside, which %s', async (_what, found, answer, told) => {
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
  expect((await two.runs.recorded(id)).flatMap(lateIn)).toEqual(told);
  expect(effects).toHaveLength(1);
});

/** What bodies came to too late, at the root or inside: all of it is told at the root. */
function lateIn(event: RunEvent): readonly unknown[] {
  return event.type === 'call-ended-late' && event.result.type === 'output' ? [event.result.output] : [];
}
