// The tool of a call from outside, as its caller described it. It has no body here: its caller runs it.
import { NotPerformed } from '../../core/errors.ts';
import { defined, isObject, type Json } from '../../core/json.ts';
import { planDefinition } from '../../loop/call/plan.ts';
import { describedSchema } from '../../loop/tool/data-schema.ts';
import type { Approval, PolicyConfig, Rule, ToolConfig, ToolDefinition } from '../../loop/tool/definition.ts';
import type { Duration } from '../../loop/tool/duration.ts';
import { checkRules } from '../../loop/tool/rules.ts';
import type { Schema } from '../../loop/tool/schema.ts';
import { tool } from '../../loop/tool/tool.ts';
import type { JsonSchema } from '../../models/model.ts';

/** What a caller says about its tool: plain data that is recorded with the call. */
export type ToolDescription = Pick<
  ToolConfig,
  'labels' | 'risk' | 'reversibility' | 'notice' | 'recallFor' | 'expiresIn' | 'onExpiry' | 'remindAfter' | 'idempotent'
> & {
  readonly name: string;
  readonly description?: string;
  readonly title?: string;
  /** What the request says beside the title and the input. */
  readonly message?: string;
  /** Who decides: the name of a policy that is defined where the request is decided, or the policy itself. */
  readonly policy?: string | PolicyConfig;
  /** A function says who decides. Only processes that have it can ask, or accept an edit. */
  readonly gateIsCode?: true;
  /** Rules for its calls, which join those of the operator: they can ask and deny, but not allow. Edits are judged by them too. */
  readonly rules?: readonly Rule[];
  /**
   * JSON Schema of the input, for edits. It is data: `$ref`, `pattern`, `patternProperties`, `uniqueItems` and `unevaluated…` are
   * shown but not checked, a required field with a default is optional, and an input that takes too long to check does not fit.
   */
  readonly inputSchema?: JsonSchema;
  /** JSON Schema of the output, for results that a person enters; data, as is `inputSchema`. */
  readonly outputSchema?: JsonSchema;
  /** It is a plan: its input are calls of these tools. Each is judged as a call on its own. */
  readonly plan?: { readonly tools: readonly ToolDescription[]; readonly validFor?: Duration };
};

export function describedTool(description: ToolDescription): ToolDefinition {
  const {
    inputSchema,
    outputSchema,
    gateIsCode,
    policy = gateIsCode && unknownTo(description.name),
    rules = [],
    plan,
    message,
    ...rest
  } = description;
  if (plan)
    return planOf(
      description,
      plan.tools.map((one) => gatedTool(describedTool(one))),
    );
  checkRules(rules, undefined);
  const { definition } = tool(
    {
      description: '',
      ...rest,
      needsApproval: policy === undefined && message === undefined ? true : defined({ policy, message }),
      ...(inputSchema && {
        inputSchema: describedSchema(inputSchema, `the inputSchema of tool ${rest.name}`),
        inputJsonSchema: inputSchema,
      }),
      ...(outputSchema && {
        outputSchema: describedSchema(outputSchema, `the outputSchema of tool ${rest.name}`),
        outputJsonSchema: outputSchema,
      }),
    },
    notHere(rest.name),
  );
  return {
    ...definition,
    isDescribed: true,
    rules: rules.filter(({ then }) => then !== 'allow'),
    ...(policy === undefined && { asksByDefault: true }),
    ...(gateIsCode && { gateIsElsewhere: true }),
  };
}

/** A plan of these tools. What its description says beside them is about the request. */
export function planOf(
  {
    name,
    title: _made,
    plan,
    inputSchema: _own,
    outputSchema: _text,
    idempotent: _always,
    onExpiry: _never,
    ...rest
  }: ToolDescription,
  tools: readonly ToolDefinition[],
): ToolDefinition {
  const { policy: _joined, rules: _each, gateIsCode: _none, notice: _plain, ...waits } = rest;
  const known = new Map(tools.map((tool) => [tool.name, tool]));
  return gatedTool(planDefinition(() => known, { ...waits, name, ...defined({ validFor: plan?.validFor }) }));
}

/** Nobody can approve until a process asks that has the gate. */
const unknownTo = (name: string): PolicyConfig => ({
  deciders: () => {
    throw new Error(`a function of another process says who decides ${name}`);
  },
});

/** What can be recorded of a tool, for processes that decide its calls without its code. */
export function descriptionOf(definition: ToolDefinition): ToolDescription {
  const { name, asks, notice, title, input, output, idempotent, recallFor, plan } = definition;
  if (plan) {
    const tools = [...plan.tools().values()].map(descriptionOf);
    return { ...asks, name, plan: { tools, validFor: plan.validForMs } } as ToolDescription;
  }
  const plain = defined({ ...asks, name, notice, recallFor, title: typeof title === 'string' ? title : undefined });
  const described = {
    ...plain,
    description: definition.spec().description,
    ...(idempotent && { idempotent }),
    ...gateIn(definition.needsApproval),
    ...defined({ inputSchema: schemaIn(input, name), outputSchema: schemaIn(output, name) }),
  };
  return described as ToolDescription;
}

/** A process that only has the record asks the same people, or knows that it cannot know them. */
function gateIn(needsApproval: ToolDefinition['needsApproval']): Partial<ToolDescription> {
  if (needsApproval === false) return {};
  if (typeof needsApproval === 'function') return { gateIsCode: true };
  const { policy = {}, labels, risk, reversibility }: Approval = needsApproval === true ? {} : needsApproval;
  const isCode = isObject(policy) && (typeof policy.deciders === 'function' || policy.review !== undefined);
  return { ...defined({ labels, risk, reversibility }), ...(isCode ? { gateIsCode: true } : { policy }) };
}

/** Undefined if the schema is one of code only. */
function schemaIn({ json }: Schema, name: string): JsonSchema | undefined {
  try {
    const schema = json();
    describedSchema(schema, `the schema of tool ${name}`);
    return Object.keys(schema).length > 0 ? schema : undefined;
  } catch {
    // Its owner checks the values.
    return undefined;
  }
}

/** The tool of a gate, without a body if it is a request. A tool that never asks asks here: that is what a gate is for. */
export function gatedTool(definition: ToolDefinition): ToolDefinition {
  if (definition.plan) return { ...definition, plan: { ...definition.plan, isOutside: true } };
  return definition.needsApproval === false ? { ...definition, needsApproval: true, asksByDefault: true } : definition;
}

/** A body that no caller can reach. */
const notHere = (name: string) => () => {
  throw new NotPerformed(`${name} has no function in this process.`);
};

/** The first message of the run of a call, as data. `tool` is there if the caller described it. */
export type Opening = { readonly [key: string]: Json };

export function descriptionIn(opening: Opening | undefined): ToolDescription | undefined {
  return isObject(opening?.tool) ? (opening.tool as unknown as ToolDescription) : undefined;
}
