// Finds the tools of a call, given as objects, agents or names.
import { UsageError } from '../../core/errors.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import type { ToolDefinition, UnknownNames } from './definition.ts';

/** A tool, an agent, or the name of a defined one. */
export type ToolInput = string | { readonly definition: ToolDefinition };

/** The interrupts of these tools; their inputs are typed where every tool is given as an object. */
export type InterruptOf<T extends readonly ToolInput[]> = [T[number]] extends [never]
  ? ToolRequestPart
  : RequestOf<T[number]>;

/** Agents and names say nothing about inputs. */
type RequestOf<T> = T extends (input: infer Input, ...rest: never) => unknown
  ? ToolRequestPart<Input>
  : ToolRequestPart;

export type Registry = ReadonlyMap<string, ToolDefinition>;

const NO_TOOLS: ReadonlyMap<string, ToolDefinition> = new Map();

/** Finds tools by name. A stored run leaves unknown names out, and only their calls wait; elsewhere they are an error. */
export function findTools(
  given: readonly ToolInput[] | undefined,
  registry: Registry,
  unknown: UnknownNames = 'refuse',
): ReadonlyMap<string, ToolDefinition> {
  if (given === undefined || given.length === 0) return NO_TOOLS;
  if (!Array.isArray(given))
    throw new UsageError('invalid-options', { tools: typeof given }, '`tools` must be an array of tools.');
  const tools = new Map<string, ToolDefinition>();
  for (let index = 0; index < given.length; index++) {
    const input = given[index] as ToolInput;
    if (unknown === 'leave-out' && typeof input === 'string' && !registry.has(input)) continue;
    const definition = find(input, index, registry);
    if (tools.has(definition.name)) {
      const message = `Two of the tools have the name ${definition.name}; the model could not tell them apart. Rename one.`;
      throw new UsageError('duplicate-tool', { tool: definition.name }, message);
    }
    tools.set(definition.name, definition);
  }
  return tools;
}

/** The tools that are given as objects. What is no tool is refused where the agent runs. */
export function givenTools(given: readonly ToolInput[] | undefined): readonly ToolDefinition[] {
  if (!Array.isArray(given)) return [];
  return (given as readonly ToolInput[]).flatMap((input) => {
    const definition = typeof input === 'string' ? undefined : input?.definition;
    return typeof definition?.name === 'string' ? [definition] : [];
  });
}

function find(input: ToolInput, index: number, registry: Registry): ToolDefinition {
  if (typeof input === 'string') {
    const known = registry.get(input);
    if (known) return known;
    const names = [...registry.keys()].join(', ') || 'none';
    throw new UsageError('unknown-tool', { tool: input }, `No tool "${input}" is defined. Defined are: ${names}.`);
  }
  const definition = input?.definition;
  if (definition && typeof definition.name === 'string') return definition;
  const message = `tools[${index}] is ${input === undefined ? 'undefined' : 'no tool'}. Pass what defineTool, defineInterrupt or defineAgent gave, or a name.`;
  throw new UsageError('invalid-options', { index }, message);
}

/** Refuses an agent that is its own sub-agent: it would call itself forever. */
export function refuseCircles(
  tools: ReadonlyMap<string, ToolDefinition>,
  trail: readonly string[],
  unknown: UnknownNames,
): void {
  for (const { name, innerTools } of tools.values()) {
    if (!innerTools) continue;
    if (trail.includes(name)) {
      const circle = [...trail, name].join(' → ');
      const message = `These agents call each other in a circle: ${circle}.`;
      throw new UsageError('circular-agents', { circle: [...trail, name] }, message);
    }
    refuseCircles(innerTools(unknown), [...trail, name], unknown);
  }
}
