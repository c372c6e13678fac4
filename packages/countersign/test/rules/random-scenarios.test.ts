// 200 runs from a seed: random calls of tools of every kind, random decisions in random batches, and a round trip
// through JSON at every pause. The test checks the effects outside.
import {
  approve,
  cancel,
  type GenerateResponse,
  interrupt,
  type Message,
  reject,
  respond,
  restart,
  type ToolRequestPart,
  type ToolResponsePart,
  tool,
  z,
} from 'countersign';
import { type ScriptedTurn, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { type Random, randomFrom } from '../random.ts';
import { deepFreeze, failureOf, scripted, travelled } from './support.ts';

const KINDS = ['plain', 'question', 'gated', 'sometimes', 'interrupting', 'throwing'] as const;
type Kind = (typeof KINDS)[number];

/** The facts about one call of the model, by its number. */
type Known = { kind: Kind; decided?: 'run' | 'no' | 'answered'; edited?: boolean; ran: number[] };

type World = { readonly known: Map<number, Known>; readonly outputs: readonly unknown[]; readonly random: Random };

const INPUT = z.object({ n: z.number(), edited: z.boolean().optional() });
const OUTPUTS = [0, '', false, null, 'text', { deep: [1, null] }, [], 3.5];

function toolsOf({ known, random }: World) {
  const effect = (n: number) => {
    const call = known.get(n);
    if (!call) throw new Error(`Call ${n} was never requested.`);
    call.ran.push(n);
    return OUTPUTS[n % OUTPUTS.length] as never;
  };
  const config = (name: Kind) => ({ name, description: `A tool that is ${name}.`, inputSchema: INPUT });
  const delays = Array.from({ length: 64 }, () => random.below(6));
  const slowly = async (n: number) => {
    for (let i = 0; i < (delays[n % 64] ?? 0); i++) await null;
  };
  return [
    tool(config('plain'), async ({ n }) => {
      await slowly(n);
      return effect(n);
    }),
    interrupt(config('question')),
    tool({ ...config('gated'), needsApproval: true }, async ({ n }) => {
      await slowly(n);
      return effect(n);
    }),
    tool(
      { ...config('sometimes'), needsApproval: ({ n }) => (n % 2 === 0 ? { message: `Run ${n}?` } : false) },
      ({ n }) => effect(n),
    ),
    tool(config('interrupting'), async ({ n }, { interrupt, resumed }) => {
      await slowly(n);
      const asked = typeof resumed === 'number' ? resumed : 0;
      if (asked < 1 + (n % 3)) interrupt({ asked });
      return effect(n);
    }),
    tool({ ...config('throwing'), needsApproval: true }, ({ n }) => {
      effect(n);
      throw new Error(`call ${n} broke`);
    }),
  ];
}

function makeTurns(random: Random, known: Map<number, Known>): ScriptedTurn[] {
  const turns: ScriptedTurn[] = [];
  for (let turn = 0; turn < 1 + random.below(3); turn++) {
    const asked = [];
    for (let i = 0; i < 1 + random.below(5); i++) {
      const n = known.size;
      const kind = random.pick(KINDS);
      known.set(n, { kind, ran: [] });
      // Ids are missing, duplicated or fine.
      const ref = random.pick([undefined, 'same', `ref-${n}`]);
      asked.push({ name: kind, input: { n }, ...(ref !== undefined && { ref }) });
    }
    turns.push({ calls: asked });
  }
  return turns;
}

const numberOf = (part: ToolRequestPart): number => (part.toolRequest.input as { n: number }).n;

type Decided = ToolRequestPart | ToolResponsePart;

/** Decides one interrupt at random, and records the expected outcome. */
function decide(part: ToolRequestPart, { known, random }: World): { verb: string; decision: Decided } {
  const n = numberOf(part);
  const call = known.get(n) as Known;
  const asked = (part.metadata?.interrupt as { asked?: number } | undefined)?.asked ?? 0;
  const choices =
    call.kind === 'question'
      ? ['respond', 'reject', 'cancel']
      : ['approve', 'edit', 'restart', 'restart', 'respond', 'reject', 'cancel'];
  const choice = random.pick(choices);
  switch (choice) {
    case 'respond':
      call.decided = 'answered';
      return { verb: 'respond', decision: respond(part, random.pick(OUTPUTS)) };
    case 'reject':
      call.decided = 'no';
      return { verb: 'reject', decision: reject(part, 'no') };
    case 'cancel':
      call.decided = 'no';
      return { verb: 'cancel', decision: cancel(part) };
    case 'edit':
      call.decided = 'run';
      call.edited = true;
      return { verb: 'approve', decision: approve(part, { edit: { n, edited: true } }) };
    case 'approve':
      call.decided = 'run';
      return { verb: 'approve', decision: random.chance(0.5) ? approve(part) : part };
    default:
      call.decided = 'run';
      return { verb: 'restart', decision: restart(part, asked + 1) };
  }
}

const FINAL = new Set<Known['decided']>(['no', 'answered']);

function checkOutside(known: Map<number, Known>, pending: ReadonlySet<number>, asked: ReadonlySet<number>): void {
  for (const [n, { kind, decided, ran }] of known) {
    expect(ran.length, `call ${n} (${kind}, ${decided})`).toBeLessThanOrEqual(1);
    if (FINAL.has(decided) || !asked.has(n)) expect(ran, `call ${n} (${kind}) must not run`).toEqual([]);
    if (pending.has(n)) expect(ran, `call ${n} (${kind}) is pending`).toEqual([]);
    if (kind === 'gated' && decided === undefined) expect(ran, `call ${n} is undecided`).toEqual([]);
  }
}

/** Each turn's answers are in the order of its calls. */
function checkOrder(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'tool') continue;
    const asked = (messages[index - 1]?.content ?? []).flatMap((part) =>
      'toolRequest' in part ? [part.toolRequest.ref] : [],
    );
    const told = message.content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.ref] : []));
    expect(told).toEqual(asked);
  }
}

async function scenario(seed: number): Promise<void> {
  const random = randomFrom(seed);
  const known = new Map<number, Known>();
  const turns = makeTurns(random, known);
  const world: World = { known, outputs: OUTPUTS, random };
  const tools = toolsOf(world);
  const asked = new Set<number>();
  let reply = 0;
  const model = scriptedModel(() => {
    const turn = turns[reply++];
    for (const call of turn?.calls ?? []) asked.add((call.input as { n: number }).n);
    return turn ?? 'done';
  });
  const { ai } = scripted([], { model });
  let response: GenerateResponse = await ai.generate({ prompt: 'go', tools });
  const stale: { verb: string; decision: Decided }[] = [];
  for (let round = 0; response.finishReason === 'interrupted'; round++) {
    expect(round, 'the run ends').toBeLessThan(200);
    expect(response.interrupts.length).toBeGreaterThan(0);
    const messages = deepFreeze(travelled(response.messages));
    const pending = travelled(response.interrupts);
    checkOutside(known, new Set(pending.map(numberOf)), asked);
    // A decision that was applied already is rejected, alone and together with others, and nothing runs.
    const old = stale.at(-1);
    if (old && random.chance(0.5)) {
      const before = JSON.stringify([...known]);
      await failureOf(ai.generate({ tools, messages, resume: { [old.verb]: old.decision } }));
      expect(JSON.stringify([...known])).toBe(before);
    }
    const chosen = pending.filter(() => random.chance(0.6));
    if (chosen.length === 0) chosen.push(random.pick(pending));
    const decisions = chosen.map((part) => decide(part, world));
    const resume: Record<string, Decided[]> = {};
    for (const { verb, decision } of decisions) resume[verb] = [...(resume[verb] ?? []), travelled(decision)];
    stale.push(...decisions);
    if (random.chance(0.15)) {
      // An abort before the start keeps the decisions.
      const stopped = await ai.generate({ tools, messages, resume, abortSignal: AbortSignal.abort() });
      expect(stopped.finishReason).toBe('aborted');
      response = await ai.generate({ tools, messages: travelled(stopped.messages) });
    } else response = await ai.generate({ tools, messages, resume });
  }
  expect(response.text).toBe('done');
  expect(asked.size).toBe(known.size);
  checkOutside(known, new Set(), asked);
  checkOrder(response.messages);
  for (const [n, { kind, decided, ran }] of known) {
    const runsUnasked = kind === 'plain' || (kind === 'sometimes' && n % 2 === 1);
    const runs = runsUnasked || decided === 'run';
    expect(ran, `call ${n} (${kind}, ${decided})`).toEqual(runs ? [n] : []);
  }
}

describe('random scenarios: each approved effect once, nothing else ever, results in order, and the run ends', () => {
  test.each(Array.from({ length: 20 }, (_value, block) => block))('block %i of ten seeds', async (block) => {
    for (let i = 0; i < 10; i++) {
      const seed = block * 10 + i;
      try {
        await scenario(seed);
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }
  });
});
