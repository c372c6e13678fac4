// What a new version of the program may have made of a tool since a call of it was decided on, or had begun.
import type { Call } from '../../core/call.ts';
import type { ToolDefinition } from '../tool/definition.ts';

/** Says why what was decided on, or has begun, is not what has this name now; undefined if it is. */
export function changedKind({ name, body, innerTools }: ToolDefinition, call: Call): string | undefined {
  if (!body) return `${name} is a question here now, and has nothing to run.`;
  if (innerTools)
    return wasTool(call) ? `${name} was a tool when it was let run, and is an agent here now.` : undefined;
  return wasAgent(call) ? `${name} was an agent when this began, and is a tool here now.` : undefined;
}

/** Only what agents do is on record as it happens, and only agents are held in the middle. */
function wasAgent({ subAgent, phase }: Call): boolean {
  return subAgent?.recorded !== undefined || subAgent?.isAgent === true || phase.at === 'sub-agent-held';
}

/** Only tools have a gate, or ask something themselves: what agents ask is asked inside them. */
function wasTool({ approvals }: Call): boolean {
  return approvals.includes('approval') || approvals.includes('interrupt');
}

/** Nobody let the body run, and there is a gate: what was decided, if anything, was about a question inside. */
export function isUnasked({ needsApproval }: ToolDefinition, { approvals }: Call): boolean {
  return needsApproval !== false && approvals.every((kind) => kind === 'interrupt');
}
