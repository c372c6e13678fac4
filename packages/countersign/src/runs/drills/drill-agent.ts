// The agent that drills run on: it has the tools of a real agent without their bodies, and a model that calls nothing.

import { NotPerformed } from '../../core/errors.ts';
import { drillAgent } from '../../core/run/drill.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import { silentModel } from '../../models/silent.ts';
import type { AgentPort } from '../driving/open-run.ts';

/** Ends the run of a drill, whatever was decided. */
const OVER = 'This was a drill: a request that had to be rejected. Nothing was run.';

const SILENT_MODEL = silentModel(OVER);

export function drillPort(real: AgentPort): AgentPort {
  const tools = (): ReadonlyMap<string, ToolDefinition> =>
    new Map([...real.tools()].flatMap(([name, tool]) => (isOrdinary(tool) ? [[name, drillTool(tool)]] : [])));
  return {
    name: drillAgent(real.name),
    limits: real.limits,
    driver: (context) => {
      const { signal: _signal, ...driver } = real.driver(context);
      const request = { tools: [], toolChoice: 'none', config: {} } as const;
      return { ...driver, model: SILENT_MODEL, request, tools: tools() };
    },
    tools,
    defined: tools,
  };
}

/** Requests ask for an answer, and agents ask in their own conversation: there is nothing to reject. */
const isOrdinary = ({ body, innerTools }: ToolDefinition): boolean => body !== undefined && !innerTools;

/** Takes over what the card shows, field by field, so that no function of the tool that acts can get in. */
function drillTool({
  name,
  input,
  output,
  spec,
  needsApproval,
  asks,
  title,
  metadata,
}: ToolDefinition): ToolDefinition {
  return {
    name,
    input,
    output,
    spec,
    needsApproval: alwaysAsks(needsApproval),
    asks,
    ...(title !== undefined && { title }),
    metadata,
    // After a crash it simply runs again: it does nothing.
    idempotent: true,
    commits: false,
    body: () => {
      throw new NotPerformed(OVER);
    },
  };
}

function alwaysAsks(needsApproval: ToolDefinition['needsApproval']): ToolDefinition['needsApproval'] {
  if (typeof needsApproval !== 'function') return needsApproval === false ? true : needsApproval;
  return async (input, ctx) => (await needsApproval(input, ctx)) || true;
}
