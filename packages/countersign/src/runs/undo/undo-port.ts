// The agent that undos run on: each is one call of a tool whose body is the `undo` of another tool. Nobody can define it.

import { NotPerformed } from '../../core/errors.ts';
import { copyOf, type Json, sameJson } from '../../core/json.ts';
import { undoAgent } from '../../core/run/drill.ts';
import type { State } from '../../core/run/state.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import { ANYTHING } from '../../loop/tool/schema.ts';
import type { AgentPort, UndoneCall } from '../driving/open-run.ts';
import { ONE_CALL_MODEL } from '../gates/call-gate.ts';

/** What the undo gets: exactly what ran, and what came of it. */
type Undone = { readonly input: Json; readonly output: Json };

/** `find`: the tools of the agent or the gate whose calls are undone. */
export function undoPort(real: AgentPort, find: (name: string) => ToolDefinition | undefined): AgentPort {
  const toolOf = ({ tool, tools }: UndoneCall): ToolDefinition | undefined => {
    const [outer = tool, ...inner] = [...tools, tool];
    return inner.reduce((found, name) => found?.innerTools?.('leave-out').get(name), find(outer));
  };
  const withTools = (tools: ReadonlyMap<string, ToolDefinition>): AgentPort => ({
    name: undoAgent(real.name),
    limits: { maxTurns: 2 },
    driver: (context) => {
      // No grant covers an undo: a person decides each.
      const { signal: _signal, grants: _grants, ...driver } = real.driver(context);
      const request = { tools: [], toolChoice: 'none', config: {} } as const;
      return { ...driver, model: ONE_CALL_MODEL, request, tools };
    },
    tools: () => tools,
    defined: () => tools,
  });
  return {
    ...withTools(new Map()),
    undone: toolOf,
    forRun({ history, turn }: State) {
      const undone = history.toArray()[0]?.metadata?.opening as UndoneCall | undefined;
      const tool = undone && toolOf(undone);
      if (!undone || !tool?.undo) return withTools(new Map());
      const own = undoTool(tool, undone, turn?.calls[0]?.input);
      return withTools(new Map([[own.name, own]]));
    },
  };
}

export const undoName = (tool: string): string => `undo_${tool}`;

function undoTool(tool: ToolDefinition, { policies }: UndoneCall, recorded: Json | undefined): ToolDefinition {
  const name = undoName(tool.name);
  const { title, notice, undo } = tool;
  const titled = ({ input }: Undone): string | undefined => (typeof title === 'function' ? title(input) : title);
  return {
    name,
    // Nobody edits what is undone.
    input: {
      json: () => ({ type: 'object' }),
      validate: (value) =>
        recorded === undefined || sameJson(value, recorded)
          ? { ok: true, value }
          : { ok: false, problems: ['an undo takes back exactly what ran'], issues: [] },
    },
    output: ANYTHING,
    spec: () => ({ name, description: `Undoes a call of ${tool.name}.`, inputSchema: { type: 'object' } }),
    needsApproval: true,
    ...(policies && { policies }),
    asks: { ...(tool.asks.labels && { labels: tool.asks.labels }), ...(tool.asks.risk && { risk: tool.asks.risk }) },
    title: (undone: Undone) => `Undo: ${titled(undone) ?? tool.name}`,
    ...(notice && { notice }),
    metadata: {},
    idempotent: false,
    commits: false,
    body: async ({ input, output }: Undone, ctx) => {
      const checked = await tool.input.validate(copyOf(input));
      if (!checked.ok)
        throw new NotPerformed(`${tool.name} no longer accepts the input: ${checked.problems.join('; ')}`);
      return undo?.(copyOf(output), checked.value, ctx);
    },
  };
}
