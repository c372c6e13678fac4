// Law 6: conversations of one process whose tools have the same name never change each other's gates, in whatever order they act:
// through `ai.gate`, through `gateTools`, and with two instances on one store.
import { tool as sdkTool } from 'ai';
import { countersign, memoryStore, tool, z } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import fc from 'fast-check';
import { expect, test } from 'vitest';

type Payment = { readonly amount: number };
type Who = 'ann' | 'bob';

const OWNERS: readonly Who[] = ['ann', 'bob'];
/** Up to this amount the conversation pays unasked. */
const LIMIT: Readonly<Record<Who, number>> = { ann: 10, bob: 1_000 };
/** Who approves in it, and the highest amount that its schema accepts. */
const DECIDER: Readonly<Record<Who, string>> = { ann: 'ann’s boss', bob: 'bob’s boss' };
const HIGHEST: Readonly<Record<Who, number>> = { ann: 5_000, bob: 500_000 };

const owner = fc.constantFrom(...OWNERS);
const key = fc.constantFrom('call-1', 'call-2');
const amount = fc.constantFrom(5, 500, 4_000, 400_000);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('ask' as const), owner, key, amount }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('run' as const), owner, key }) },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('decide' as const), at: fc.nat(3), by: owner, edit: fc.option(amount) }),
  },
);

type Paid = Payment & { readonly owner: Who; readonly key: string };
type Conversation = {
  ask(key: string, input: Payment): Promise<unknown>;
  run(key: string, input: Payment): Promise<unknown>;
};

const inputOf = (who: Who) => z.object({ amount: z.number().max(HIGHEST[who]) });
const asks =
  (who: Who) =>
  ({ amount: asked }: Payment) =>
    asked > LIMIT[who] && { policy: { deciders: { people: [DECIDER[who]] } } };

/** A program that passes its tool to the gate with each call. */
function byGate(ai: ReturnType<typeof countersign>, who: Who, paid: Paid[]): Conversation {
  const gated = (id: string) =>
    ai.gate(
      tool({ name: 'pay', description: '', inputSchema: inputOf(who), needsApproval: asks(who) as never }, (input) => {
        paid.push({ ...(input as Payment), owner: who, key: id });
        return `by ${who}`;
      }),
    );
  return {
    ask: (id, input) => gated(id).request(input, { key: `${who} ${id}`, by: who }),
    run: (id, input) => gated(id).request(input, { key: `${who} ${id}`, by: who, run: true }),
  };
}

/** A route of the AI SDK, which makes its tools anew for each post. */
function bySdk(ai: ReturnType<typeof countersign>, who: Who, paid: Paid[]): Conversation {
  const toolOf = (id: string): any =>
    gateTools(
      {
        pay: sdkTool({
          inputSchema: inputOf(who),
          needsApproval: true,
          execute: (input) => {
            paid.push({ ...input, owner: who, key: id });
            return `by ${who}`;
          },
        }),
      },
      { ai, key: who, by: who, asks: { pay: { needsApproval: asks(who) as never } } },
    ).tools.pay;
  return {
    ask: async (id, input) => toolOf(id).onInputAvailable?.({ input, toolCallId: id, messages: [] }),
    run: async (id, input) => toolOf(id).execute(input, { toolCallId: id, messages: [] }),
  };
}

test.each([
  ['ai.gate', byGate, 1],
  ['ai.gate, in two instances', byGate, 2],
  ['gateTools', bySdk, 1],
  ['gateTools, in two instances', bySdk, 2],
] as const)(
  '%s',
  async (_, open, instances) => {
    let [payments, refusals, edits] = [0, 0, 0];
    const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const store = memoryStore();
      const ais = Array.from({ length: instances }, () => countersign({ store }));
      const paid: Paid[] = [];
      const at = (index: number) => ais[index % instances] as (typeof ais)[number];
      const talks = { ann: open(at(0), 'ann', paid), bob: open(at(1), 'bob', paid) };
      /** What was asked for by this key, and what a person of that conversation approved instead. */
      const asked = new Map<string, { readonly input: Payment; approved?: Payment }>();
      for (const [index, one] of steps.entries()) {
        if (one.does === 'ask') {
          const name = `${one.owner} ${one.key}`;
          if (asked.has(name) || one.amount > HIGHEST[one.owner]) continue;
          asked.set(name, { input: { amount: one.amount } });
          await talks[one.owner].ask(one.key, { amount: one.amount });
        } else if (one.does === 'run') {
          const call = asked.get(`${one.owner} ${one.key}`);
          if (call) await talks[one.owner].run(one.key, call.input).catch(() => undefined);
        } else {
          const request = (await at(0).runs.requests({ settled: false })).items[one.at];
          if (!request) continue;
          const { startedBy, input } = request as unknown as { readonly startedBy: Who; readonly input: Payment };
          const found = [...asked].filter(
            ([name, call]) => name.startsWith(startedBy) && !call.approved && call.input.amount === input.amount,
          );
          const edit = one.edit === null ? {} : { edit: { amount: one.edit } };
          // The conversation of the starter knows the tool, in the instance where it runs.
          const { runs } = at(OWNERS.indexOf(startedBy) + (one.edit === null ? index : 0));
          const decided = await runs
            .decide(request.id, { type: 'approve', ...edit }, { by: DECIDER[one.by] })
            .catch((error) => {
              expect(error.code).toMatch(/^(not-allowed|invalid-resume)$/);
              return undefined;
            });
          if (decided?.status === 'settled') {
            expect(one.by).toBe(startedBy);
            expect(one.edit ?? 0).toBeLessThanOrEqual(HIGHEST[startedBy]);
            if (one.edit !== null) edits += 1;
            const [, call] = found[0] ?? [];
            if (call && found.length === 1) call.approved = { amount: one.edit ?? input.amount };
          } else refusals += 1;
          await runs.settled();
        }
      }
      for (const { owner: who, key: id, amount: sum } of paid) {
        const mine = [...asked].filter(([name]) => name.startsWith(who)).map(([, call]) => call);
        const call = asked.get(`${who} ${id}`);
        const isFree = sum <= LIMIT[who] && call?.input.amount === sum;
        const isApproved = mine.some(({ approved }) => approved?.amount === sum);
        const isTold =
          isFree || isApproved || mine.filter(({ input }) => input.amount === call?.input.amount).length > 1;
        expect(isTold, JSON.stringify({ who, id, sum })).toBe(true);
        payments += 1;
      }
      expect(new Set(paid.map(({ owner: who, key: id }) => `${who} ${id}`)).size).toBe(paid.length);
    });
    await fc.assert(property, { numRuns: 150 });
    // A law that nothing reaches would prove nothing.
    expect(Math.min(payments, refusals)).toBeGreaterThan(5);
    expect(edits).toBeGreaterThan(0);
  },
  120_000,
);
