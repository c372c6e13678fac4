// An agent that makes scripted calls, one turn after the other, with two tools and a tool for plans.
import { type Countersign, type CountersignOptions, countersign, type Json, memoryStore, z } from 'countersign';
import { type CrashProcess, scriptedModel } from 'countersign/testing';

export type Calls = readonly { readonly name: string; readonly input: Json }[];
export const pays = (amount: number, to = 'ACME') => ({ name: 'pay', input: { to, amount } });
export const step = (amount: number, more: object = {}) => ({ tool: 'pay', input: { to: 'ACME', amount }, ...more });
export const plans = (...steps: readonly unknown[]) => ({ name: 'plan', input: { steps } as Json });

const ROLES: Readonly<Record<string, readonly string[]>> = { ben: ['finance'], cara: ['finance'], lea: ['legal'] };
export const FINANCE = { deciders: { roles: ['finance'] } };

export function openPlanner(
  turns: readonly Calls[],
  {
    needsApproval = true,
    recallFor,
    act,
    ...options
  }: Partial<CountersignOptions> & {
    readonly needsApproval?: unknown;
    readonly recallFor?: '10m';
    readonly act?: CrashProcess['effect'];
  } = {},
) {
  const done: Json[] = [];
  const ai = countersign({
    store: memoryStore(),
    retry: false,
    people: { rolesOf: (id) => [...(ROLES[id] ?? [])], roles: ['finance', 'legal'] },
    ...options,
  });
  const inputSchema = z.object({ to: z.string(), amount: z.number(), currency: z.string().default('EUR') });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      title: ({ amount, to }) => `Pay ${amount} to ${to}`,
      inputSchema,
      needsApproval: needsApproval as true,
      ...(recallFor && { recallFor }),
    },
    async (input, { idempotencyKey }) => {
      done.push(input);
      return act ? act(`pay ${input.amount}`, idempotencyKey, 'paid') : 'paid';
    },
  );
  const publish = ai.defineTool(
    {
      name: 'publish',
      description: '',
      inputSchema: z.object({ text: z.string() }),
      needsApproval: { policy: { deciders: { roles: ['legal'] } } },
    },
    async (input) => {
      done.push(input);
      return 'published';
    },
  );
  const plan = ai.planTool({ tools: [pay, 'publish'] });
  const model = scriptedModel(({ messages }) => {
    const turn = turns[messages.filter(({ role }) => role === 'model').length];
    return turn ? { calls: turn.map((call, index) => ({ ...call, ref: `${call.name}-${index}` })) } : 'Done.';
  });
  const clerk = ai.defineAgent({ name: 'clerk', model, tools: [pay, publish, plan] });
  const start = async (by = 'ann') => {
    const { id } = await clerk.start('Go.', { by });
    return ai.runs.wait(id);
  };
  return { ai, pay, publish, plan, clerk, done, start, open: (runId: string) => openRequests(ai, runId) };
}

export const openRequests = async (ai: Countersign, runId: string) =>
  (await ai.runs.requests({ runId, settled: false })).items;

export async function decide(ai: Countersign, id: string, decision: any, by: string) {
  const result = await ai.runs.decide(id, decision, { by });
  await ai.runs.wait(result.runId);
  return result;
}

/** What the model read about its calls of this tool. */
export const told = (messages: readonly { readonly content: readonly any[] }[], tool: string): readonly any[] =>
  messages.flatMap(({ content }) => content.flatMap(({ toolResponse: r }) => (r?.name === tool ? [r.output] : [])));
