// One engine as a process would start it: agent, tool and worker on a store. It can crash: the store and the bank never hear of it again.
import { countersign, type Store, z } from 'countersign';
import { type RecordedRequest, type ScriptStep, scriptedModel } from 'countersign/testing';

export type Payment = { readonly to: string; readonly amount: number };
/** Where an engine can be stopped on its way through a payment. */
export type Moment = 'before' | 'during' | 'after';

/** What outlives an engine. `reached`: the engine waits at the moment that was chosen. */
export type World = { readonly store: Store; readonly ledger: Payment[]; reached(): void };
export type Engine = ReturnType<typeof startEngine>;

/** How long the claim of a crashed engine holds. */
const LEASE_MS = 1_500;

const FINANCE = { roles: ['finance'] };

export function startEngine({ store, ledger, reached }: World, votes: number) {
  let isDead = false;
  let moment: Moment | undefined;
  const continued = Promise.withResolvers<void>();
  const forever = new Promise<never>(() => undefined);

  async function pass(place: Moment): Promise<void> {
    if (place === moment) {
      reached();
      await continued.promise;
    }
    if (isDead) await forever;
  }

  /** Each method of the store, until the crash. */
  const mortal = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === 'object' && value !== null) return mortal(value);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          if (isDead) return forever;
          const call = (): unknown => value.apply(target, given);
          const starts = name === 'append' && JSON.stringify(given).includes('"call-started"');
          const done = starts ? pass('before').then(call) : call();
          return done instanceof Promise ? done.then((found) => (isDead ? forever : found)) : done;
        };
      },
    });

  const ai = countersign({ store: mortal(store), leaseMs: LEASE_MS, model: scriptedModel(reply) });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays an invoice.',
      inputSchema: z.object({ to: z.string(), amount: z.number().positive() }),
      outputSchema: z.string(),
      title: ({ to, amount }) => `Pay €${amount.toLocaleString('en')} to ${to}`,
      needsApproval: votes === 1 || { policy: { quorum: [{ of: FINANCE, count: votes }] } },
      howToCheck: "Look at the bank's ledger on this page.",
    },
    async (payment) => {
      await pass('during');
      ledger.push(payment);
      await pass('after');
      return `€${payment.amount.toLocaleString('en')} paid to ${payment.to}`;
    },
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  ai.runs.work({ pollMs: 250 });
  return {
    runs: ai.runs,
    start(prompt: string, stopAt?: Moment) {
      moment = stopAt;
      return clerk.start(prompt, { by: 'max' });
    },
    letContinue: () => continued.resolve(),
    crash() {
      isDead = true;
    },
  };
}

/** The model: reads payee and amount from the message, calls the tool, and reports what came of it. */
function reply({ messages }: RecordedRequest): ScriptStep {
  const [part] = messages.at(-1)?.content ?? [];
  if (part && 'toolResponse' in part) return `The result of the payment: ${part.toolResponse.output}.`;
  const [, to = '', amount = ''] = /Pay (\w+) €([\d,]+)/.exec(part && 'text' in part ? part.text : '') ?? [];
  return { calls: [{ name: 'pay', input: { to, amount: Number(amount.replace(',', '')) } }] };
}
