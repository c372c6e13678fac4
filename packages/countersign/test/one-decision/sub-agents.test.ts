// Decisions on questions inside sub-agents: races, decisions while a call runs, and invalid answers.
import { type Agent, approve, ConflictError, memoryStore, type Runs, reject } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf, type Store } from 'countersign/store';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { temporaryFolder } from '../stores/folder.ts';
import {
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
  STUCK,
  script,
  talker,
  tool,
  waiting,
  world,
} from '../sub-agents/kit.ts';

/** Approves the question about the call with this ref. */
const approvalsOf =
  (runs: Runs, cards: Awaited<ReturnType<typeof waiting>>) =>
  (ref: string): Promise<unknown> =>
    runs.decide(only(cards.filter(({ part }) => part.toolRequest.ref === ref)).id, 'approve');

/** A helper that pays slowly after an approval, with more calls beside the payment. */
const paying =
  (effects: string[], ...beside: ReturnType<typeof call>[]): Define =>
  (ai) => {
    const body = async () => {
      await delay(20);
      effects.push('paid');
      return 'paid';
    };
    const tools = [tool(ai, 'pay', body, { needsApproval: true }), question(ai, 'color')];
    return helped(ai, { tools, model: script([[call('pay'), ...beside]]) });
  };

/** Expects one success and one conflict. */
function expectOneWinner(results: readonly PromiseSettledResult<unknown>[]) {
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const loser = only(results.filter((result) => result.status === 'rejected'));
  expect(loser.reason).toBeInstanceOf(ConflictError);
}

test.each([
  ['alone', []],
  ['beside another question', [call('color')]],
])('of two different decisions on a question inside, one wins and the other fails (%s)', async (_where, beside) => {
  const { open, effects } = world();
  const define = paying(effects, ...beside);
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const { part } = of(await waiting(one.runs), 'pay');
  const two = open(define);
  const results = await Promise.allSettled([
    internalsOf(one.runs).resume(id, { approve: approve(part, { by: 'ann' }) }, { by: 'ann' }),
    internalsOf(two.runs).resume(id, { reject: reject(part, 'no', { by: 'bob' }) }, { by: 'bob' }),
  ]);
  await one.runs.settled();
  await two.runs.settled();
  expectOneWinner(results);
});

describe('in a chat', () => {
  /** Returns the first question that a message in this chat leads to. */
  async function firstQuestion(root: Agent) {
    const { interrupts } = await root.chat({ runId: 'c' }).send('Go');
    const [first] = interrupts;
    if (!first) throw new Error('Expected a question.');
    return first;
  }

  test('of two different decisions on a question inside, one wins and the other fails', async () => {
    const { open, effects } = world();
    const one = open(paying(effects));
    const two = open(paying(effects));
    const part = await firstQuestion(one.root);
    const results = await Promise.allSettled([
      one.root.chat({ runId: 'c' }).send({ resume: { approve: approve(part, { by: 'ann' }) } }),
      two.root.chat({ runId: 'c' }).send({ resume: { reject: reject(part, 'no', { by: 'bob' }) } }),
    ]);
    await one.runs.settled();
    await two.runs.settled();
    expectOneWinner(results);
  });

  test('a double click on a question inside changes nothing while another is pending beside it', async () => {
    const { open, effects } = world();
    const one = open(paying(effects, call('pay', {}, 'two')));
    const part = await firstQuestion(one.root);
    const click = () => one.root.chat({ runId: 'c' }).send({ resume: { approve: approve(part) } });
    await Promise.allSettled([click(), click()]);
    await one.runs.settled();
    expect(await one.runs.get('c')).toMatchObject({ status: 'waiting', error: null });
    expect(effects).toEqual(['paid']);
  });
});

test('every approval given while a sub-agent runs takes effect', async () => {
  const { open, takeOver, effects, store } = world();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const define: Define = (ai) => {
    const body: Parameters<typeof tool>[2] = async ({ step }, { to }) => {
      if (to === 'one') {
        begun.resolve();
        await gate.promise;
        await step('x', () => 1);
      }
      effects.push(to);
      return to;
    };
    const calls = ['one', 'two', 'three'].map((to) => call('pay', { to }, to));
    return helped(ai, { tools: [tool(ai, 'pay', body, { needsApproval: true })], model: script([calls]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const approval = approvalsOf(one.runs, await waiting(one.runs));
  await approval('one');
  await begun.promise;
  await approval('two');
  // The third approval is recorded just before the pause that includes the second is written.
  const { came } = justBefore(
    store,
    ({ type }) => type === 'call-interrupted',
    () => approval('three'),
  );
  gate.resolve();
  await one.runs.settled();
  expect(came()).toBe(true);
  const other = await takeOver(id, define);
  expect((await other.runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['one', 'two', 'three']);
});

test('an approval given while a sibling runs takes effect once, even if the process dies in the sibling', async () => {
  const { open, takeOver, effects } = world();
  const begun = Promise.withResolvers<void>();
  const define: Define = (ai, nth) => {
    const body: Parameters<typeof tool>[2] = async (_ctx, { to }) => {
      if (to === 'one' && nth === 1) {
        begun.resolve();
        await STUCK;
      }
      effects.push(to);
      return to;
    };
    const calls = ['one', 'two'].map((to) => call('pay', { to }, to));
    return helped(ai, { tools: [tool(ai, 'pay', body, { needsApproval: true })], model: script([calls]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const approval = approvalsOf(one.runs, await waiting(one.runs));
  await approval('one');
  await begun.promise;
  await approval('two');
  const other = await takeOver(id, define);
  const doubt = only(await waiting(other.runs));
  expect(doubt).toMatchObject({ kind: 'doubt', part: { toolRequest: { ref: 'one' } } });
  expect([(await other.runs.get(id)).status, effects]).toEqual(['waiting', ['two']]);
  await other.runs.decide(doubt.id, { type: 'respond', output: 'one' });
  await other.runs.settled();
  expect([(await other.runs.get(id)).status, effects]).toEqual(['done', ['two']]);
});

test('a nested tool that asks again gets its answer while its sibling still runs', async () => {
  const { open, effects } = world();
  const gate = Promise.withResolvers<void>();
  const define: Define = (ai) => {
    const asks = tool(ai, 'asks', ({ interrupt, resumed }) => {
      if (resumed !== 'second') return interrupt({ after: (resumed ?? null) as string | null });
      effects.push('asked twice');
      return 'done';
    });
    const pay = tool(ai, 'pay', () => gate.promise.then(() => 'paid'), { needsApproval: true });
    return helped(ai, { tools: [asks, pay], model: script([[call('asks'), call('pay')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const cards = await waiting(one.runs);
  await one.runs.decide(of(cards, 'asks').id, { type: 'restart', resumed: 'first' }, { drive: false });
  await one.runs.decide(of(cards, 'pay').id, 'approve');
  const again = await eventually(async () => of(await waiting(one.runs), 'asks'));
  expect(again.payload).toEqual({ after: 'first' });
  await one.runs.decide(again.id, { type: 'restart', resumed: 'second' });
  gate.resolve();
  await one.runs.settled();
  expect([(await one.runs.get(id)).status, effects]).toEqual(['done', ['asked twice']]);
});

test.each(EVERYWHERE)('a run starts no body after its cancel was acknowledged (%s)', async (where) => {
  const { open, effects, store, recorded } = world();
  const other = open((ai) => ai.defineAgent({ name: 'root', tools: [], model: script([]) }));
  const one = open((ai) => {
    // The reply comes after the start is written, so that the run can be cancelled.
    const model = script([[call('pay')]], () => delay(5));
    return placed(ai, where, { tools: [tool(ai, 'pay', () => effects.push('paid'))], model });
  });
  const starts: Parameters<typeof justBefore>[1] = (event) =>
    where === 'root'
      ? event.type === 'call-started'
      : event.type === 'call-went-on' && event.inside.some(({ type }) => type === 'call-started');
  const { came } = justBefore(store, starts, () => other.runs.cancel('c'));
  await one.root.start('Go', { runId: 'c' });
  await one.runs.settled();
  expect(came()).toBe(true);
  expect((await one.runs.get('c')).status).toBe('cancelled');
  expect(effects).toEqual([]);
  // The record has no start, and the model reads of no doubt.
  expect((await recorded('c')).match(/call-started/g) ?? []).toHaveLength(where === 'root' ? 0 : 1);
  await one.root.chat({ runId: 'c' }).send('What happened?');
  expect(JSON.stringify((await one.runs.get('c')).messages)).not.toContain('unknown whether it took effect');
});

describe('an invalid answer to a question of a tool that drives its own model', () => {
  const folder = temporaryFolder();
  afterAll(folder.remove);

  const stores: Record<string, (now: () => number) => Store> = {
    memory: (now) => memoryStore({ now }),
    sqlite: (now) => sqliteStore({ path: `${folder.path}/${crypto.randomUUID()}.db`, now }),
  };

  test.each(Object.entries(stores).flatMap(([kind, make]) => EVERYWHERE.map((where) => ({ kind, make, where }))))(
    'leaves the question pending ($kind, $where)',
    async ({ make, where }) => {
      const { open, pass, store } = world(make);
      const one = open((ai) => {
        const research = talker(ai, 'research', [question(ai, 'color')], () => script([[call('color')]]));
        return placed(ai, where, { tools: [research], model: script([[call('research')]]) });
      });
      const { id } = await one.root.start('Go');
      await one.runs.settled();
      await one.runs.decide(only(await waiting(one.runs)).id, { type: 'respond', output: 5 });
      await one.runs.settled();
      for (const afterMs of [0, 2 * LEASE_MS, 2 * LEASE_MS]) {
        pass(afterMs);
        await one.runs.drive(id);
        await one.runs.settled();
        if (where === 'inside') expect((await one.runs.get(id)).status).toBe('waiting');
        expect(only(await waiting(one.runs))).toMatchObject({ tool: 'color', kind: 'question' });
      }
      await one.runs.decide(only(await waiting(one.runs)).id, { type: 'respond', output: 'blue' });
      await one.runs.settled();
      expect((await one.runs.get(id)).status).toBe('done');
      await store.close();
    },
  );
});
