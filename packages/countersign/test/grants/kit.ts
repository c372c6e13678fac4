// An agent that pays what it is told to, behind an approval, and a person who gives grants.
import { setImmediate } from 'node:timers/promises';
import {
  type Countersign,
  countersign,
  type DecideResult,
  type GrantRequest,
  type Json,
  type Model,
  NotPerformed,
  type Rule,
  type RunRequest,
  z,
} from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';

export type Payment = { readonly to: string; readonly amount: number; readonly fails?: true };

/** Long enough for any test. */
export const DAY_MS = 24 * 60 * 60 * 1_000;

/** A model that takes a moment, as over a network, so that what came before is recorded separately. */
export function slow(model: Model): Model {
  return {
    name: model.name,
    async reply(request, emit) {
      for (let turn = 0; turn < 3; turn += 1) await setImmediate();
      return model.reply(request, emit);
    },
  };
}

/** Makes the calls that the user's message lists, all at once, and then says that it is done. With `input`, only that call. */
export const payModel = (tool = 'pay', input?: Json): Model =>
  scriptedModel(({ messages }) => {
    const asked = messages.findLast(({ role }) => role === 'user')?.content[0] as { readonly text: string };
    if (messages.at(-1)?.role === 'tool') return 'Done.';
    if (input !== undefined) return { calls: [{ name: tool, input }] };
    return { calls: (JSON.parse(asked.text) as Json[]).map((payment) => ({ name: tool, input: payment })) };
  });

type Options = {
  readonly clock?: () => number;
  readonly leaseMs?: number;
  readonly model?: Model;
  readonly rules?: readonly Rule[];
  /** Makes the payment outside. */
  readonly act?: (name: string, key: string, output: Json) => Promise<Json>;
};

export function openPayer(store: Store, config: object = {}, { act, ...options }: Options = {}) {
  const paid: Payment[] = [];
  const ai = countersign({ model: payModel(), store, retry: false, ...options });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number(), fails: z.literal(true).optional() }),
      needsApproval: true,
      ...config,
    },
    async (input, { idempotencyKey }) => {
      if (input.fails) throw new NotPerformed('Out of money.');
      paid.push(input as Payment);
      return act ? act('pay', idempotencyKey, { paid: input.amount }) : { paid: input.amount };
    },
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  /** Starts a run with these payments, and resolves when it pauses or ends. */
  const start = async (payments: readonly Json[], by = 'ann') => {
    const { id } = await clerk.start(JSON.stringify(payments), { by });
    return ai.runs.wait(id);
  };
  return { ai, clerk, paid, start, ...people(ai, start) };
}

export const grantIn = (result: DecideResult) => (result.status === 'settled' ? result.grant : undefined);

function people(ai: Countersign, start: (payments: readonly Json[]) => Promise<{ readonly id: string }>) {
  const questions = async (runId: string): Promise<readonly RunRequest[]> => (await ai.runs.requests({ runId })).items;
  /** Approves a first payment of 100 to ACME, with a grant for the next ones. */
  const give = async (changes: Partial<GrantRequest> = {}, by = 'ben') => {
    const { id } = await start([{ to: 'ACME', amount: 100 }]);
    const [question] = await questions(id);
    const grant = grantIn(
      await ai.runs.decide(question as RunRequest, 'approve', { by, grant: await request(changes) }),
    );
    await ai.runs.wait(id);
    if (!grant) throw new Error('No grant was given.');
    return grant;
  };
  const request = async (changes: Partial<GrantRequest> = {}): Promise<GrantRequest> => ({
    where: [
      { field: 'to', equals: 'ACME' },
      { field: 'amount', atMost: 500 },
    ],
    uses: 3,
    budget: { field: 'amount', total: 1_000 },
    expiresAt: (await ai.runs.store.now()) + DAY_MS,
    ...changes,
  });
  return { give, request, questions };
}
