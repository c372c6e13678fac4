// Shared by the tests of policies: a gated payment with a policy, at the root, in a sub-agent, or in a `generate` of a tool.
import {
  type Agent,
  type Approval,
  type Countersign,
  type CountersignOptions,
  countersign,
  type Json,
  memoryStore,
  type PolicyConfig,
  z,
} from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';

export type Place = 'root' | 'sub-agent' | 'generate';
export const PLACES: readonly Place[] = ['root', 'sub-agent', 'generate'];

/** Who has which role in these tests. */
export const ROLES: Readonly<Record<string, readonly string[]>> = {
  anna: ['finance'],
  ben: ['finance'],
  cara: ['finance', 'cfo'],
  asker: ['finance'],
};

export const rolesOf = (person: string): readonly string[] => ROLES[person] ?? [];

export const TWO: PolicyConfig = { quorum: [{ of: { roles: ['finance'] }, count: 2 }] };

const calling = (name: string, input: object) =>
  scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name, ref: name, input }] },
  );

export type BankOptions = Partial<CountersignOptions> & {
  readonly needsApproval?: Approval | ((input: { readonly amount: number }) => Approval);
  readonly place?: Place;
  readonly onPay?: (input: Json) => unknown;
  readonly define?: (ai: Countersign) => void;
  readonly howToCheck?: string;
};

/** An agent that pays 10 once it is approved. */
export function openBank({
  needsApproval = { policy: TWO },
  place = 'root',
  onPay,
  define,
  howToCheck,
  ...options
}: BankOptions = {}) {
  const paid: Json[] = [];
  const store: Store = options.store ?? memoryStore();
  const ai = countersign({ store, retry: false, people: { rolesOf }, ...options });
  define?.(ai);
  const inputSchema = z.object({ amount: z.number(), currency: z.string().default('EUR') });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema, needsApproval, ...(howToCheck && { howToCheck }) },
    async (input) => {
      paid.push(input);
      await onPay?.(input);
      return 'paid';
    },
  );
  const model = calling('pay', { amount: 10 });
  const clerk: Agent = ai.defineAgent({ name: place === 'root' ? 'bank' : 'clerk', model, tools: [pay] });
  const talk = ai.defineTool(
    { name: 'talk', description: '', inputSchema: z.object({}) },
    async (_input, { resumed, interrupt }) => {
      const inner = await ai.generate({ tools: [pay], model, ...(resumed ?? { prompt: 'Pay.' }) });
      if (inner.interrupts.length > 0) interrupt(inner);
      return inner.text;
    },
  );
  const inner = place === 'sub-agent' ? clerk : talk;
  const bank =
    place === 'root'
      ? clerk
      : ai.defineAgent({
          name: 'bank',
          model: calling(inner.name, place === 'sub-agent' ? { prompt: 'Pay.' } : {}),
          tools: [inner],
        });
  const ask = async (runId = 'run') => {
    await bank.start('Pay.', { runId, by: 'asker' });
    await internalsOf(ai.runs).rested(runId);
    return pending();
  };
  const pending = async () => {
    const { items } = await ai.runs.requests();
    const [card] = items;
    if (!card || items.length > 1) throw new Error(`Expected one request, found ${items.length}.`);
    return card;
  };
  const types = async (runId = 'run') => (await ai.runs.recorded(runId)).map(({ type }) => type);
  return { ai, runs: ai.runs, store, paid, pay, bank, ask, pending, types };
}
