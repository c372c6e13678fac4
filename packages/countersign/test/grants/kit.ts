// An agent that pays what it is told to, behind an approval, and a person who gives grants.
import {
  type Countersign,
  countersign,
  type GrantRequest,
  type Json,
  NotPerformed,
  type RunInterrupt,
  z,
} from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';

export type Payment = { readonly to: string; readonly amount: number; readonly fails?: true };

/** Long enough for any test. */
export const DAY_MS = 24 * 60 * 60 * 1_000;

/** Makes the calls that the user's message lists, all at once, and then says that it is done. */
export const payModel = () =>
  scriptedModel(({ messages }) => {
    const asked = messages.findLast(({ role }) => role === 'user')?.content[0] as { readonly text: string };
    if (messages.at(-1)?.role === 'tool') return 'Done.';
    return { calls: (JSON.parse(asked.text) as Json[]).map((input) => ({ name: 'pay', input })) };
  });

export function openPayer(store: Store, config: object = {}, options: object = {}) {
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
    async (input) => {
      if (input.fails) throw new NotPerformed('Out of money.');
      paid.push(input as Payment);
      return { paid: input.amount };
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

function people(ai: Countersign, start: (payments: readonly Json[]) => Promise<{ readonly id: string }>) {
  const questions = async (runId: string): Promise<readonly RunInterrupt[]> =>
    (await ai.runs.interrupts({ runId })).items;
  /** Approves a first payment of 100 to ACME, with a grant for the next ones. */
  const give = async (changes: Partial<GrantRequest> = {}, by = 'ben') => {
    const { id } = await start([{ to: 'ACME', amount: 100 }]);
    const [question] = await questions(id);
    const { grant } = await ai.runs.decide(question as RunInterrupt, 'approve', { by, grant: await request(changes) });
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
