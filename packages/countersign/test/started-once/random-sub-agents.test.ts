// Random histories of a run with sub-agents: processes die, stop and decide, and models fail, in any order.
// Each call still acts once, and the run ends with the same text.
import { setImmediate } from 'node:timers/promises';
import { ConflictError, type DecisionInput, type Json, type RunRequest } from 'countersign';
import { describe, expect, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { ask, call, type Define, LEASE_MS, script, tool, waiting, world } from '../sub-agents/kit.ts';

type Random = () => number;
type Pause = (most: number) => Promise<void>;

/** How often each call has acted, and which calls are acting now. */
type Outside = { readonly acted: Map<string, number>; readonly busy: Set<string> };

const MODEL_DOWN = 'The model is down.';
const MOST_ROUNDS = 4_000;
const MOST_PROCESSES = 60;

function newRandom(seed: number): Random {
  let last = seed;
  return () => {
    last = (last * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return last / 4_294_967_296;
  };
}

/** A root with two sub-agents, one of them with a nested sub-agent. Their calls have the same refs. */
const team =
  (random: Random, pause: Pause, { acted, busy }: Outside): Define =>
  (ai) => {
    const thinks = async () => {
      await pause(9);
      if (random() < 0.12) throw new Error(MODEL_DOWN);
    };
    const act = async (key: string, out: Json) => {
      busy.add(key);
      await pause(9);
      acted.set(key, (acted.get(key) ?? 0) + 1);
      await pause(9);
      busy.delete(key);
      return out;
    };
    const pay = tool(ai, 'pay', ({ idempotencyKey }, { out }) => act(idempotencyKey, out), { needsApproval: true });
    const free = tool(ai, 'free', ({ idempotencyKey }, { out }) => act(idempotencyKey, out));
    const trip = tool(ai, 'trip', ({ idempotencyKey, interrupt, resumed }, { out }) => {
      if (resumed === undefined) interrupt({ n: 1 });
      if (resumed === 1) interrupt({ n: 2 });
      return act(idempotencyKey, out);
    });
    const twice = [call('pay', { out: 0 }, 'x'), call('pay', { out: null }, 'y')];
    const deputy = ai.defineAgent({
      name: 'deputy',
      tools: [pay, free],
      model: script([twice, [call('free', { out: '' }, 'x')]], thinks, 'd'),
    });
    const first = [call('pay', { out: false }, 'x'), call('trip', { out: [] }, 'y'), ask('deputy', 'z')];
    const a = ai.defineAgent({
      name: 'a',
      tools: [pay, trip, free, deputy],
      model: script([first, [call('free', { out: {} }, 'x')]], thinks, 'a'),
    });
    const b = ai.defineAgent({
      name: 'b',
      tools: [pay],
      model: script([[call('pay', { out: 1 }, 'x')], [call('pay', { out: 2 }, 'x')]], thinks, 'b'),
    });
    const turns = [[ask('a', 'x'), ask('b', 'y'), ask('b', 'z')], [ask('b', 'x')]];
    return ai.defineAgent({ name: 'root', tools: [a, b], model: script(turns, thinks) });
  };

/** The deputy makes 3 calls, `a` makes 3, and each of the 3 calls of `b` makes 2. */
const CALLS_THAT_ACT = 12;

const said = (label: string, answers: readonly unknown[]) => `${label}: ${JSON.stringify(answers)}`;
const OF_A = said('a', [false, [], said('d', [0, null, '']), {}]);
const OF_B = said('b', [1, 2]);
const TEXT = said('end', [OF_A, OF_B, OF_B, OF_B]);

/** Decides like a person who knows the real effects, and waits while a call is still acting. */
function decisionOn({ kind, input, payload, part }: RunRequest, { acted, busy }: Outside): DecisionInput | undefined {
  if (kind === 'interrupt') return { type: 'restart', resumed: (payload as { readonly n: number }).n };
  if (kind !== 'doubt') return 'approve';
  const key = String(part.metadata?.callId ?? part.toolRequest.ref);
  if (busy.has(key)) return undefined;
  return acted.has(key) ? { type: 'respond', output: (input as { readonly out: Json }).out } : 'approve';
}

/** The decision lost a race, or the call continues by itself. */
const isHarmless = (error: unknown): boolean =>
  error instanceof ConflictError || (error instanceof Error && error.message.includes('stopped in the middle'));

/** Plays one seed and returns the end of the run and the effects of its calls. */
async function history(seed: number, restarts: boolean) {
  const random = newRandom(seed * 7919);
  const pause: Pause = async (most) => {
    for (let ticks = random() * most; ticks > 0; ticks -= 1) await setImmediate();
  };
  const outside: Outside = { acted: new Map(), busy: new Set() };
  const define = team(random, pause, outside);
  const { open, pass } = world();
  let newest = open(define);
  const processes = [newest];
  const addProcess = () => {
    newest = open(define);
    processes.push(newest);
    return newest.runs;
  };
  const any = () => (processes[Math.floor(random() * processes.length)] ?? newest).runs;

  const { id } = await newest.root.start('Go', { runId: `r${seed}` });

  async function decideSomething() {
    const cards = await waiting(any());
    const card = cards[Math.floor(random() * cards.length)];
    const decision = card && decisionOn(card, outside);
    if (!decision) return;
    const drive = random() < 0.7;
    // Now and then twice at once.
    const tries = await Promise.allSettled([
      any().decide(card.id, decision, { drive, digest: card.digest, by: 'ann' }),
      ...(random() < 0.3 ? [any().decide(card.id, decision, { drive: !drive })] : []),
    ]);
    for (const result of tries) if (result.status === 'rejected' && !isHarmless(result.reason)) throw result.reason;
  }

  async function doSomething() {
    const dice = random();
    const mayRestart = restarts && processes.length < MOST_PROCESSES;
    if (mayRestart && dice < 0.06) {
      pass(2 * LEASE_MS);
      await addProcess().drive(id);
    } else if (mayRestart && dice < 0.1) {
      void newest.runs.stop();
      addProcess();
    } else if (dice < 0.2) await any().drive(id);
    else if (dice < 0.6) await decideSomething();
  }

  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const { status, error } = await newest.runs.get(id);
    if (status === 'done') break;
    if (status === 'failed') {
      expect(error?.message).toContain(MODEL_DOWN);
      if (random() < 0.5) await any().drive(id);
    }
    await pause(6);
    await doSomething();
  }
  const { runs } = open(define);
  const { status, text } = await runs.get(id);
  const { ok } = await runs.verify(id);
  return { status, text, ok, left: await waiting(runs), acted: [...outside.acted.values()] };
}

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

const END = { status: 'done', text: TEXT, ok: true, left: [], acted: Array(CALLS_THAT_ACT).fill(1) };

describe('each call acts once', () => {
  test.each(seeds(campaignSize(5, 8)))('in one process (seed %i)', async (seed) => {
    expect(await history(seed, false)).toEqual(END);
  });

  test.each(seeds(campaignSize(12, 60)))('in processes that die and stop (seed %i)', async (seed) => {
    expect(await history(seed, true)).toEqual(END);
  });
});
