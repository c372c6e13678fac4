// Where the values of a call came from: searched when the call asks, and only where somebody has marked a source or goes by origins.

import { pathOf } from '../../core/authority/condition.ts';
import { stepsIn } from '../../core/authority/grants/plan.ts';
import { forTool, goesByOrigin } from '../../core/authority/rule.ts';
import { defined, type Json } from '../../core/json.ts';
import { type FieldOrigin, type Origins, startsWith } from '../../core/origin/origin.ts';
import { isOneOf, originsOf, type Sources, valueAt } from '../../core/origin/search.ts';
import { sourcesIn } from '../../core/origin/sources.ts';
import type { Bound } from '../../core/request/request.ts';
import { namesRecipient } from '../../core/request/totals.ts';
import type { Call, State } from '../../core/run/call.ts';
import { subAgentState } from '../../core/run/sub-agents.ts';
import type { Driver, Run } from '../run.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import type { Policies } from '../tool/policies.ts';

type Tools = ReadonlyMap<string, ToolDefinition>;

/** A conversation, and those that it is inside. */
export type Conversation = Pick<Driver, 'tools' | 'policies' | 'outer'> & {
  readonly state: Pick<State, 'history' | 'outside'>;
};

/** Searched at the first use; undefined for a call of a program outside, whose conversation is not here. */
export type LazyOrigins = () => Origins | undefined;

/** Of a call of the run. Ask only where the driver goes by origins. */
export function originsIn(
  { state }: Pick<Run, 'state'>,
  { tools, policies, outer }: Driver,
  tool: ToolDefinition | undefined,
  call: Call,
  bound: Bound,
): LazyOrigins {
  return lazyOrigins({ tools, policies, outer, state }, tool, call, bound);
}

export function lazyOrigins(
  conversation: Conversation,
  tool: ToolDefinition | undefined,
  { input, edit }: Pick<Call, 'input' | 'edit'>,
  { runsWith: json = input }: Bound,
): LazyOrigins {
  let found: { readonly origins: Origins | undefined } | undefined;
  return () => {
    found ??= { origins: find() };
    return found.origins;
  };

  function find(): Origins | undefined {
    if (!tool || conversation.state.outside) return undefined;
    const sources = sourcesOf(conversation);
    if (tool.plan) return ofSteps(tool.plan.tools(), json, sources, conversation, edit?.proposed);
    return search(tool, json, sources, conversation, edit?.proposed);
  }
}

function search(
  tool: ToolDefinition,
  json: Json,
  sources: Sources,
  { policies }: Conversation,
  unedited?: Json,
): Origins {
  const marked = sensitiveFields(tool, policies);
  const isSensitive = (field: readonly string[]) => isOneOf(marked, field) || isRecipient(tool, field);
  return originsOf(json, sources, { schema: tool.spec().inputSchema, isSensitive, ...defined({ unedited }) });
}

/** Each step is searched as the call that it is. */
function ofSteps(tools: Tools, json: Json, sources: Sources, conversation: Conversation, proposed?: Json): Origins {
  const before = proposed === undefined ? [] : stepsIn(proposed);
  // People also remove steps, so the place of a step says nothing.
  const isEdited = (field: readonly string[], input: Json) =>
    proposed !== undefined && !before.some((step) => valueAt(step.input, field) === valueAt(input, field));
  return stepsIn(json).flatMap(({ tool: name, input }, index) => {
    const tool = tools.get(name);
    const found = tool ? search(tool, input, sources, conversation) : [];
    return found.map((origin): FieldOrigin => {
      const field = [...placeOf(index), ...origin.field];
      return origin.from === 'model' && isEdited(origin.field, input)
        ? { ...origin, from: 'editor', field }
        : { ...origin, field };
    });
  });
}

const placeOf = (step: number): readonly string[] => ['steps', String(step), 'input'];

/** Those of the input of a step, in the origins of its plan. */
export function originsOfStep(origins: Origins | undefined, step: number): Origins | undefined {
  const place = placeOf(step);
  return origins?.flatMap((origin) =>
    startsWith(origin.field, place) ? { ...origin, field: origin.field.slice(place.length) } : [],
  );
}

/** What can be searched in the conversation, for itself and its sub-agents. */
export function sourcesOf({ state, tools, outer }: Conversation): Sources {
  const descriptions = [...tools.values()].flatMap((tool) =>
    tool.isForeign ? [{ tool: tool.name, text: tool.spec() }] : [],
  );
  const ofTool = (name: string) => trustOf(tools.get(name));
  return sourcesIn(state.history.toArray(), { ofTool, outer: outer?.(), descriptions });
}

/** For a decision on a call inside these calls, the outermost first. */
export function conversationInside(root: Conversation, path: readonly Call[]): Conversation {
  return path.reduce<Conversation>((outer, call) => {
    const tools = outer.tools.get(call.name)?.innerTools?.() ?? NO_TOOLS;
    return { tools, policies: outer.policies, state: subAgentState(call), outer: () => sourcesOf(outer) };
  }, root);
}

const NO_TOOLS: Tools = new Map();

/** An agent is as untrusted as its tools: what it says may come from them. */
function trustOf(tool: ToolDefinition | undefined): 'trusted' | 'untrusted' | 'person' | 'model' {
  if (!tool || isUntrusted(tool)) return 'untrusted';
  if (tool.plan) return 'model';
  return tool.body ? 'trusted' : 'person';
}

const isUntrusted = ({ trust, innerTools }: ToolDefinition): boolean =>
  trust === 'untrusted' || (innerTools !== undefined && [...innerTools().values()].some(isUntrusted));

/** A tool of the run or of its sub-agents is marked, or a rule goes by origins. Nothing is searched elsewhere. */
export function usesOrigins(tools: Tools, { rules, origins }: Pick<Policies, 'rules' | 'origins'>): boolean {
  if (origins || (rules.length > 0 && rules.some(goesByOrigin))) return true;
  for (const { trust, sensitive, innerTools, plan } of tools.values()) {
    const inner = innerTools ?? plan?.tools;
    if (trust === 'untrusted' || sensitive || (inner && usesOrigins(inner(), NO_RULES))) return true;
  }
  return false;
}

const NO_RULES = { rules: [] };

function sensitiveFields(
  { name, sensitive = [] }: ToolDefinition,
  { rules }: Policies,
): readonly (readonly string[])[] {
  const ruled = rules.filter((rule) => forTool(rule, name)).flatMap(({ where = [] }) => where);
  return [...sensitive, ...ruled.map(({ field }) => field)].map(pathOf);
}

/** Unless the tool itself says which fields are sensitive. */
const isRecipient = ({ sensitive }: ToolDefinition, field: readonly string[]): boolean =>
  sensitive === undefined && field.some(namesRecipient);
