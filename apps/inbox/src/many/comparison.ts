// Selected requests side by side: by tool, with what all have in common, and what differs.
import { compareInputs, type InputComparison, type InputTotals, totalsOf } from 'countersign/request';
import type { ApiRequest } from '../api/wire.ts';

export type Json = Parameters<typeof compareInputs>[0][number];

export type ToolSection = {
  readonly key: string;
  readonly tool: string;
  readonly agent: string;
  readonly items: readonly ApiRequest[];
  readonly comparison: InputComparison;
};

/** What the inputs of these requests come to. */
export const totalsOfRequests = (items: readonly ApiRequest[]): InputTotals =>
  totalsOf(items.map(({ input }) => input as Json));

/** One section for each tool of each agent: the fields of different tools mean different things. */
export function sectionsOf(items: readonly ApiRequest[]): readonly ToolSection[] {
  const tools = Map.groupBy(items, ({ agent, tool }) => JSON.stringify([agent, tool]));
  return [...tools].flatMap(([key, alike]) => {
    const [first] = alike;
    if (!first) return [];
    return [{ key, tool: first.tool, agent: first.agent, items: alike, comparison: compared(alike) }];
  });
}

/** The inputs, and what else the cards show: a decision is bound to all of it. */
function compared(items: readonly ApiRequest[]): InputComparison {
  const inputs = compareInputs(items.map(({ input }) => input as Json));
  const facts = compareInputs(items.map(factsOf));
  return {
    common: [...inputs.common, ...facts.common.filter(({ path }) => path.length > 0)],
    columns: [...inputs.columns, ...facts.columns],
    rows: inputs.rows.map((row, index) => [...row, ...(facts.rows[index] ?? [])]),
  };
}

function factsOf({ payload, preview, risk, startedBy, policies, progress }: ApiRequest): Json {
  const names = policies.flatMap(({ name }) => name ?? []);
  return {
    ...(preview && ('value' in preview ? { preview: preview.value as Json } : { 'failed preview': preview.failed })),
    // `true`: the asker gave nothing to show.
    ...(payload !== null && payload !== undefined && payload !== true && { message: messageOf(payload) }),
    ...(risk !== null && { risk }),
    ...(startedBy !== null && { 'started by': startedBy }),
    ...(names.length > 0 && { policies: names }),
    ...(progress && progress.votes.length > 0 && { votes: progress.votes.map(({ by, type }) => `${by}: ${type}`) }),
  };
}

function messageOf(payload: unknown): Json {
  const { message, ...rest } = (typeof payload === 'object' && payload !== null ? payload : {}) as {
    readonly message?: unknown;
  };
  return (typeof message === 'string' && Object.keys(rest).length === 0 ? message : payload) as Json;
}
