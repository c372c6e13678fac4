// The next version of the program removes a tool or sub-agent, or changes its input.
import { cancel, memoryStore, reject, respond, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';
import {
  above,
  ask,
  call,
  type Define,
  EVERYWHERE,
  justBefore,
  of,
  only,
  payTool,
  placed,
  question,
  STUCK,
  script,
  tool,
  type Where,
  waiting,
  world,
} from '../sub-agents/kit.ts';

test.each([
  { level: 'the root', deep: false },
  { level: 'a sub-agent', deep: true },
])('a removed sub-agent of $level resumes from its record once a later version brings it back', async ({ deep }) => {
  const { open, takeOver, recorded, effects } = world();
  const version =
    (has: 'deputy' | 'no deputy'): Define =>
    (ai, nth) => {
      const first = tool(ai, 'first', () => {
        effects.push('first');
        return 1;
      });
      const thinks = (turn: number) => (nth === 1 && turn === 1 ? STUCK : undefined);
      const deputy = ai.defineAgent({ name: 'deputy', tools: [first], model: script([[call('first')]], thinks) });
      const tools = has === 'deputy' ? [deputy] : [];
      const model = script([[ask('deputy')]]);
      return deep
        ? above(ai, ai.defineAgent({ name: 'helper', tools, model }))
        : ai.defineAgent({ name: 'root', tools, model });
    };
  const { id } = await open(version('deputy')).root.start('Go');
  await eventually(async () => expect(await recorded(id)).toContain('"output":1'));
  const two = await takeOver(id, version('no deputy'));
  const card = only(await waiting(two.runs));
  const three = open(version('deputy'));
  await three.runs.decide(card.id, 'approve');
  await three.runs.settled();
  expect((await three.runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['first']);
});

test.each(['is removed', 'takes other input'])(
  'a sub-agent that failed midway and then %s is asked about, not reported as never run',
  async (how) => {
    const { open, effects } = world();
    const version =
      (which: 'old' | 'new'): Define =>
      (ai, nth) => {
        const body = () => {
          effects.push('paid');
          return 'paid';
        };
        const helper = ai.defineAgent({
          name: 'helper',
          tools: [tool(ai, 'pay', body, { needsApproval: true })],
          ...(which === 'new' && how === 'takes other input' && { inputSchema: z.object({ task: z.string() }) }),
          model: script([[call('pay')]], (turn) => {
            if (nth === 1 && turn === 1) throw new Error('down');
          }),
        });
        return ai.defineAgent({
          name: 'root',
          tools: which === 'new' && how === 'is removed' ? [] : [helper],
          model: script([[ask('helper')]]),
        });
      };
    const one = open(version('old'));
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    await one.runs.decide(only(await waiting(one.runs)).id, 'approve');
    await one.runs.settled();
    expect((await one.runs.get(id)).status).toBe('failed');
    expect(effects).toEqual(['paid']);
    const two = open(version('new'));
    await two.runs.drive(id);
    await two.runs.settled();
    expect((await two.runs.get(id)).status).toBe('waiting');
    only(await waiting(two.runs));
  },
);

test('rejecting a removed sub-agent that already acted does not tell the model that it never ran', async () => {
  const { open, effects } = world();
  const version =
    (has: 'helper' | 'no helper'): Define =>
    (ai) => {
      const body = () => {
        effects.push('paid');
        return 'paid';
      };
      const helper = ai.defineAgent({
        name: 'helper',
        tools: [tool(ai, 'pay', body, { needsApproval: true })],
        model: script([[call('pay')], [call('pay', {}, 'two')]]),
      });
      return ai.defineAgent({
        name: 'root',
        tools: has === 'helper' ? [helper] : [],
        model: script([[ask('helper')]]),
      });
    };
  const one = open(version('helper'));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, 'approve');
  await one.runs.settled();
  expect(effects).toEqual(['paid']);
  const two = open(version('no helper'));
  await two.runs.decide(only(await waiting(two.runs)).id, 'reject');
  await two.runs.settled();
  await two.runs.decide(only(await waiting(two.runs)).id, 'reject');
  await two.runs.settled();
  const { status, text } = await two.runs.get(id);
  expect(status).toBe('done');
  expect(text).not.toContain('It did not run.');
});

describe('a sub-agent removed while a question inside it is pending', () => {
  const ENDINGS = ['reject', 'cancel', 'respond'] as const;
  const ending = (type: (typeof ENDINGS)[number]) => (type === 'respond' ? { type, output: 'over' } : type);

  /** Answers the first question inside, removes the sub-agent and brings it back. The second question and the sub-agent stay pending. */
  async function wasGone(deep: boolean) {
    const { open } = world();
    const version =
      (has: 'deputy' | 'no deputy'): Define =>
      (ai) => {
        const model = script([[call('q', {}, 'first'), call('q', {}, 'second')]]);
        const deputy = ai.defineAgent({ name: 'deputy', tools: [question(ai, 'q')], model });
        const tools = has === 'deputy' ? [deputy] : [];
        return placed(ai, deep ? 'inside' : 'root', { tools, model: script([[ask('deputy')]]) });
      };
    const one = open(version('deputy'));
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    const first = only((await waiting(one.runs)).filter(({ part }) => part.toolRequest.ref === 'first'));
    await one.runs.decide(first.id, { type: 'respond', output: '1' }, { drive: false });
    const two = open(version('no deputy'));
    await two.runs.drive(id);
    await two.runs.settled();
    const cards = await waiting(two.runs);
    return { id, three: open(version('deputy')), gone: of(cards, 'deputy'), second: of(cards, 'q') };
  }

  test.each(ENDINGS)('the run completes when both are decided before it resumes (%s)', async (type) => {
    const { id, three, gone, second } = await wasGone(true);
    await three.runs.decide(second.id, { type: 'respond', output: '2' }, { drive: false });
    await three.runs.decide(gone.id, ending(type), { drive: false });
    await three.runs.drive(id);
    await three.runs.settled();
    expect((await three.runs.get(id)).status).toBe('done');
  });

  test.each(ENDINGS)('the run completes when both are decided in one message (%s)', async (type) => {
    const { id, three, gone, second } = await wasGone(false);
    const over = { reject: reject(gone.part), cancel: cancel(gone.part), respond: respond(gone.part, 'over') }[type];
    const answer = respond(second.part, '2');
    const resume = type === 'respond' ? { respond: [over, answer] } : { [type]: [over], respond: [answer] };
    expect((await three.root.chat({ runId: id }).send({ resume })).finishReason).toBe('stop');
  });
});

test.each([true, { messages: [] }])(
  'a restored sub-agent restarted with %j uses the decision made inside it',
  async (resumed) => {
    const { open, effects } = world();
    const version =
      (has: 'helper' | 'no helper'): Define =>
      (ai) => {
        const helper = ai.defineAgent({
          name: 'helper',
          tools: [payTool(ai, effects)],
          model: script([[call('pay')]]),
        });
        const tools = has === 'helper' ? [helper] : [];
        return ai.defineAgent({ name: 'root', tools, model: script([[ask('helper')]]) });
      };
    const one = open(version('helper'));
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    await one.runs.decide(only(await waiting(one.runs)).id, 'approve', { drive: false });
    const two = open(version('no helper'));
    await two.runs.drive(id);
    await two.runs.settled();
    const three = open(version('helper'));
    await three.runs.decide(of(await waiting(three.runs), 'helper').id, { type: 'restart', resumed });
    await three.runs.settled();
    expect((await three.runs.get(id)).status).toBe('done');
    expect(effects).toEqual(['pay']);
  },
);

test.each(EVERYWHERE.flatMap((where) => ['asked a question', 'never started'].map((how) => ({ where, how }))))(
  'rejecting a removed tool whose body $how tells the model how far it got ($where)',
  async ({ where, how }) => {
    const { open, effects } = world();
    const version =
      (has: 'pay' | 'no pay'): Define =>
      (ai) => {
        const pay = tool(
          ai,
          'pay',
          ({ interrupt, resumed }) => {
            effects.push('deposit');
            if (resumed === undefined) interrupt({ message: 'More?' });
          },
          { needsApproval: how === 'never started' },
        );
        return placed(ai, where, { tools: has === 'pay' ? [pay] : [], model: script([[call('pay')]]) });
      };
    const one = open(version('pay'));
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    await one.runs.decide(only(await waiting(one.runs)).id, { type: 'restart', resumed: 1 }, { drive: false });
    const two = open(version('no pay'));
    await two.runs.drive(id);
    await two.runs.settled();
    const card = only(await waiting(two.runs));
    expect(card.kind).toBe('unavailable');
    await two.runs.decide(card.id, 'reject');
    await two.runs.settled();
    const began = how === 'asked a question';
    expect(effects).toEqual(began ? ['deposit'] : []);
    expect((await two.runs.get(id)).text).toContain(began ? 'It stopped before it was done.' : 'It did not run.');
  },
);

/** Gives the tool to the agent by name, and defines that name or not. */
const byName =
  (has: 'pay' | 'no pay', where: Where, effects: string[]): Define =>
  (ai) => {
    const body = () => {
      effects.push('paid');
      return 'paid';
    };
    if (has === 'pay') tool(ai, 'pay', body, { needsApproval: true });
    return placed(ai, where, { tools: ['pay'], toolChoice: { tool: 'pay' }, model: script([[call('pay')]]) });
  };

test.each(EVERYWHERE)('an approved call waits while the name of its tool is undefined (%s)', async (where) => {
  const { open, takeOver, effects } = world();
  const one = open(byName('pay', where, effects));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, 'approve', { drive: false });
  const two = await takeOver(id, byName('no pay', where, effects));
  const card = only(await waiting(two.runs));
  expect(card).toMatchObject({ tool: 'pay', kind: 'unavailable' });
  const three = open(byName('pay', where, effects));
  await three.runs.decide(card.id, 'approve');
  await three.runs.settled();
  expect((await three.runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['paid']);
});

test.each(EVERYWHERE)('a pending call of a tool with an undefined name can be rejected (%s)', async (where) => {
  const { open, effects } = world();
  const one = open(byName('pay', where, effects));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const two = open(byName('no pay', where, effects));
  await two.runs.decide(only(await waiting(two.runs)).id, 'reject');
  await two.runs.settled();
  expect(await two.runs.get(id)).toMatchObject({ status: 'done', text: expect.stringContaining('It did not run.') });
});

test.each(EVERYWHERE)('a run with an undefined tool name can be cancelled (%s)', async (where) => {
  const { open, effects } = world();
  const one = open(byName('pay', where, effects));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const two = open(byName('no pay', where, effects));
  expect((await two.runs.cancel(id)).status).toBe('cancelled');
});

test.each(EVERYWHERE)('an undefined tool name fails a new run with unknown-tool (%s)', async (where) => {
  const { open, effects } = world();
  const { root, runs } = open(byName('no pay', where, effects));
  await expect(root.generate('Go')).rejects.toMatchObject({ code: 'unknown-tool' });
  await expect(root.chat({ runId: 'talk' }).send('Go')).rejects.toMatchObject({ code: 'unknown-tool' });
  const { id } = await root.start('Go');
  await runs.settled();
  expect(await runs.get(id)).toMatchObject({ status: 'failed', error: { code: 'unknown-tool' } });
});

test.each([
  ['a tool', {}],
  ['an idempotent tool', { idempotent: true }],
  ['a tool with verify', { verify: () => ({ output: 'found' }) }],
])('a call started as a sub-agent does not run as %s, even with no event inside it recorded', async (_what, config) => {
  let dies = true;
  const { open, takeOver, store, effects } = world((now) => {
    const kept = memoryStore({ now });
    return changedStore(kept, {
      append: (append) =>
        dies && append.events.some(({ type }) => type === 'call-went-on') ? STUCK : kept.append(append),
    });
  });
  const version =
    (is: 'agent' | 'tool'): Define =>
    (ai) => {
      const agent = () => ai.defineAgent({ name: 'helper', description: '', model: script([]) });
      const helper = is === 'agent' ? agent() : tool(ai, 'helper', () => effects.push('ran'), config);
      return ai.defineAgent({ name: 'root', tools: [helper], model: script([[ask('helper')]]) });
    };
  const { id } = await open(version('agent')).root.start('Go');
  await eventually(async () => expect((await store.read(id))?.events.at(-1)?.type).toBe('call-started'));
  dies = false;
  const { runs } = await takeOver(id, version('tool'));
  const doubt = only(await waiting(runs));
  expect(doubt.kind).toBe('doubt');
  await runs.decide(doubt.id, 'approve');
  await runs.settled();
  expect(only(await waiting(runs)).kind).toBe('unavailable');
  expect(effects).toEqual([]);
});

test.each(['nothing else', 'a question beside it'])(
  'a decision inside a sub-agent made while the sub-agent is rejected does not block the takeover: %s',
  async (beside) => {
    const { open, takeOver, store, effects } = world();
    const isAlone = beside === 'nothing else';
    const version =
      (has: 'deputy' | 'no deputy'): Define =>
      (ai, nth) => {
        const pay = payTool(ai, effects);
        const both = [call('pay', {}, 'one'), call('pay', {}, 'two')];
        const deputy = ai.defineAgent({ name: 'deputy', description: '', tools: [pay], model: script([both]) });
        const thinks = (turn: number) => (nth === 2 && turn === 1 ? STUCK : undefined);
        const model = script([[ask('deputy'), ...(isAlone ? [] : [call('which')])]], thinks);
        const tools = [question(ai, 'which'), ...(has === 'deputy' ? [deputy] : [])];
        return above(ai, ai.defineAgent({ name: 'helper', description: '', tools, model }));
      };
    const one = open(version('deputy'));
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    const [first, second] = (await waiting(one.runs)).filter(({ tool }) => tool === 'pay');
    const two = open(version('no deputy'));
    await two.runs.decide(first?.id ?? '', 'reject');
    await two.runs.settled();
    const gone = only((await waiting(two.runs)).filter(({ tool }) => tool === 'deputy'));
    const rejected = justBefore(
      store,
      (event) => event.type === 'call-went-on' && JSON.stringify(event).includes('"rejected"'),
      () => one.runs.decide(second?.id ?? '', 'approve', { drive: false }),
    );
    await two.runs.decide(gone.id, 'reject');
    await eventually(async () => expect(JSON.stringify(await store.read(id))).toContain('"rejected"'));
    expect(rejected.came()).toBe(true);
    if (!isAlone) {
      await two.runs.settled();
      expect(await two.runs.get(id)).toMatchObject({ status: 'waiting' });
    }
    const three = await takeOver(id, version('deputy'));
    if (!isAlone) {
      const which = only(await waiting(three.runs));
      expect(which).toMatchObject({ tool: 'which' });
      await three.runs.decide(which.id, { type: 'respond', output: 'this' });
      await three.runs.settled();
    }
    expect(await three.runs.get(id)).toMatchObject({ status: 'done', text: expect.stringContaining('was rejected') });
    expect(effects).toEqual([]);
  },
);
