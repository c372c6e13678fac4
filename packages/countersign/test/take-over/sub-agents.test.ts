// Another process takes over a run whose sub-agent was at work.
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { ask, call, type Define, helped, only, STUCK, script, tool, waiting, world } from '../sub-agents/kit.ts';

test('a model that fails inside after a takeover fails the run and is not called again', async () => {
  const { open, takeOver, recorded } = world();
  let asked = 0;
  const define: Define = (ai, nth) =>
    helped(ai, {
      tools: [tool(ai, 'look', () => 'seen')],
      model: script([[call('look')]], (turn) => {
        if (turn === 0) return undefined;
        if (nth === 1) return STUCK;
        asked += 1;
        throw new Error('The model is down.');
      }),
    });
  const { id } = await open(define).root.start('Go');
  await eventually(async () => expect(await recorded(id)).toContain('seen'));
  const two = await takeOver(id, define);
  expect((await two.runs.get(id)).status).toBe('failed');
  expect(asked).toBe(1);
});

test('a run that failed inside after a takeover starts nothing more', async () => {
  const { open, takeOver, recorded, effects } = world();
  let asked = 0;
  const define: Define = (ai, nth) =>
    helped(ai, {
      tools: [tool(ai, 'look', () => 'seen'), tool(ai, 'pay', () => effects.push('paid'))],
      model: script([[call('look')], [call('pay')]], (turn) => {
        if (nth === 1 && turn === 1) return STUCK;
        if (nth === 2 && turn === 1 && asked++ === 0) throw new Error('The model is down.');
        return undefined;
      }),
    });
  const { id } = await open(define).root.start('Go');
  await eventually(async () => expect(await recorded(id)).toContain('seen'));
  const two = await takeOver(id, define);
  expect((await two.runs.get(id)).status).toBe('failed');
  expect(effects).toEqual([]);
});

test('a tool that throws when it runs again after a takeover fails the run', async () => {
  const { open, takeOver, effects } = world();
  const asked: number[] = [];
  const define: Define = (ai, nth) => {
    const look = tool(
      ai,
      'look',
      () => {
        effects.push('look');
        if (nth === 1) return STUCK;
        throw new Error('broken');
      },
      { idempotent: true },
    );
    return ai.defineAgent({
      name: 'root',
      onToolError: 'throw',
      tools: [look, tool(ai, 'pay', () => effects.push('paid'))],
      model: script([[call('look')], [call('pay')]], (turn) => {
        if (nth === 2) asked.push(turn);
      }),
    });
  };
  const { id } = await open(define).root.start('Go');
  await eventually(() => expect(effects).toEqual(['look']));
  const two = await takeOver(id, define);
  expect((await two.runs.get(id)).status).toBe('failed');
  expect(effects).toEqual(['look', 'look']);
  expect(asked).toEqual([]);
});

test('a nested call that runs again after a crash uses the edited input', async () => {
  const { open, takeOver, effects } = world();
  const define: Define = (ai, nth) => {
    const pay = tool(
      ai,
      'pay',
      (_ctx, { to }) => {
        effects.push(to);
        return nth === 1 ? STUCK : to;
      },
      { needsApproval: true, idempotent: true },
    );
    return helped(ai, { tools: [pay], model: script([[call('pay', { to: 'eve' })]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const card = only(await waiting(one.runs));
  await one.runs.decide(card.id, { type: 'approve', edit: { to: 'bob' } }, { by: 'ann' });
  await eventually(() => expect(effects).toEqual(['bob']));
  const two = await takeOver(id, define);
  expect((await two.runs.get(id)).text).toContain('bob');
  expect(effects).toEqual(['bob', 'bob']);
});

test('the turns of a sub-agent before a crash count towards its turn limit', async () => {
  const { open, takeOver, recorded, effects } = world();
  const define: Define = (ai, nth) => {
    const free = tool(ai, 'free', () => {
      effects.push('free');
      return 0;
    });
    const turns = [[call('free')], [call('free')], [call('free')]];
    const thinks = (turn: number) => (nth === 1 && turn === 1 ? STUCK : undefined);
    return helped(ai, { maxTurns: 2, tools: [free], model: script(turns, thinks) });
  };
  const { id } = await open(define).root.start('Go');
  await eventually(async () => expect(await recorded(id)).toContain('"output":0'));
  const two = await takeOver(id, define);
  expect(effects).toEqual(['free', 'free']);
  expect((await two.runs.get(id)).text).toContain('turn limit');
});

test('a sub-agent sees its system prompt first, before and after a pause and a takeover', async () => {
  const { open, takeOver } = world();
  const seen: string[][] = [];
  const define: Define = (ai, nth) =>
    helped(ai, {
      system: 'You help.',
      tools: [tool(ai, 'pay', () => 1, { needsApproval: true })],
      model: script([[call('pay')], [call('pay', {}, 'again')]], (turn, messages) => {
        seen.push(messages.map(({ role }) => role));
        return nth === 1 && turn === 1 ? STUCK : undefined;
      }),
    });
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, 'approve');
  await eventually(() => expect(seen).toHaveLength(2));
  const two = await takeOver(id, define);
  await two.runs.decide(only(await waiting(two.runs)).id, 'approve');
  await two.runs.settled();
  expect((await two.runs.get(id)).status).toBe('done');
  expect(seen.map(([first]) => first)).toEqual(seen.map(() => 'system'));
});

test('sub-agents stopped midway do everything once, with decisions before and after the stop', async () => {
  const { open, effects } = world();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const define: Define = (ai, nth) => {
    const slow = tool(ai, 'slow', async () => {
      begun.resolve();
      if (nth === 1) await gate.promise;
      effects.push('slow');
      return 0;
    });
    const after = tool(ai, 'after', () => {
      effects.push('after');
      return '';
    });
    const pay = tool(
      ai,
      'pay',
      () => {
        effects.push('pay');
        return null;
      },
      { needsApproval: true },
    );
    // Each conversation uses the same refs, and the root uses one twice.
    const a = ai.defineAgent({
      name: 'a',
      tools: [slow, after],
      model: script([[call('slow', {}, 'x')], [call('after', {}, 'x')]]),
    });
    const b = ai.defineAgent({
      name: 'b',
      tools: [pay],
      model: script([[call('pay', {}, 'x'), call('pay', {}, 'y')]]),
    });
    return ai.defineAgent({
      name: 'root',
      tools: [a, b],
      model: script([[ask('a', 'x'), ask('b', 'y'), ask('b', 'x')]]),
    });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await begun.promise;
  await eventually(async () => expect(await waiting(one.runs)).toHaveLength(4));
  const stopped = one.runs.stop();
  const ids = (await waiting(one.runs)).map((card) => card.id) as [string, string, string, string];
  await one.runs.decide(ids[0], 'approve');
  gate.resolve();
  await stopped;
  const two = open(define);
  await two.runs.decide(ids[2], 'approve');
  await two.runs.drive(id);
  await two.runs.settled();
  await two.runs.decide(ids[3], 'reject');
  await two.runs.decide(ids[1], 'approve');
  await two.runs.settled();
  expect((await two.runs.get(id)).status).toBe('done');
  expect(effects.toSorted()).toEqual(['after', 'pay', 'pay', 'pay', 'slow']);
  expect(await two.runs.verify(id)).toMatchObject({ ok: true });
});
