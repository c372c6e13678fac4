// Only shown calls run: whatever honest and hostile clients post, a call runs with the input and in the chat it was
// shown in, once, and after its approval. Runs for each version of the AI SDK.
//
// COUNTERSIGN_SEEDS and COUNTERSIGN_FIRST_SEED choose other seeds: how many, and the first.
import { isDeepStrictEqual } from 'node:util';
import { countersign } from 'countersign';
import { afterAll, describe, expect, onTestFailed, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { decisionIn, isPending, live, newWorld, toolOf, type World } from './random-chat.ts';
import { callsIn, isGated } from './random-tools.ts';

const { COUNTERSIGN_SEEDS = campaignSize(30, 600), COUNTERSIGN_FIRST_SEED = '1' } = process.env;
const SEEDS = Array.from({ length: Number(COUNTERSIGN_SEEDS) }, (_, index) => Number(COUNTERSIGN_FIRST_SEED) + index);

export function onlyShownCallsRun(): void {
  describe('a call runs only with the input that was shown', () => {
    let ran = 0;
    test.each(SEEDS)('seed %i', async (seed) => {
      const world = newWorld(seed);
      onTestFailed(() => console.error(`Log of seed ${seed}:\n${world.log.join('\n')}`));
      await live(world);
      ran += world.effects.length;
      const problems = [
        ...world.problems,
        ...wrongEffects(world),
        ...wrongAnswers(world),
        ...(await wrongRecords(world)),
        ...wrongWords(world),
      ];
      expect({ seed, problems }).toEqual({ seed, problems: [] });
    });
    afterAll(() => expect(ran).toBeGreaterThan(0));
  });
}

function* wrongEffects({ effects, shown, decisions, tools, store }: World): Iterable<string> {
  const ran = new Set<string>();
  for (const { id, chat, tool, input, decided } of effects) {
    const call = shown.get(id);
    // A seal has no memory, so an approved call may run again.
    if (ran.has(id) && store) yield `${id} ran twice`;
    ran.add(id);
    if (!call) yield `${id} ran, and was never shown`;
    else if (call.chat !== chat) yield `${id} was shown in chat ${call.chat}, and ran in ${chat}`;
    else if (call.tool !== tool) yield `${id} was shown as ${call.tool}, and ran as ${tool}`;
    else if (!isDeepStrictEqual(call.input, input))
      yield `${id} was shown with ${JSON.stringify(call.input)}, and ran with ${JSON.stringify(input)}`;
    else if (isGatedIn(tools, call)) {
      const isApproval = (decision: World['decisions'][number]): boolean =>
        decision.approved &&
        decision.id === id &&
        decision.chat === chat &&
        decision.person === call.person &&
        decision.tool === tool &&
        isDeepStrictEqual(decision.input, input);
      if (!decisions.slice(0, decided).some(isApproval)) yield `${id} ran, and ${call.person} had not approved it`;
    }
  }
}

const isGatedIn = (tools: World['tools'], call: { readonly tool: string; readonly input: any }): boolean =>
  tools.some((tool) => tool.name === call.tool && isGated(tool, call.input));

/** An honest person gets the outcome they decided. */
function* wrongAnswers(world: World): Iterable<string> {
  if (!world.isHonest) return;
  for (const { asked, decided, after, effects } of world.answers)
    for (const { toolCallId: id } of callsIn(asked.slice(-1)).filter((part) => isPending(world, part))) {
      const partIn = (messages: typeof asked) => callsIn(messages).find(({ toolCallId }) => toolCallId === id);
      const [part, answer] = [partIn(decided), partIn(after)];
      if (!part) continue;
      const times = world.effects.slice(0, effects).filter((effect) => effect.id === id).length;
      const isTaken = world.way === 'approval' || world.tools.some((t) => t.name === toolOf(part) && t.isTakenAgain);
      const expected = decisionIn(world, part) && isTaken ? 1 : 0;
      if (times !== expected) yield `${id} was decided, and ran ${times} times in place of ${expected}`;
      if (!/^output-/.test(answer?.state)) yield `${id} was decided, and has no result: ${JSON.stringify(answer)}`;
      const output = world.outputs.get(id);
      if (times === 1 && output !== undefined && !isDeepStrictEqual(answer?.output, output))
        yield `${id} gave ${JSON.stringify(output)}, and the page has ${JSON.stringify(answer)}`;
    }
}

/** Each recorded call matches the one that was shown, was decided once, and ran only if it was approved. */
async function wrongRecords({ store, effects, shown }: World): Promise<string[]> {
  if (!store) return [];
  const problems: string[] = [];
  const { runs } = countersign({ store });
  for (const { id: runId } of (await runs.list({ limit: 200 })).items) {
    if (!(await runs.verify(runId)).ok) problems.push(`The record of ${runId} is not sound`);
    const events = await runs.recorded(runId);
    const { ref: id, input } = (events[1] as any).content[0].toolRequest;
    const call = { id, input };
    const decisions = events.flatMap((event) => (event.type === 'decision-made' ? [event.decision.type] : []));
    if (decisions.length > 1) problems.push(`${call.id} was decided more than once: ${decisions}`);
    if (!effects.some(({ id }) => id === call.id)) continue;
    if (decisions[0] !== 'approve') problems.push(`${call.id} ran, and its decision is ${decisions[0]}`);
    if (!isDeepStrictEqual(call.input, shown.get(call.id)?.input))
      problems.push(`${call.id} differs from the call that was shown`);
  }
  return problems;
}

/** No model received a result that the client made up for a gated call. */
function* wrongWords({ prompts, shown, tools }: World): Iterable<string> {
  for (const { role, content } of prompts.flat())
    for (const { type, toolCallId, toolName, output } of role === 'tool' ? content : []) {
      if (type !== 'tool-result' || !JSON.stringify(output).includes('FAKE')) continue;
      const call = shown.get(toolCallId);
      if (call && call.tool === toolName && isGatedIn(tools, call)) yield `The model received ${toolCallId}: FAKE`;
    }
}
