// What a person must know to find out whether a call took effect: recorded with the request, and the same on every screen.
import { progressOf } from '../../core/authority/ballots.ts';
import { isFor, standingVotes } from '../../core/authority/tally.ts';
import { messageOf } from '../../core/errors.ts';
import { defined } from '../../core/json.ts';
import type { Doubt } from '../../core/request/request.ts';
import { type Call, requestId, type State } from '../../core/run/call.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import { warn } from '../warning.ts';
import { validInput } from './bound-input.ts';

export async function doubtAbout(state: State, tool: ToolDefinition | undefined, call: Call): Promise<Doubt> {
  const { id: idempotencyKey, phase, granted } = call;
  const approvedBy = approversOf(state, call);
  return {
    idempotencyKey,
    ...defined({
      startedAt: phase.at === 'started' ? phase.since : undefined,
      approvedBy: approvedBy.length > 0 ? approvedBy : undefined,
      grantId: granted?.id,
      howToCheck: tool && (await howToCheck(tool, call)),
    }),
  };
}

/** Everyone whose vote or decision let the call run, the first first. */
function approversOf(state: State, { id, pauses, decided }: Call): readonly string[] {
  const ids = Array.from({ length: pauses }, (_, index) => requestId(id, index + 1));
  const voters = ids.flatMap((request) => standingVotes(progressOf(state, request).votes).filter(isFor));
  const made = decided ? [...decided.earlier, decided.decision] : [];
  const deciders = made.filter(({ type }) => typeof type === 'string' && RUNS.has(type));
  const people = [...voters, ...deciders].map(({ by }) => by);
  return [...new Set(people.filter((person) => typeof person === 'string'))];
}

/** The decisions, and the notes of earlier ones, after which a body runs. */
const RUNS: ReadonlySet<string> = new Set(['approve', 'edit', 'restart']);

/** The tool's own words. What is no text is left out, with a warning: the request must be asked in any case. */
async function howToCheck(tool: ToolDefinition, call: Call): Promise<string | undefined> {
  const { howToCheck: given } = tool;
  try {
    if (typeof given !== 'function') return given?.slice(0, LONGEST);
    const input = await validInput(tool, call);
    const text: unknown = input.ok ? given(input.value, { idempotencyKey: call.id }) : undefined;
    if (text === undefined || typeof text === 'string') return text?.slice(0, LONGEST) || undefined;
    warn(`\`howToCheck\` of ${tool.name} is left out: it must return a text.`);
  } catch (error) {
    warn(`\`howToCheck\` of ${tool.name} is left out: its function threw: ${messageOf(error).slice(0, 200)}`);
  }
  return undefined;
}

const LONGEST = 2_000;
