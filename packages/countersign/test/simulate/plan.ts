// What a run of the simulation does: the calls of its model, turn by turn, which its messages say.

import { isDeepStrictEqual } from 'node:util';
import { ProviderError } from '../../src/core/errors.ts';
import type { Message, Model, Part } from '../../src/index.ts';
import type { Chance } from '../../src/testing/simulate/chance.ts';
import type { Life } from '../../src/testing/simulate/life.ts';

export type PlannedCall = { readonly name: string; readonly input: unknown };
export type Plan = readonly (readonly PlannedCall[])[];

const TOOLS = [
  'pay',
  'pay',
  'pay',
  'wire',
  'wire',
  'send',
  'ship',
  'check',
  'ask',
  'book',
  'late',
  'spend',
  'spend',
  'look',
];

/** How much happens in a schedule, and with which tools. */
export type Size = {
  readonly runs: number;
  readonly programs: number;
  /** The most turns of a run. */
  readonly turns: number;
  readonly people: number;
  readonly tools: readonly string[];
};

/** Most schedules are small: what goes wrong does so between two calls and two people, and large ones are slow. */
export function sizeOf(chance: Chance): Size {
  if (chance.is(0.15)) return { runs: 3, programs: 0, turns: 3, people: 0.3, tools: ['spend'] };
  const isLarge = chance.is(0.15);
  return {
    runs: 1 + chance.below(isLarge ? 4 : 2),
    programs: chance.is(0.3) ? 1 + chance.below(2) : 0,
    turns: isLarge ? 3 : 1,
    people: isLarge ? 0.7 : 0.2,
    // All of them, or a few, so that the same ones meet.
    tools: isLarge ? TOOLS : Array.from({ length: 1 + chance.below(3) }, () => chance.pick(TOOLS)),
  };
}

/** A random plan. Every amount is another one, so that no call can be taken for another. */
export function planOf(
  chance: Chance,
  tools: readonly string[],
  amountOf: () => number,
  turns: number,
  depth = 0,
): Plan {
  const length = 1 + chance.below(depth === 0 ? turns : Math.min(turns, 2));
  return Array.from({ length }, () =>
    Array.from({ length: chance.is(0.6) ? 1 : 2 + chance.below(2) }, () =>
      callOf(chance, tools, amountOf, turns, depth),
    ),
  );
}

function callOf(
  chance: Chance,
  tools: readonly string[],
  amountOf: () => number,
  turns: number,
  depth: number,
): PlannedCall {
  if (depth < 2 && chance.is(0.2)) {
    const prompt = JSON.stringify(planOf(chance, tools, amountOf, turns, depth + 1));
    return { name: depth === 0 ? 'helper' : 'assistant', input: { prompt } };
  }
  return { name: chance.pick(tools), input: { amount: amountOf() } };
}

/** A model that does what the messages of the user say, and then reports. It answers from the messages alone. */
export const planningModel = (life: Life<any>): Model => ({
  name: 'planning',
  async reply({ messages, signal }) {
    const { chance, weather } = life;
    await new Promise((resolve) => setTimeout(resolve, chance.delay(200)));
    signal?.throwIfAborted();
    if (chance.is(weather.failing))
      throw new ProviderError('provider-failed', {}, 'The simulated model is away.', { retryable: chance.is(0.5) });
    for (const problem of historyProblems(messages)) life.problems.push(`the model is told what happened: ${problem}`);
    const turns = messages.flatMap((message) => (message.role === 'user' ? turnsIn(message) : []));
    const turn = turns[messages.filter(({ role }) => role === 'tool').length];
    if (!turn) return { content: [{ text: 'Done.' }], finishReason: 'stop' };
    const content = turn.map(({ name, input }) => ({ toolRequest: { name, input } }));
    return { content, finishReason: 'tool-calls' };
  },
});

/** What a model must not read: results in another order than its calls, an id twice, or an input that nobody wrote. */
function historyProblems(messages: readonly Message[]): readonly string[] {
  const planned = messages.flatMap((message) => (message.role === 'user' ? turnsIn(message) : []));
  const refs: string[] = [];
  const problems: string[] = [];
  let turn = 0;
  messages.forEach(({ role, content }, index) => {
    const calls = content.flatMap((part) => ('toolRequest' in part ? [part] : []));
    if (role !== 'model' || calls.length === 0) return;
    const asked = calls.map(({ toolRequest: { ref } }) => String(ref));
    refs.push(...asked);
    const told = (messages[index + 1]?.content ?? []).flatMap((part) =>
      'toolResponse' in part ? [String(part.toolResponse.ref)] : [],
    );
    if (told.join() !== asked.join())
      problems.push(`it asked ${asked.join()}, and reads the results of ${told.join()}`);
    const plan = planned[turn++] ?? [];
    calls.forEach(({ toolRequest: { input }, metadata }, place) => {
      const proposed = metadata?.replacedInput ?? input;
      if (!isDeepStrictEqual(proposed, plan[place]?.input))
        problems.push(`it asked for ${JSON.stringify(plan[place])}, and reads ${JSON.stringify(proposed)}`);
    });
  });
  if (new Set(refs).size < refs.length) problems.push(`two calls have the same id among ${refs.join()}`);
  return problems;
}

const turnsIn = ({ content }: Message): Plan => {
  const text = content.map((part: Part) => ('text' in part ? part.text : '')).join('');
  return text.startsWith('[') ? (JSON.parse(text) as Plan) : [];
};
