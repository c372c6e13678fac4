// What a new version of the program may have made of a tool since a call of it was decided on, or had begun.
import type { Call } from '../core/call.ts';
import type { ToolDefinition } from './tool.ts';

/** Says why what was decided on, or has begun, is not what has this name now; undefined if it is. */
export function changedKind({ name, body, innerTools }: ToolDefinition, { inside, phase }: Call): string | undefined {
  if (!body) return `${name} is a question here now, and has nothing to run.`;
  // Only what agents do is on record as it happens, and only agents are held in the middle.
  const wasAgent =
    inside !== undefined ||
    (phase.at === 'started' && phase.inside === true) ||
    (phase.at === 'open' && phase.inner !== undefined);
  return wasAgent && !innerTools ? `${name} was an agent when this began, and is a tool here now.` : undefined;
}

/** Nobody let the body run, and there is a gate: what was decided, if anything, was about a question inside. */
export function isUnasked({ needsApproval }: ToolDefinition, { decided, earlierDecisions = [] }: Call): boolean {
  if (needsApproval === false) return false;
  const types = [decided?.decision.type, ...earlierDecisions.map(({ type }) => type)];
  return !types.some((type) => LETS_RUN.has(type));
}

/** An earlier approval with another input is kept as an edit. */
const LETS_RUN: ReadonlySet<unknown> = new Set(['approve', 'restart', 'edit']);
