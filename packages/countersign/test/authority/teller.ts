// Shared by the tests of authority: an agent that asks to pay once per run, under a clock of its own.
import { type CountersignOptions, countersign, memoryStore, type ToolConfig, z } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';

export const CLERK = { deciders: { people: ['clerk'] } };
export const BOSS = { deciders: { people: ['boss'] } };
export const HOUR = 3_600_000;

export function openTeller(config: Partial<ToolConfig> = {}, options: Partial<CountersignOptions> = {}) {
  const paid: unknown[] = [];
  let now = 1_000_000;
  const clock = () => now;
  const ai = countersign({
    store: memoryStore({ now: clock }),
    clock,
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', ref: 'p', input: { amount: 100 } }] },
    ),
    ...options,
  });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }), ...config } as ToolConfig,
    (input) => {
      paid.push(input);
      return 'paid';
    },
  );
  const teller = ai.defineAgent({ name: 'teller', tools: [pay] });
  const pending = async (runId?: string) => {
    const [request] = (await ai.runs.requests({ ...(runId !== undefined && { runId }), settled: false })).items;
    if (!request) throw new Error('Nothing was asked.');
    return request;
  };
  const start = async (by?: string) => {
    const { id } = await teller.start('Pay.', by === undefined ? {} : { by });
    await internalsOf(ai.runs).rested(id);
    return id;
  };
  return {
    ai,
    runs: ai.runs,
    pay,
    paid,
    teller,
    pending,
    start,
    ask: async (by?: string) => pending(await start(by)),
    later: (ms: number) => {
      now += ms;
    },
  };
}

export const edited = (amount: number) => ({ type: 'approve', edit: { amount } }) as const;
export const notAllowed = { code: 'not-allowed' };
