// The scenarios of the crash tests: each a run with its tools, its model and the person who decides.
import { setImmediate } from 'node:timers/promises';
import { type Countersign, countersign, type Message, type Model, type Part, type Tool, z } from 'countersign';
import { type CrashProcess, type CrashScenario, type ScriptedTurn, scriptedModel } from 'countersign/testing';

type Calls = NonNullable<ScriptedTurn['calls']>;

/**
 * How long the model takes: a moment, as over a network, so that earlier events are written separately; or no time, so
 * that they are written together.
 */
type Thinking = 'a moment' | 'no time';

/** A model that makes the calls of `turns` one after the other, then lists their results. */
function model(thinking: Thinking, turns: readonly Calls[]): Model {
  const scripted = scriptedModel(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool');
    const calls = turns[results.length];
    return calls ? { calls } : `Done: ${JSON.stringify(results.map(outputsOf))}`;
  });
  return {
    name: scripted.name,
    async reply(request, emit) {
      if (thinking === 'a moment') for (let turn = 0; turn < 3; turn += 1) await setImmediate();
      return scripted.reply(request, emit);
    },
  };
}

const outputsOf = ({ content }: Message): readonly unknown[] =>
  content.map((part: Part) => ('toolResponse' in part ? part.toolResponse.output : null));

/** A scenario of one agent with these tools. */
function scenarioOf(
  thinking: Thinking,
  turns: readonly Calls[],
  tools: (ai: Countersign, process: CrashProcess) => readonly Tool[],
  rest: Omit<CrashScenario, 'open'>,
): CrashScenario {
  return {
    open(process) {
      const { runId, store, clock, leaseMs } = process;
      const ai = countersign({ model: model(thinking, turns), store, clock, leaseMs, retry: false });
      const clerk = ai.defineAgent({ name: 'clerk', system: 'You are a clerk.', tools: [...tools(ai, process)] });
      return { runs: ai.runs, begin: () => clerk.start('Please.', { runId, by: 'ann' }) };
    },
    ...rest,
  };
}

type MakeScenario = (
  turns: readonly Calls[],
  tools: (ai: Countersign, process: CrashProcess) => readonly Tool[],
  rest: Omit<CrashScenario, 'open'>,
) => CrashScenario;

const amount = { inputSchema: z.object({ amount: z.number() }) };

/** Pays after an approval. */
const payTool = (ai: Countersign, { effect }: CrashProcess, config: object = {}): Tool =>
  ai.defineTool(
    { name: 'pay', description: 'Pays.', ...amount, needsApproval: true, ...config },
    async (input, { idempotencyKey }) => effect(`pay ${input.amount}`, idempotencyKey, { paid: input.amount }),
  );

/** Looks something up without an approval. */
const lookTool = (ai: Countersign, { effect }: CrashProcess): Tool =>
  ai.defineTool({ name: 'look', description: 'Looks.', idempotent: true }, async (_input, { idempotencyKey }) =>
    effect('look', idempotencyKey, 0, { repeatable: true }),
  );

const askTool = (ai: Countersign, config: object = {}): Tool =>
  ai.defineInterrupt({ name: 'ask', description: 'Asks.', outputSchema: z.string(), ...config });

/** Reserves in a step, asks, and books. */
const bookTool = (ai: Countersign, { effect }: CrashProcess): Tool =>
  ai.defineTool(
    { name: 'book', description: 'Books.' },
    async (_input, { step, interrupt, resumed, idempotencyKey }) => {
      const seat = await step('reserve', () => effect('reserve', idempotencyKey, '12A'));
      if (resumed === undefined) interrupt({ seat });
      return effect('book', idempotencyKey, `booked ${seat}`);
    },
  );

/** Asks twice before it acts. */
const twiceTool = (ai: Countersign, { effect }: CrashProcess): Tool =>
  ai.defineTool({ name: 'transfer', description: 'Transfers.' }, async (_input, ctx) => {
    if (ctx.resumed === undefined) ctx.interrupt('Really?');
    if (ctx.resumed === 'yes') ctx.interrupt('Really, really?');
    return effect('transfer', ctx.idempotencyKey, 'transferred');
  });

const pay = (n: number): Calls[number] => ({ name: 'pay', ref: `pay-${n}`, input: { amount: n } });

/** A clerk that delegates to a payer, through as many agents as `deep` says. */
const subAgentOf = (
  thinking: Thinking,
  inner: readonly Calls[],
  { deep = 1, ...rest }: Omit<CrashScenario, 'open'> & { readonly deep?: number },
): CrashScenario => ({
  open(process) {
    const { runId, store, clock, leaseMs } = process;
    const ai = countersign({ store, clock, leaseMs, retry: false });
    const tools = [payTool(ai, process), lookTool(ai, process), bookTool(ai, process)];
    let agent = ai.defineAgent({ name: 'payer', model: model(thinking, inner), tools });
    for (const name of ['clerk', 'manager', 'owner'].slice(0, deep)) {
      const turns = [[{ name: agent.name, ref: `to-${agent.name}`, input: { prompt: 'Pay.' } }]];
      agent = ai.defineAgent({ name, model: model(thinking, turns), tools: [agent] });
    }
    return { runs: ai.runs, begin: () => agent.start('Please.', { runId }) };
  },
  ...rest,
});

/** Looks up a payment by its key. */
const verify = ({ effects }: CrashProcess) => ({
  verify: (_input: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
    const found = effects.find(({ key }) => key === idempotencyKey);
    return found && { output: found.output };
  },
});

const TWO_OF_FINANCE = { quorum: [{ of: { roles: ['finance'] }, count: 2 }] };

const approves = { decide: () => 'approve' as const };

const books: Omit<CrashScenario, 'open'> = {
  decide: () => ({ type: 'restart', resumed: 'yes' }),
  // It may be half done. It can be rerun only if all effects are recorded steps.
  settleDoubt: ({ part }, effects) => {
    const done = effects.filter(({ key }) => key === part.metadata?.callId).map(({ name }) => name);
    const known = Object.keys((part.metadata?.steps ?? {}) as object);
    return done.length === known.length ? 'approve' : { type: 'respond', output: `by hand after ${done.join()}` };
  },
};

export const scenarios = scenariosWith('a moment');
export const hastyScenarios = scenariosWith('no time');

function scenariosWith(thinking: Thinking): ReadonlyMap<string, CrashScenario> {
  const scenario: MakeScenario = (...given) => scenarioOf(thinking, ...given);
  const subAgent = (inner: readonly Calls[], rest: Parameters<typeof subAgentOf>[2]) =>
    subAgentOf(thinking, inner, rest);
  return new Map<string, CrashScenario>([
    [
      'question',
      scenario([[{ name: 'ask', ref: 'q' }]], (ai) => [askTool(ai)], {
        decide: () => ({ type: 'respond', output: 'blue' }),
      }),
    ],
    ['approval', scenario([[pay(5)]], (ai, process) => [payTool(ai, process)], approves)],
    [
      'edit',
      scenario([[pay(5)]], (ai, process) => [payTool(ai, process)], {
        decide: () => ({ type: 'approve', edit: { amount: 3 } }),
      }),
    ],
    [
      'reject',
      scenario([[pay(5)]], (ai, process) => [payTool(ai, process)], {
        decide: () => ({ type: 'reject', reason: 'too much' }),
      }),
    ],
    ['several calls, decided one by one', severalCalls(scenario, {})],
    ['several calls, decided at once', severalCalls(scenario, { atOnce: true })],
    ['step inside a tool', scenario([[{ name: 'book', ref: 'b' }]], (ai, process) => [bookTool(ai, process)], books)],
    [
      'asking again',
      scenario([[{ name: 'transfer', ref: 't' }]], (ai, process) => [twiceTool(ai, process)], {
        decide: ({ payload }) => ({ type: 'restart', resumed: payload === 'Really?' ? 'yes' : 'yes, yes' }),
      }),
    ],
    ['preview', previewed(scenario)],
    [
      'quorum',
      scenario([[pay(5)]], (ai, process) => [payTool(ai, process, { needsApproval: { policy: TWO_OF_FINANCE } })], {
        voters: ['ben', 'cara'].map((by) => ({ by, roles: ['finance'] })),
        // The first voter edits, so that both are asked again.
        decide: ({ progress }) => (progress?.round === 1 ? { type: 'approve', edit: { amount: 3 } } : 'approve'),
      }),
    ],
    ['sub-agent', subAgent([[pay(7)]], approves)],
    ['sub-agent with two questions', subAgent([[pay(7), pay(8)]], approves)],
    ['sub-agent of a sub-agent', subAgent([[pay(7)]], { ...approves, deep: 2 })],
    ['sub-agent with many turns', subAgent([[{ name: 'look', ref: 'l' }], [pay(7)], [pay(8)]], approves)],
    [
      'sub-agent that only looks',
      subAgent([[{ name: 'look', ref: 'l' }], [{ name: 'look', ref: 'm' }]], { ...approves, deep: 3 }),
    ],
    ['sub-agent with steps inside a tool', subAgent([[{ name: 'book', ref: 'b' }]], books)],
    [
      'deadline',
      scenario([[pay(5)]], (ai, process) => [payTool(ai, process, { expiresIn: 5 * process.leaseMs })], {
        decide: () => undefined,
      }),
    ],
    [
      'deadline that approves',
      scenario(
        [[pay(5)]],
        (ai, process) => [payTool(ai, process, { expiresIn: 5 * process.leaseMs, onExpiry: 'approve' })],
        {
          decide: () => undefined,
        },
      ),
    ],
    [
      'idempotent tool',
      scenario(
        [[{ name: 'look', ref: 'l' }], [{ name: 'look', ref: 'm' }]],
        (ai, process) => [lookTool(ai, process)],
        approves,
      ),
    ],
    [
      'idempotent tool behind a gate',
      scenario(
        [[{ name: 'send', ref: 's' }]],
        (ai, { effect }) => [
          ai.defineTool(
            { name: 'send', description: 'Sends.', idempotent: true, needsApproval: true },
            async (_input, { idempotencyKey }) => effect('send', idempotencyKey, 'sent', { repeatable: true }),
          ),
        ],
        approves,
      ),
    ],
    [
      'commit point',
      scenario(
        [[{ name: 'send', ref: 's' }]],
        (ai, { effect }) => [
          ai.defineTool(
            { name: 'send', description: 'Sends.', commits: true, needsApproval: true },
            async (_input, { idempotencyKey, commitPoint }) => {
              await effect('prepare', idempotencyKey, 'prepared', { repeatable: true });
              await commitPoint();
              return effect('send', idempotencyKey, 'sent');
            },
          ),
        ],
        {
          ...approves,
          settleDoubt: (_card, effects) =>
            effects.some(({ name }) => name === 'send') ? { type: 'respond', output: 'sent' } : 'approve',
        },
      ),
    ],
    [
      'verify, long after',
      scenario([[pay(5)]], (ai, process) => [payTool(ai, process, { ...verify(process), settlesWithin: 60_000 })], {
        ...approves,
        restartAfterMs: 120_000,
      }),
    ],
    [
      'verify, too soon to be sure',
      scenario([[pay(5)]], (ai, process) => [payTool(ai, process, { ...verify(process), settlesWithin: 600_000 })], {
        ...approves,
        restartAfterMs: 120_000,
      }),
    ],
    [
      'verify, nobody knows how long',
      scenario([[pay(5)]], (ai, process) => [payTool(ai, process, verify(process))], approves),
    ],
  ]);
}

/** Two payments whose preview says what was paid before: after the first one, the second asks again. */
function previewed(scenario: MakeScenario): CrashScenario {
  const preview = ({ effects }: CrashProcess) => ({ preview: () => ({ before: effects.map(({ name }) => name) }) });
  return scenario([[pay(1), pay(2)]], (ai, process) => [payTool(ai, process, preview(process))], approves);
}

function severalCalls(scenario: MakeScenario, options: Partial<CrashScenario>): CrashScenario {
  return scenario(
    [[pay(1), pay(2), { name: 'ask', ref: 'q' }, { name: 'look', ref: 'l' }], [pay(3)]],
    (ai, process) => [payTool(ai, process), askTool(ai), lookTool(ai, process)],
    {
      decide: ({ tool, input }) => {
        if (tool === 'ask') return { type: 'respond', output: 'blue' };
        return (input as { amount: number }).amount === 2 ? { type: 'reject', reason: 'no' } : 'approve';
      },
      ...options,
    },
  );
}
