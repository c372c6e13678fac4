// A bank for processes that get killed: its agent, its tools, and a ledger file with one line per effect.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Countersign,
  countersign,
  type DecisionInput,
  type PolicyConfig,
  type RunRequest,
  type Tool,
  z,
} from '../../src/index.ts';
import type { Store } from '../../src/runs/port/store.ts';
import { postgresStore } from '../../src/stores/postgres/postgres.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import { type ScriptedTurn, scriptedModel } from '../../src/testing/scripted-model.ts';

/** Where the runs are stored. */
export type Place = { readonly sqlite: string } | { readonly postgres: string };

export const openStore = (place: Place): Store =>
  'sqlite' in place ? sqliteStore(place.sqlite) : postgresStore({ url: place.postgres, poolMax: 4 });

/** One line of the ledger: an effect that cannot be undone. */
export type Line = { readonly run: string; readonly name: string; readonly key: string; readonly pid: number };

/** An append-only file. Any number of processes write whole lines to it. */
export class Ledger<T> {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  write(line: T): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }

  read(): readonly T[] {
    if (!existsSync(this.#path)) return [];
    const lines = readFileSync(this.#path, 'utf8').split('\n').filter(Boolean);
    return lines.map((line): T => JSON.parse(line));
  }
}

/** The kind of a run, which is the first word of its id. */
export const KINDS = [
  'pay',
  'reject',
  'two',
  'chain',
  'book',
  'trip',
  'late',
  'look',
  'sure',
  'ask',
  'team',
  'wire',
  'spend',
  'hold',
] as const;
export type Kind = (typeof KINDS)[number] | 'rush' | 'half' | 'deep';

export const kindOf = (runId: string): Kind => runId.split('-')[0] as Kind;

/** How many calls of the kind `spend` run without a question, because a person allowed them in advance. */
export const GRANTED = 25;

/** How long a question of the kind `rush` stays open. */
export const RUSH_MS = 400;

/** How long an approved call of the kind `hold` can be recalled, unless the bank says it. */
export const HOLD_MS = 200;

/** The calls of the model for each kind of run, turn by turn. */
const TURNS: Readonly<Record<Kind, readonly (readonly string[])[]>> = {
  pay: [['pay']],
  reject: [['pay']],
  two: [['pay', 'pay']],
  chain: [['pay'], ['pay']],
  book: [['book']],
  trip: [['trip']],
  late: [['late']],
  look: [['look']],
  sure: [['sure']],
  ask: [['ask']],
  rush: [['rush']],
  half: [['pay', 'ask']],
  team: [['deputy']],
  wire: [['wire']],
  spend: [['spend']],
  hold: [['hold']],
  deep: [['deputy']],
};

/** The calls of the deputy, turn by turn. */
const DEPUTY_TURNS: readonly (readonly string[])[] = [['look'], ['pay', 'pay'], ['pay']];

export type BankOptions = {
  readonly store: Store;
  readonly ledger: Ledger<Line>;
  readonly leaseMs: number;
  readonly holdMs?: number;
  /** Called at each place where a crash matters. It may be slow. */
  readonly at?: (place: BankPlace, run: string) => Promise<void> | void;
};

export type BankPlace = 'model' | 'uncommitted' | 'body' | 'step' | 'effect';

export function openBank({ store, ledger, leaseMs, holdMs = HOLD_MS, at = () => undefined }: BankOptions) {
  const modelOf = (turnsOf: (run: string) => readonly (readonly string[])[]) =>
    scriptedModel(async ({ messages }): Promise<ScriptedTurn> => {
      const said = messages.find(({ role }) => role === 'user')?.content[0];
      const run = said && 'text' in said ? said.text : '';
      await at('model', run);
      const turn = messages.filter(({ role }) => role === 'tool').length;
      const names = turnsOf(run)[turn];
      if (!names) return { text: `Done ${run}` };
      return { calls: names.map((name, index) => ({ name, ref: `${name}-${turn}-${index}`, input: { run } })) };
    });
  const model = modelOf((run) => TURNS[kindOf(run)]);
  const ai = countersign({ model, store, leaseMs, retry: false });
  const happens = async (name: string, run: string, key: string): Promise<string> => {
    await at('body', run);
    ledger.write({ run, name, key, pid: process.pid });
    await at('effect', run);
    return `${name} of ${run}`;
  };
  const tools = bankTools(ai, ledger, happens, at, holdMs);
  const deputy = ai.defineAgent({
    name: 'deputy',
    model: modelOf((run) => (kindOf(run) === 'deep' ? TURNS.pay : DEPUTY_TURNS)),
    inputSchema: z.object({ run: z.string() }),
    toPrompt: ({ run }) => run,
    tools: [...tools],
  });
  const agent = ai.defineAgent({ name: 'clerk', tools: [...tools, deputy] });
  return { ai, runs: ai.runs, start: (runId: string) => agent.start(runId, { runId, by: 'ann' }) };
}

function bankTools(
  ai: Countersign,
  ledger: Ledger<Line>,
  happens: (name: string, run: string, key: string) => Promise<string>,
  at: NonNullable<BankOptions['at']>,
  holdMs: number,
): readonly Tool[] {
  const base = { description: '', inputSchema: z.object({ run: z.string() }), outputSchema: z.string() };
  const find = (name: string, key: string) => ledger.read().find((line) => line.name === name && line.key === key);
  return [
    ai.defineTool({ ...base, name: 'pay', needsApproval: true }, ({ run }, ctx) =>
      happens('pay', run, ctx.idempotencyKey),
    ),
    ai.defineTool({ ...base, name: 'rush', needsApproval: true, expiresIn: RUSH_MS }, ({ run }, ctx) =>
      happens('rush', run, ctx.idempotencyKey),
    ),
    ai.defineTool({ ...base, name: 'look', idempotent: true }, ({ run }, ctx) =>
      happens('look', run, ctx.idempotencyKey),
    ),
    ai.defineTool(
      {
        ...base,
        name: 'sure',
        needsApproval: true,
        verify: ({ run }, { idempotencyKey }) =>
          find('sure', idempotencyKey) ? { output: `sure of ${run}` } : undefined,
        // A killed process has no later effects.
        settlesWithin: 1,
      },
      ({ run }, ctx) => happens('sure', run, ctx.idempotencyKey),
    ),
    ai.defineTool({ ...base, name: 'book' }, async ({ run }, ctx) => {
      await ctx.step('reserve', () => happens('reserve', run, ctx.idempotencyKey));
      await at('step', run);
      if (ctx.resumed === undefined) ctx.interrupt('Shall I?');
      return happens('book', run, ctx.idempotencyKey);
    }),
    ai.defineTool({ ...base, name: 'trip' }, async ({ run }, ctx) => {
      await ctx.step('flight', () => happens('flight', run, ctx.idempotencyKey));
      await at('step', run);
      await ctx.step('hotel', () => happens('hotel', run, ctx.idempotencyKey));
      return `trip of ${run}`;
    }),
    ai.defineTool({ ...base, name: 'late', needsApproval: true, commits: true }, async ({ run }, ctx) => {
      await at('uncommitted', run);
      await ctx.commitPoint();
      return happens('late', run, ctx.idempotencyKey);
    }),
    ai.defineInterrupt({ ...base, name: 'ask' }),
    ai.defineTool({ ...base, name: 'wire', needsApproval: { policy: TWO_VOTES } }, ({ run }, ctx) =>
      happens('wire', run, ctx.idempotencyKey),
    ),
    ai.defineTool({ ...base, name: 'spend', needsApproval: true }, ({ run }, ctx) =>
      happens('spend', run, ctx.idempotencyKey),
    ),
    ai.defineTool({ ...base, name: 'hold', needsApproval: true, recallFor: holdMs }, ({ run }, ctx) =>
      happens('hold', run, ctx.idempotencyKey),
    ),
  ];
}

const TWO_VOTES: PolicyConfig = { quorum: [{ of: { roles: ['teller'] }, count: 2 }], notRequester: true };

/** A person approves a call of `spend`, and allows the next ones. Resolves with the id of the grant. */
export async function allowSpending({ ai, runs, start }: ReturnType<typeof openBank>): Promise<string> {
  const { id } = await start('spend-first');
  await runs.wait(id);
  const { items } = await runs.requests({ runId: id });
  const expiresAt = Date.now() + 3_600_000;
  for (const card of items) await runs.decide(card, 'approve', { by: 'boss', grant: { uses: GRANTED, expiresAt } });
  await runs.wait(id, { until: 'end' });
  const [grant] = (await ai.grants.list()).items;
  return grant?.id ?? '';
}

/** Decides every question that is not a doubt. */
export function decisionOn({ tool, runId }: RunRequest): DecisionInput {
  if (tool === 'ask') return { type: 'respond', output: 'blue' };
  if (tool === 'book') return { type: 'restart', resumed: 'yes' };
  return kindOf(runId) === 'reject' ? { type: 'reject', reason: 'no' } : 'approve';
}

/** Decides a doubt by the ledger: report the effect, run the call, or report that it was finished manually. */
export function truthOn({ part, tool, runId }: RunRequest, lines: readonly Line[]): DecisionInput {
  const { callId, steps = {} } = (part.metadata ?? {}) as { readonly callId?: string; readonly steps?: object };
  const done = lines.filter(({ key }) => key === callId).map(({ name }) => name);
  if (done.includes(tool === 'trip' ? 'hotel' : tool)) return { type: 'respond', output: `${tool} of ${runId}` };
  const isWhole = done.length === Object.keys(steps).length;
  return isWhole ? 'approve' : { type: 'respond', output: 'finished by hand' };
}

/** Waits a little, so that something can happen meanwhile. */
export const aWhile = (random: () => number, mostMs: number): Promise<void> => delay(random() * mostMs);
