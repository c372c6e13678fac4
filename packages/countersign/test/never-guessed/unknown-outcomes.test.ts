// Calls at the root or inside sub-agents that started and have an unknown outcome.
import { type AgentConfig, NotPerformed } from 'countersign';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import {
  ask,
  call,
  type Define,
  EVERYWHERE,
  helped,
  LEASE_MS,
  only,
  placed,
  STUCK,
  script,
  talker,
  tool,
  waiting,
  world,
} from '../sub-agents/kit.ts';

test.each(EVERYWHERE)(
  'a message sent while a call is in doubt tells the model that the outcome is unknown (%s)',
  async (where) => {
    const { open, takeOver, effects } = world();
    const define: Define = (ai, nth) => {
      const pay = tool(ai, 'pay', () => {
        effects.push('paid');
        return nth === 1 ? STUCK : 1;
      });
      return placed(ai, where, { tools: [pay], model: script([[call('pay')]]) });
    };
    await open(define).root.start('Go', { runId: 'c' });
    await eventually(() => expect(effects).toEqual(['paid']));
    const two = await takeOver('c', define);
    expect(only(await waiting(two.runs))).toMatchObject({ kind: 'doubt', tool: 'pay' });
    const { text } = await two.root.chat({ runId: 'c' }).send('Never mind');
    expect(text).toMatch(/unknown whether it took effect/);
  },
);

test.each([
  ['an idempotent tool', true],
  ['a tool that a person ran again', false],
])('%s that did nothing the second time may have acted the first time', async (_name, idempotent) => {
  const { open, takeOver, effects } = world();
  const define: Define = (ai, nth) => {
    const body = () => {
      effects.push(`start ${nth}`);
      if (nth === 1) return STUCK;
      throw new NotPerformed('The other side refused.');
    };
    return placed(ai, 'root', {
      tools: [tool(ai, 'pay', body, { needsApproval: true, idempotent })],
      model: script([[call('pay')]]),
    });
  };
  const one = open(define);
  await one.root.start('Go', { runId: 'c' });
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)), 'approve', { by: 'ann' });
  await eventually(() => expect(effects).toEqual(['start 1']));
  const { runs } = await takeOver('c', define);
  if (!idempotent) await runs.decide(only(await waiting(runs)), { type: 'restart' }, { by: 'ann' });
  await eventually(async () => expect((await runs.get('c')).status).toBe('done'));
  expect(effects).toEqual(['start 1', 'start 2']);
  const settled = (await runs.recorded('c')).find(({ type }) => type === 'call-settled');
  expect(settled).toMatchObject({ result: { type: 'error', mayHaveActed: true } });
  expect(JSON.stringify(settled)).not.toContain('did nothing');
});

test('only a message sent after the question withdraws a doubt two levels down', async () => {
  const { open, pass, effects } = world();
  const define: Define = (ai) => {
    const pay = tool(ai, 'pay', () => {
      effects.push('paid');
      return STUCK;
    });
    const deputy = ai.defineAgent({ name: 'deputy', tools: [pay], model: script([[call('pay')]]) });
    return helped(ai, { tools: [deputy], model: script([[ask('deputy')]]) });
  };
  await open(define).root.start('Go', { runId: 'c' });
  await eventually(() => expect(effects).toEqual(['paid']));
  pass(2 * LEASE_MS);
  const { root } = open(define);
  const { interrupts } = await root.generate({ runId: 'c', prompt: 'And?' });
  expect(only(interrupts)).toMatchObject({
    toolRequest: { name: 'pay' },
    metadata: { interruptKind: 'doubt' },
  });
  const { text, interrupts: none } = await root.generate({ runId: 'c', prompt: 'Never mind.' });
  expect({ text, none }).toEqual({ text: expect.stringMatching(/unknown whether it took effect/), none: [] });
  expect(effects).toEqual(['paid']);
});

test.each(EVERYWHERE)(
  'a message after a cancel tells the model that the call under way has an unknown outcome (%s)',
  async (where) => {
    const { open, pass, effects } = world();
    const define: Define = (ai) => {
      const pay = tool(ai, 'pay', () => {
        effects.push('paid');
        return STUCK;
      });
      return placed(ai, where, { tools: [pay], model: script([[call('pay')]]) });
    };
    await open(define).root.start('Go', { runId: 'c' });
    await eventually(() => expect(effects).toEqual(['paid']));
    const two = open(define);
    await two.runs.cancel('c');
    // The process that ran the call is gone.
    pass(2 * LEASE_MS);
    const { text } = await two.root.chat({ runId: 'c' }).send('What happened?');
    expect(text).toMatch(/unknown whether it took effect/);
    expect(effects).toEqual(['paid']);
  },
);

test('the next question about a tool warns that an earlier call may have acted', async () => {
  const { open } = world();
  const one = open((ai) => {
    const body = () => {
      throw new Error('time-out');
    };
    const pay = tool(ai, 'pay', body, { needsApproval: true });
    return ai.defineAgent({
      name: 'root',
      tools: [pay],
      model: script([[call('pay', {}, 'a')], [call('pay', {}, 'b')]]),
    });
  });
  await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, 'approve');
  await one.runs.settled();
  expect(only(await waiting(one.runs)).payload).toHaveProperty('mayHaveActed');
});

const unable = (): never => {
  throw new Error('no such customer');
};

test.each<[string, Partial<AgentConfig>]>([
  ['has no model', { model: undefined as never }],
  ['cannot build its prompt', { toPrompt: unable }],
  ['must call a tool that does not exist', { toolChoice: { tool: 'other' } }],
])('the doubt about a call inside stays when the sub-agent of the new process %s', async (_why, changes) => {
  const { open, takeOver, effects } = world();
  const define: Define = (ai, nth) => {
    const body = () => {
      effects.push('paid');
      return nth === 1 ? STUCK : 'paid';
    };
    const pay = tool(ai, 'pay', body, { needsApproval: true });
    return helped(ai, { tools: [pay], model: script([[call('pay')]]), toPrompt: () => 'x', ...(nth === 2 && changes) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, 'approve');
  await eventually(() => expect(effects).toEqual(['paid']));
  const two = await takeOver(id, define);
  expect((await two.runs.get(id)).status).not.toBe('done');
  const three = await takeOver(id, define);
  expect(only(await waiting(three.runs))).toMatchObject({ kind: 'doubt', tool: 'pay' });
  expect(effects).toEqual(['paid']);
});

test('a sub-agent stopped in its first calls asks about its doubt without building a new prompt', async () => {
  const { open, takeOver, effects } = world();
  const define: Define = (ai, nth) => {
    const pay = tool(ai, 'pay', () => {
      effects.push('paid');
      return nth === 1 ? STUCK : 'paid';
    });
    return helped(ai, { tools: [pay], model: script([[call('pay')]]), toPrompt: nth === 2 ? unable : () => 'x' });
  };
  const { id } = await open(define).root.start('Go');
  await eventually(() => expect(effects).toEqual(['paid']));
  const two = await takeOver(id, define);
  expect((await two.runs.get(id)).status).toBe('waiting');
});

test('a nested tool that drives its own model and dies midway is in doubt as a whole', async () => {
  const { open, takeOver, effects } = world();
  const define: Define = (ai, nth) => {
    const body = () => {
      effects.push('paid');
      return 0;
    };
    const pay = tool(ai, 'pay', body, { needsApproval: true });
    const thinks = (turn: number) => (nth === 1 && turn === 1 ? STUCK : undefined);
    const research = talker(ai, 'research', [pay], () => script([[call('pay')]], thinks));
    return helped(ai, { tools: [research], model: script([[call('research')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, 'approve');
  await eventually(() => expect(effects).toEqual(['paid']));
  const two = await takeOver(id, define);
  await two.runs.decide(only(await waiting(two.runs)).id, { type: 'respond', output: 'it was paid' });
  await two.runs.settled();
  expect((await two.runs.get(id)).text).toContain('it was paid');
  expect(effects).toEqual(['paid']);
});

test.each(EVERYWHERE)(
  'a person can report the outcome of a call in doubt whose tool no longer exists (%s)',
  async (where) => {
    const { open, takeOver, effects } = world();
    const version =
      (has: 'pay' | 'no pay'): Define =>
      (ai) => {
        const body = () => {
          effects.push('pay');
          return STUCK;
        };
        const tools = has === 'pay' ? [tool(ai, 'pay', body)] : [];
        return placed(ai, where, { tools, model: script([[call('pay')]]) });
      };
    const { id } = await open(version('pay')).root.start('Go');
    await eventually(() => expect(effects).toEqual(['pay']));
    const two = await takeOver(id, version('no pay'));
    const card = only(await waiting(two.runs));
    expect(card.kind).toBe('doubt');
    await expect(two.runs.decide(card.id, 'approve')).rejects.toMatchObject({ code: 'invalid-resume' });
    await two.runs.decide(card.id, { type: 'respond', output: 'paid by ann' });
    await two.runs.settled();
    const { status, text } = await two.runs.get(id);
    expect(status).toBe('done');
    expect(text).toContain('paid by ann');
  },
);
