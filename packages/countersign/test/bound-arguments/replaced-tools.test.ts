// The next version of the program has another tool of the same name: nothing runs that a person was not asked about.
import { approve, type Countersign, countersign, restart, type ToolContext, z } from 'countersign';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import {
  ask,
  call,
  type Define,
  EVERYWHERE,
  helped,
  only,
  placed,
  question,
  STUCK,
  script,
  talker,
  tool,
  type Where,
  waiting,
  world,
} from '../sub-agents/kit.ts';

const paying = (ai: Countersign, effects: string[]) =>
  tool(
    ai,
    'pay',
    () => {
      effects.push('pay');
      return 1;
    },
    { needsApproval: true },
  );

/** A helper that is a sub-agent and asks before it pays. */
const agent =
  (effects: string[]): Define =>
  (ai) =>
    helped(ai, { tools: [paying(ai, effects)], model: script([[call('pay')]]) });

/** A helper that is a gated tool. */
const plain =
  (effects: string[], config: { readonly idempotent?: boolean; readonly needsApproval?: boolean } = {}): Define =>
  (ai) => {
    const body = () => {
      effects.push('helper');
      return 1;
    };
    const helper = tool(ai, 'helper', body, { needsApproval: true, ...config });
    return ai.defineAgent({ name: 'root', tools: [helper], model: script([[ask('helper')]]) });
  };

test('an approval inside a sub-agent does not run the tool that replaced it', async () => {
  const { open, takeOver, effects } = world();
  const one = open(agent(effects));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, 'approve', { drive: false });
  const two = await takeOver(id, plain(effects));
  await two.runs.settled();
  const changed = only(await waiting(two.runs));
  expect(changed).toMatchObject({ tool: 'helper', kind: 'unavailable' });
  // Approving that runs nothing either.
  await two.runs.decide(changed.id, 'approve');
  await two.runs.settled();
  expect(effects).toEqual([]);
  // The sub-agent is back, and uses the decision made inside it.
  const three = open(agent(effects));
  await three.runs.decide(only(await waiting(three.runs)).id, 'approve');
  await three.runs.settled();
  expect((await three.runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['pay']);
});

test('an approval inside a sub-agent that a tool has replaced is rejected', async () => {
  const { open, takeOver, effects } = world();
  const one = open(agent(effects));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const card = only(await waiting(one.runs));
  const two = await takeOver(id, plain(effects));
  await expect(two.runs.decide(card.id, 'approve')).rejects.toMatchObject({ code: 'invalid-resume' });
  expect(only(await waiting(two.runs)).id).toBe(card.id);
  expect(effects).toEqual([]);
});

test('a tool that replaced a failed sub-agent does not run in its place', async () => {
  const { open, effects } = world();
  const one = open((ai) =>
    helped(ai, {
      model: script([], () => {
        throw new Error('down');
      }),
    }),
  );
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  expect((await one.runs.get(id)).status).toBe('failed');
  const two = open(plain(effects));
  await two.runs.drive(id);
  await two.runs.settled();
  expect(effects).toEqual([]);
  expect(only(await waiting(two.runs))).toMatchObject({ tool: 'helper', kind: 'unavailable' });
});

test('without a store, a tool that replaced a failed sub-agent does not run from its messages', async () => {
  const { effects } = world();
  const down = () => {
    throw new Error('down');
  };
  const old = helped(countersign({ retry: false }), { model: script([], down) });
  const { messages } = await old.generate('Go').catch((error) => error);
  const { interrupts } = await plain(effects)(countersign({ retry: false }), 2).generate({ messages });
  expect(effects).toEqual([]);
  expect(only(interrupts).metadata?.interruptKind).toBe('unavailable');
});

test.each([true, false])(
  'an idempotent tool that replaced a sub-agent in doubt does not run (gated: %s)',
  async (needsApproval) => {
    const { open, takeOver, effects } = world();
    const one = open((ai) =>
      helped(ai, {
        tools: [
          tool(ai, 'pay', () => {
            effects.push('pay');
            return STUCK;
          }),
        ],
        model: script([[call('pay')]]),
      }),
    );
    const { id } = await one.root.start('Go');
    await eventually(async () => expect(effects).toEqual(['pay']));
    const two = await takeOver(id, plain(effects, { idempotent: true, needsApproval }));
    expect(effects).toEqual(['pay']);
    expect(only(await waiting(two.runs))).toMatchObject({ tool: 'helper', kind: 'doubt' });
  },
);

/** A tool that drives its own model, which asks before it pays. */
const talking =
  (effects: string[], { asks = 1, gated = false } = {}): Define =>
  (ai) => {
    const turns = Array.from({ length: asks }, (_, index) => [call('pay', {}, `pay-${index}`)]);
    const made = talker(ai, 'helper', [paying(ai, effects)], () => script(turns));
    const helper = gated ? { definition: { ...made.definition, needsApproval: true } } : made;
    return ai.defineAgent({ name: 'root', tools: [helper], model: script([[ask('helper')]]) });
  };

test('a decision inside a tool does not pass the gate of the tool that replaced it', async () => {
  const { open, effects } = world();
  const one = open(talking(effects));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const two = open(plain(effects));
  await two.runs.decide(only(await waiting(two.runs)).id, 'approve');
  await two.runs.settled();
  expect(effects).toEqual([]);
  const gate = only(await waiting(two.runs));
  expect(gate).toMatchObject({ tool: 'helper', kind: 'approval' });
  await two.runs.decide(gate.id, 'approve');
  await two.runs.settled();
  expect((await two.runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['helper']);
});

test('a tool that gained a gate uses the decisions made inside it once the gate is passed', async () => {
  const { open, effects } = world();
  const one = open(talking(effects, { asks: 2 }));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, 'approve');
  await one.runs.settled();
  expect(effects).toEqual(['pay']);
  const two = open(talking(effects, { asks: 2, gated: true }));
  const asked: string[] = [];
  for (const _ of ['the second payment', 'the gate']) {
    const card = only(await waiting(two.runs));
    asked.push(card.tool);
    await two.runs.decide(card.id, 'approve');
    await two.runs.settled();
  }
  expect(asked).toEqual(['pay', 'helper']);
  expect((await two.runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['pay', 'pay']);
});

test('without a store, a decision inside a tool does not pass the gate of the tool that replaced it', async () => {
  const { effects } = world();
  const one = await talking(effects)(countersign({ retry: false }), 1).generate('Go');
  const resume = { approve: approve(only(one.interrupts)) };
  const root = plain(effects)(countersign({ retry: false }), 2);
  const two = await root.generate({ messages: one.messages, resume });
  expect(effects).toEqual([]);
  expect(only(two.interrupts).metadata?.interruptKind).toBe('approval');
  await root.generate({ messages: two.messages, resume: { approve: approve(only(two.interrupts)) } });
  expect(effects).toEqual(['helper']);
});

test.each([
  'approve',
  { type: 'approve', edit: { prompt: 'Go on' } },
  { type: 'restart', resumed: { prompt: 'x' } },
] as const)('a tool whose gate was passed by %j is not gated again by decisions inside it', async (passes) => {
  const { open, effects } = world();
  const one = open(talking(effects, { asks: 2, gated: true }));
  const { id } = await one.root.start('Go');
  const asked: string[] = [];
  for (const _ of ['the gate', 'the first payment', 'the second']) {
    await one.runs.settled();
    const card = only(await waiting(one.runs));
    asked.push(card.tool);
    await one.runs.decide(card.id, card.tool === 'helper' ? passes : 'approve');
  }
  await one.runs.settled();
  expect((await one.runs.get(id)).status).toBe('done');
  expect(asked).toEqual(['helper', 'pay', 'pay']);
  expect(effects).toEqual(['pay', 'pay']);
});

test.each(EVERYWHERE.flatMap((where) => ['a person', 'a deadline'].map((by) => ({ where, by }))))(
  'a call approved by $by is not reported as done if its tool became a question ($where)',
  async ({ where, by }) => {
    const { open, takeOver, effects } = world();
    const old: Define = (ai) => {
      const made = paying(ai, effects);
      const asks = { expiresIn: 1_000, onExpiry: 'approve' } as const;
      const pay = by === 'a deadline' ? { definition: { ...made.definition, asks } } : made;
      return placed(ai, where, { tools: [pay], model: script([[call('pay')]]) });
    };
    const one = open(old);
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    const gate = only(await waiting(one.runs));
    if (by === 'a person') await one.runs.decide(gate.id, 'approve', { drive: false });
    const two = await takeOver(id, (ai) =>
      placed(ai, where, { tools: [question(ai, 'pay')], model: script([[call('pay')]]) }),
    );
    const card = only(await waiting(two.runs));
    expect(card).toMatchObject({ tool: 'pay', kind: 'unavailable' });
    expect(effects).toEqual([]);
    await two.runs.decide(card.id, { type: 'respond', output: 'yes' });
    await two.runs.settled();
    expect((await two.runs.get(id)).text).toContain('yes');
  },
);

const RUN_AGAIN = {
  idempotent: { idempotent: true },
  verify: { verify: () => undefined, settlesWithin: 10 },
  commits: { commits: true },
} as const;
type HowAgain = keyof typeof RUN_AGAIN;

/** The first process stops during a payment that needed no approval. */
async function stopped(where: Where, how: HowAgain, needsApproval: false | (() => boolean)) {
  const { open, takeOver, effects } = world();
  const version =
    (needsApproval: boolean | (() => boolean)): Define =>
    (ai, nth) => {
      const body = () => {
        effects.push(`pay ${nth}`);
        return nth === 1 ? STUCK : 1;
      };
      const pay = tool(ai, 'pay', body, { ...RUN_AGAIN[how], needsApproval });
      return placed(ai, where, { tools: [pay], model: script([[call('pay')]]) });
    };
  const { id } = await open(version(needsApproval)).root.start('Go');
  await eventually(async () => expect(effects).toEqual(['pay 1']));
  return { id, effects, next: (gate: boolean | (() => boolean)) => takeOver(id, version(gate)) };
}

const HOW_AGAIN = EVERYWHERE.flatMap((where) => (Object.keys(RUN_AGAIN) as HowAgain[]).map((how) => ({ where, how })));

test.each(HOW_AGAIN)(
  'a call in doubt ($how) does not run again unasked if its tool gained a gate ($where)',
  async ({ where, how }) => {
    const { id, effects, next } = await stopped(where, how, false);
    const two = await next(true);
    expect(effects).toEqual(['pay 1']);
    const card = only(await waiting(two.runs));
    expect(card).toMatchObject({ tool: 'pay', kind: 'doubt' });
    expect(JSON.stringify(card.part)).toContain('now needs an approval');
    await two.runs.decide(card.id, 'approve');
    await two.runs.settled();
    expect(effects).toEqual(['pay 1', 'pay 2']);
    expect((await two.runs.get(id)).status).toBe('done');
  },
);

test.each(HOW_AGAIN)('a call in doubt ($how) runs again if its gate lets it pass ($where)', async ({ where, how }) => {
  const { id, effects, next } = await stopped(where, how, () => false);
  const two = await next(() => false);
  expect(effects).toEqual(['pay 1', 'pay 2']);
  expect((await two.runs.get(id)).status).toBe('done');
});

test.each(EVERYWHERE)(
  'a commit point added by a new version does not apply to a call started by an older one (%s)',
  async (where) => {
    const { open, takeOver, effects } = world();
    const define: Define = (ai, nth) => {
      const body = () => {
        effects.push('paid');
        return STUCK;
      };
      const pay = tool(ai, 'pay', body, { needsApproval: true, commits: nth > 1 });
      return placed(ai, where, { tools: [pay], model: script([[call('pay')]]) });
    };
    const one = open(define);
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    await one.runs.decide(only(await waiting(one.runs)).id, 'approve');
    await eventually(async () => expect(effects).toEqual(['paid']));
    const two = await takeOver(id, define);
    expect(effects).toEqual(['paid']);
    expect(only(await waiting(two.runs))).toMatchObject({ tool: 'pay', kind: 'doubt' });
  },
);

/** A tool that asks for the account, then pays. */
const asking =
  (effects: string[], where: Where, needsApproval: boolean): Define =>
  (ai) => {
    const body = ({ interrupt, resumed }: ToolContext) => {
      if (resumed === undefined) interrupt({ message: 'From which account?' });
      effects.push(`from ${resumed}`);
      return 'paid';
    };
    return placed(ai, where, { tools: [tool(ai, 'pay', body, { needsApproval })], model: script([[call('pay')]]) });
  };

/** A body asked, a new version added a gate, and the question is answered. */
async function answeredAtNewGate(where: Where) {
  const { open, effects } = world();
  const one = open(asking(effects, where, false));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const { runs } = open(asking(effects, where, true));
  await runs.decide(only(await waiting(runs)).id, { type: 'restart', resumed: 'savings' });
  await runs.settled();
  return { id, runs, effects };
}

test.each(EVERYWHERE)("an answer to a body's own question does not pass a gate added later (%s)", async (where) => {
  const { id, runs, effects } = await answeredAtNewGate(where);
  expect(effects).toEqual([]);
  const gate = only(await waiting(runs));
  expect(gate).toMatchObject({ tool: 'pay', kind: 'approval' });
  await runs.decide(gate.id, 'approve');
  await runs.settled();
  expect((await runs.get(id)).status).toBe('done');
  expect(effects).toEqual(['from savings']);
});

test('without a store, an answer passes the gate it was asked behind but not one added later', async () => {
  const { effects } = world();
  const root = (gated: boolean) => asking(effects, 'root', gated)(countersign({ retry: false }), 1);
  const { messages, interrupts } = await root(false).generate('Go');
  const resume = { restart: restart(only(interrupts), 'savings') };
  const gate = await root(true).generate({ messages, resume });
  expect(only(gate.interrupts).metadata?.interruptKind).toBe('approval');
  const first = await root(true).generate('Go');
  const second = await root(true).generate({
    messages: first.messages,
    resume: { approve: approve(only(first.interrupts)) },
  });
  expect(effects).toEqual([]);
  await root(true).generate({
    messages: JSON.parse(JSON.stringify(second.messages)),
    resume: { restart: restart(only(second.interrupts), 'cash') },
  });
  expect(effects).toEqual(['from cash']);
});

/** The tool is now a sub-agent that transfers without asking. */
const transfers =
  (effects: string[], where: Where): Define =>
  (ai) => {
    const transfer = tool(ai, 'transfer', () => effects.push('transfer'));
    const model = script([[call('transfer')]]);
    const inputSchema = z.looseObject({});
    const pay = ai.defineAgent({ name: 'pay', inputSchema, toPrompt: () => 'Go', tools: [transfer], model });
    return placed(ai, where, { tools: [pay], model: script([[call('pay')]]) });
  };

test.each(
  EVERYWHERE.flatMap((where) => [
    { where, what: 'an approval', gated: true, decision: 'approve' as const },
    { where, what: 'an answer', gated: false, decision: { type: 'restart', resumed: 'savings' } as const },
  ]),
)('$what does not run the sub-agent that replaced the tool ($where)', async ({ where, gated, decision }) => {
  const { open, effects, takeOver } = world();
  const one = open(asking(effects, where, gated));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  await one.runs.decide(only(await waiting(one.runs)).id, decision, { drive: false });
  const two = await takeOver(id, transfers(effects, where));
  const changed = only(await waiting(two.runs));
  expect(changed).toMatchObject({ tool: 'pay', kind: 'unavailable' });
  // Approving that runs nothing either.
  await two.runs.decide(changed.id, 'approve');
  await two.runs.settled();
  expect(effects).toEqual([]);
});

test.each(EVERYWHERE)('a decision on a question does not run the tool that replaced it (%s)', async (where) => {
  const { open, effects } = world();
  const one = open((ai) => placed(ai, where, { tools: [question(ai, 'pay')], model: script([[call('pay')]]) }));
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  const { id: asked } = only(await waiting(one.runs));
  const two = open((ai) => placed(ai, where, { tools: [paying(ai, effects)], model: script([[call('pay')]]) }));
  for (const decision of ['approve', { type: 'restart', resumed: true }] as const)
    await expect(two.runs.decide(asked, decision)).rejects.toMatchObject({ code: 'invalid-resume' });
  await two.runs.decide(asked, { type: 'respond', output: 'yes' });
  await two.runs.settled();
  expect((await two.runs.get(id)).text).toContain('yes');
  expect(effects).toEqual([]);
});

test.each(EVERYWHERE)('rejecting a gate added midway does not deny that the body had started (%s)', async (where) => {
  const { id, runs, effects } = await answeredAtNewGate(where);
  await runs.decide(only(await waiting(runs)).id, 'reject');
  await runs.settled();
  const { status, text } = await runs.get(id);
  expect({ status, effects }).toEqual({ status: 'done', effects: [] });
  expect(text).toContain('It stopped before it was done.');
});
