// Tools that a new version of the program has changed since a call was approved or started.
import type { Call } from '../../core/call.ts';
import type { ToolDefinition } from '../tool/definition.ts';

/** Says how the tool has changed its kind since then; undefined if it has not. */
export function changedKind({ name, body, innerTools }: ToolDefinition, call: Call): string | undefined {
  if (!body) return `${name} is now a question and has nothing to run.`;
  if (innerTools) return wasTool(call) ? `${name} was a tool when it was approved, and is now an agent.` : undefined;
  return wasAgent(call) ? `${name} was an agent when it started, and is now a tool.` : undefined;
}

/** Only agents record their events as they happen, and only agents are held in the middle. */
function wasAgent({ subAgent, phase }: Call): boolean {
  return subAgent?.recorded !== undefined || subAgent?.isAgent === true || phase.at === 'sub-agent-held';
}

/** Only tools have a gate or ask for themselves; an agent asks in its own conversation. */
function wasTool({ approvals }: Call): boolean {
  return approvals.includes('approval') || approvals.includes('interrupt');
}

/** The tool has a gate, and no person has passed the call through it: at most a question of the body was answered. */
export function isUnasked({ needsApproval }: ToolDefinition, { approvals }: Call): boolean {
  return needsApproval !== false && approvals.every((kind) => kind === 'interrupt');
}
