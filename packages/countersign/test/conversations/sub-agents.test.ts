// Messages sent while a sub-agent runs or waits.

import { ProviderError, UsageError } from 'countersign';
import { internalsOf } from 'countersign/store';
import { expect, test } from 'vitest';
import { hear } from '../../src/loop/generate.ts';
import { eventually } from '../eventually.ts';
import {
  ask,
  call,
  type Define,
  EVERYWHERE,
  helped,
  justBefore,
  LEASE_MS,
  only,
  payTool,
  placed,
  STUCK,
  script,
  tool,
  waiting,
  world,
} from '../sub-agents/kit.ts';

const WAYS = ['cancel', 'queue', 'refuse'] as const;

/** Expects the message to be rejected with `refuse`, and accepted otherwise. */
async function expectHeard(saying: Promise<unknown>, whilePending: (typeof WAYS)[number]) {
  const refusal = await saying.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (whilePending === 'refuse') expect(refusal).toBeInstanceOf(UsageError);
  else expect(refusal).toBeUndefined();
}

test.each(WAYS)('a message waits until a running sub-agent pauses or ends: %s', async (whilePending) => {
  const { open, effects } = world();
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const define: Define = (ai) => {
    const slow = tool(ai, 'slow', async () => {
      begun.resolve();
      await gate.promise;
      effects.push('slow');
      return 1;
    });
    const after = tool(ai, 'after', () => effects.push('after'));
    return helped(ai, { tools: [slow, after], model: script([[call('slow')], [call('after')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await begun.promise;
  const two = open(define);
  const says = [{ role: 'user' as const, content: [{ text: 'Stop!' }] }];
  const saying = internalsOf(two.runs).speak(id, (run) => hear(run, says, whilePending, new Set()));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(JSON.stringify(await two.runs.recorded(id))).not.toContain('Stop!');
  gate.resolve();
  await saying;
  await one.runs.settled();
  await two.runs.settled();
  expect((await two.runs.get(id)).status).toBe('done');
  expect((await two.runs.verify(id)).ok).toBe(true);
  expect(JSON.stringify(await two.runs.recorded(id))).toContain('Stop!');
  expect(effects).toEqual(['slow', 'after']);
});

test.each(WAYS)('a message reaches a sub-agent that waits after some of its calls ran: %s', async (whilePending) => {
  const { open, effects } = world();
  const one = open((ai) => {
    const free = tool(ai, 'free', () => {
      effects.push('free');
      return 0;
    });
    const body = () => {
      effects.push('paid');
      return null;
    };
    const pay = tool(ai, 'pay', body, { needsApproval: true });
    const turns = [[call('free')], [call('pay'), call('pay', {}, 'second')]];
    return helped(ai, { tools: [free, pay], model: script(turns) });
  });
  const chat = one.root.chat({ runId: 'c', whilePending });
  expect((await chat.send('Go')).interrupts).toHaveLength(2);
  await expectHeard(chat.send({ prompt: 'Hm', whilePending }), whilePending);
  await one.runs.settled();
  const [first, second] = await waiting(one.runs);
  if (whilePending === 'cancel') {
    expect(first).toBeUndefined();
  } else {
    await one.runs.decide(second?.id ?? '', 'approve');
    await one.runs.decide(first?.id ?? '', 'reject');
    await one.runs.settled();
  }
  expect((await one.runs.get('c')).status).toBe('done');
  expect(effects).toEqual(whilePending === 'cancel' ? ['free'] : ['free', 'paid']);
});

test.each([...EVERYWHERE, 'deeper'] as const)(
  'a message in a failed run does not withdraw a doubt that was not asked yet: %s',
  async (where) => {
    const { open, store, effects } = world();
    const { root, runs } = open((ai) => {
      const pays = { tools: [payTool(ai, effects)], model: script([[call('pay')]]) };
      if (where !== 'deeper') return placed(ai, where, pays);
      return helped(ai, { tools: [ai.defineAgent({ name: 'deputy', ...pays })], model: script([[ask('deputy')]]) });
    });
    const { id } = await root.start('Go');
    await runs.wait(id);
    const isResult = (event: object) => JSON.stringify(event).includes('"call-settled"');
    justBefore(store, isResult, async () => {
      throw new ProviderError('store-failed', {}, 'It is too large.', { retryable: false });
    });
    await runs.decide(only(await waiting(runs)).id, 'approve');
    expect(await runs.wait(id)).toMatchObject({ status: 'failed', pending: [] });
    // The doubt was not asked yet, so this message cannot withdraw it.
    await root.generate({ runId: id, prompt: 'And?' });
    expect(only(await waiting(runs))).toMatchObject({ tool: 'pay', kind: 'doubt' });
    expect(await root.generate({ runId: id, prompt: 'Never mind.' })).toMatchObject({ finishReason: 'stop' });
    expect(await waiting(runs)).toEqual([]);
    expect(effects).toEqual(['pay']);
  },
);

test('a message does not take back an approval inside a sub-agent that failed beside it', async () => {
  const { open, effects } = world();
  const mayFail = Promise.withResolvers<void>();
  const { root, runs } = open((ai) => {
    const fails = tool(ai, 'fails', async () => {
      await mayFail.promise;
      throw new Error('no connection');
    });
    const tools = [fails, payTool(ai, effects)];
    return helped(ai, { tools, model: script([[call('fails'), call('pay')]]), onToolError: 'throw' });
  });
  const { id } = await root.start('Go');
  await eventually(async () => expect(await waiting(runs)).toHaveLength(1));
  await runs.decide(only(await waiting(runs)).id, 'approve');
  mayFail.resolve();
  expect(await runs.wait(id)).toMatchObject({ status: 'failed', pending: [] });
  expect(effects).toEqual([]);
  await root.generate({ runId: id, prompt: 'And?' });
  expect(effects).toEqual(['pay']);
  expect((await runs.get(id)).status).toBe('done');
});

test.each(EVERYWHERE)(
  'a message sent after one doubt and before the next does not withdraw the next: %s',
  async (where) => {
    const { open, takeOver, pass, effects } = world();
    const define: Define = (ai) => {
      const body = () => {
        effects.push('pay');
        return STUCK;
      };
      const pay = tool(ai, 'pay', body, { needsApproval: true });
      return placed(ai, where, {
        tools: [pay],
        model: script([[call('pay', {}, 'first'), call('pay', {}, 'second')]]),
      });
    };
    const one = open(define);
    const { interrupts } = await one.root.generate({ runId: 'c', prompt: 'Go' });
    await internalsOf(one.runs).resume('c', { approve: interrupts });
    await eventually(() => expect(effects).toHaveLength(2));
    const two = await takeOver('c', define);
    const [first, second] = await waiting(two.runs);
    const { version } = await two.runs.get('c');
    await two.runs.decide(second?.id ?? '', 'approve');
    await eventually(() => expect(effects).toHaveLength(3));
    pass(2 * LEASE_MS);
    const three = open(define);
    const says = [{ role: 'user' as const, content: [{ text: 'Stop!' }] }];
    await internalsOf(three.runs).speak('c', (run, kept) => hear(run, says, 'cancel', kept), { seen: version });
    await three.runs.settled();
    const left = (await waiting(three.runs)).map(({ id }) => id);
    // A sub-agent keeps or withdraws its questions as a whole.
    expect(left).toEqual([...(where === 'inside' ? [first?.id] : []), expect.not.stringMatching(`^${second?.id}$`)]);
    expect(effects).toHaveLength(3);
  },
);
