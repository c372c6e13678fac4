// The tool with which an agent proposes a plan: its steps, each as the schema of its own tool reads it, and what their sources say.

import { limitsOf, MOST_STEPS, type PlanStep, stepProblem, stepsIn } from '../../core/authority/grants/plan.ts';
import { ANYONE, type Policies, type Policy } from '../../core/authority/policy.ts';
import { authoritySchemas, shapeProblem } from '../../core/authority/schemas.ts';
import { policyFor } from '../../core/authority/tally.ts';
import { messageOf, NotPerformed, UsageError } from '../../core/errors.ts';
import { copyOf, defined, isObject, type Json, toJson } from '../../core/json.ts';
import { anything, aString, checkOptions, type OptionTable } from '../../core/options.ts';
import type { Reversibility, Review } from '../../core/request/request.ts';
import type { Call } from '../../core/run/call.ts';
import type { JsonSchema } from '../../models/model.ts';
import type { Driver } from '../run.ts';
import { ASK_OPTIONS, type WaitOptions } from '../tool/ask-options.ts';
import type { Approval, ToolDefinition } from '../tool/definition.ts';
import { type Duration, spanOf } from '../tool/duration.ts';
import type { Schema, Validation } from '../tool/schema.ts';
import { shortTitle } from '../tool/title.ts';
import { tool } from '../tool/tool.ts';
import { runsWithOf } from './bound-input.ts';
import type { Governed, Judged, Judging } from './judging/judged.ts';
import { originsOfStep } from './origins.ts';
import { titleOf } from './title.ts';

/** How a plan waits for a decision, and how long its steps hold after it. */
export type PlanOptions = Omit<WaitOptions, 'onExpiry'> & {
  /** `plan` by default. */
  readonly name?: string;
  readonly description?: string;
  /** How long the approved steps may run; `'1d'` by default. A policy of a step may allow less. */
  readonly validFor?: Duration;
};

const { onExpiry: _never, title: _own, ...waits } = ASK_OPTIONS;

export const PLAN_OPTIONS: OptionTable<PlanOptions> = {
  ...waits,
  name: aString,
  description: aString,
  validFor: { is: 'a duration such as 3600000 or "1d"', fits: (value) => (spanOf(value)?.ms ?? 0) > 0 },
};

const DESCRIPTION =
  'Proposes several calls at once. People approve them as one request. Then call the tools with exactly these inputs: those calls ' +
  'ask nobody again. A step with `where` is for all calls that meet these conditions, at most `uses` of them; its input is an example.';

/** `tools`: looked up when the plan is read, because later definitions count too. */
export function planDefinition(
  tools: () => ReadonlyMap<string, ToolDefinition>,
  options: PlanOptions = {},
): ToolDefinition {
  checkOptions('the plan tool', options, { ...PLAN_OPTIONS, tools: anything } as OptionTable<PlanOptions>);
  const { name = 'plan', description = DESCRIPTION, validFor = '1d', ...asks } = options;
  const known = (): ReadonlyMap<string, ToolDefinition> => {
    const found = tools();
    for (const one of found.values()) if (!one.body || one.innerTools || one.plan) throw notPlannable(one.name);
    return found;
  };
  const shown = { outcome: allowedUntil, needsApproval: true, idempotent: true };
  const { definition } = tool({ ...asks, ...shown, name, description }, notHere);
  const input = stepsSchema(known);
  const spec = () => ({ name, description, inputSchema: input.json() });
  return { ...definition, input, spec, plan: { tools: known, validForMs: spanOf(validFor)?.ms ?? 0 } };
}

const allowedUntil = (output: unknown): string | undefined =>
  isObject(output) && typeof output.until === 'string'
    ? `Its steps may run until ${output.until.slice(0, 16).replace('T', ' ')} UTC.`
    : undefined;

/** A plan has no body of its own: its run gives the grants. */
const notHere = () => {
  throw new NotPerformed('A plan needs a run in a store.');
};

const notPlannable = (name: string): UsageError =>
  new UsageError(
    'invalid-options',
    { tool: name },
    `${name} is a question, an agent or a plan. A plan takes tools with a body.`,
  );

function stepsSchema(tools: () => ReadonlyMap<string, ToolDefinition>): Schema {
  return { json: () => jsonOf([...tools().values()]), validate: (value) => readSteps(value, tools()) };
}

function jsonOf(tools: readonly ToolDefinition[]): JsonSchema {
  const items = { anyOf: tools.map(stepJson) };
  const steps = { type: 'array', minItems: 1, maxItems: MOST_STEPS, items };
  return { type: 'object', properties: { steps }, required: ['steps'], additionalProperties: false };
}

function stepJson({ name, input }: ToolDefinition): JsonSchema {
  const json = input.json();
  const properties = {
    tool: { const: name },
    // A reference inside would point to another place here.
    input: JSON.stringify(json).includes('"$ref"') ? {} : json,
    where: { type: 'array', items: CONDITION },
    uses: { type: 'integer', minimum: 1 },
    budget: { type: 'object', properties: { field: { type: 'string' }, total: { type: 'number' } } },
  };
  return { type: 'object', properties, required: ['tool', 'input'], additionalProperties: false };
}

const limit = { type: 'number' };
const CONDITION: JsonSchema = {
  type: 'object',
  properties: {
    field: { type: 'string' },
    equals: {},
    oneOf: { type: 'array' },
    ...{ above: limit, atLeast: limit, below: limit, atMost: limit },
  },
  required: ['field'],
  additionalProperties: false,
};

const FIELDS: readonly string[] = ['tool', 'input', 'where', 'uses', 'budget'];

async function readSteps(value: unknown, tools: ReadonlyMap<string, ToolDefinition>): Promise<Validation> {
  const json = toJson(value);
  const given = json.ok && isObject(json.value) ? json.value.steps : undefined;
  if (
    !Array.isArray(given) ||
    given.length === 0 ||
    given.length > MOST_STEPS ||
    Object.keys(value as object).length > 1
  )
    return misfit([], `must be an object with \`steps\`, a list of 1 to ${MOST_STEPS} calls`);
  const steps: PlanStep[] = [];
  for (const [index, step] of (given as readonly Json[]).entries()) {
    const read = await readStep(step, tools);
    if (typeof read === 'string') return misfit(['steps', String(index)], read);
    steps.push(read);
  }
  return { ok: true, value: { steps } };
}

function misfit(path: readonly string[], message: string): Validation {
  return {
    ok: false,
    problems: [path.length > 0 ? `${path.join('.')}: ${message}` : message],
    issues: [{ path, message }],
  };
}

/** The step with its input as it would run, or what is wrong with it. */
async function readStep(step: Json, tools: ReadonlyMap<string, ToolDefinition>): Promise<PlanStep | string> {
  if (!isObject(step) || typeof step.tool !== 'string' || step.input === undefined)
    return 'a step needs `tool` and `input`';
  const unknown = Object.keys(step).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) return `a step has no ${unknown}; it has ${FIELDS.join(', ')}`;
  const { tool: name, input, ...limits } = step as unknown as PlanStep;
  const problem = shapeProblem(authoritySchemas().GrantRequestSchema, limitsOf({ ...limits, tool: name, input }, 1));
  if (problem !== undefined) return problem;
  const found = tools.get(name);
  if (!found) return `the plan cannot hold calls of ${name}, only of: ${[...tools.keys()].join(', ')}`;
  try {
    const checked = await found.input.validate(copyOf(input));
    if (!checked.ok) return `the input does not fit the schema of ${name}: ${checked.problems.join('; ')}`;
    const { runsWith = input, readAnew } = await runsWithOf(found, { input } as Call, checked.value);
    if (readAnew) return `the schema of ${name} changes its own output, so nobody can approve its input in advance`;
    return defined({ tool: name, input: runsWith, ...limits }) as PlanStep;
  } catch (error) {
    return `the schema of ${name} failed: ${messageOf(error)}`;
  }
}

type Judge = (driver: Driver, judging: Judging) => Promise<Judged>;

/** `said`: what the card shows of the steps. */
export type PlanSays =
  | { readonly then: 'deny'; readonly why: string }
  | {
      readonly then: 'ask';
      readonly said: Approval;
      readonly failure?: never;
      readonly policies: readonly Policy[];
      readonly reviews: readonly Review[];
      readonly waiting: readonly { readonly wait: WaitOptions; readonly policy: Policy }[];
    };

type JudgedStep = {
  readonly shown: Shown;
  readonly policies: Policies;
  readonly reviews: readonly Review[];
  readonly waiting: readonly { readonly wait: WaitOptions; readonly policy: Policy }[];
};

type Shown = Pick<Approval, 'title' | 'labels' | 'risk' | 'reversibility'>;

/** A step that no person could approve here makes the whole plan fail: its caller corrects it. */
export async function judgePlan(judge: Judge, driver: Driver, judging: Judging): Promise<PlanSays> {
  const { asker } = driver;
  if (!asker) return deny('A plan needs a run in a store.');
  // The run of a gate has one call, so its plan is for the next calls of the same person.
  if (judging.tool.plan?.isOutside && asker.startedBy === null) return deny('A plan needs a person: pass `by`.');
  const judged: JudgedStep[] = [];
  for (const [index, step] of stepsIn(judging.json).entries()) {
    const origins = judging.origins && (() => originsOfStep(judging.origins?.(), index));
    const result = await judgeStep(judge, driver, { ...judging, origins }, step);
    if (typeof result === 'string') return deny(`Step ${index + 1} (${step.tool}): ${result}`);
    judged.push(result);
  }
  const steps = judged.map(({ shown }) => shown);
  const labels = [...new Set(steps.flatMap(({ labels: own = [] }) => own))];
  const said: Approval = defined({
    plan: { steps },
    title: shortTitle(`Plan with ${steps.length} ${steps.length === 1 ? 'step' : 'steps'}: ${titles(judging, steps)}`),
    labels: labels.length > 0 ? labels : undefined,
    risk: RISKS.find((risk) => steps.some((step) => step.risk === risk)),
    reversibility: REVERSIBILITIES.find((kind) => steps.some((step) => step.reversibility === kind)),
  });
  // No grant lets a plan pass: it would give grants that nobody approved.
  const policies = [...judged.flatMap((step) => step.policies), { grants: false } as const];
  const reviews = judged.flatMap(({ reviews: own }, index) => own.map((review) => ({ ...review, step: index + 1 })));
  return { then: 'ask', said, policies, reviews, waiting: judged.flatMap(({ waiting }) => waiting) };
}

const RISKS = ['high', 'medium', 'low'] as const;
const REVERSIBILITIES: readonly Reversibility[] = ['irreversible', 'reversible', 'read-only'];

/** A plan does nothing that could be recalled: each of its calls waits for itself. */
export const withoutRecall = ([first, ...rest]: Policies): Policies => [unrecalled(first), ...rest.map(unrecalled)];

const unrecalled = ({ recallFor: _ofItsCalls, ...policy }: Policy): Policy => policy;

const deny = (why: string) => ({ then: 'deny', why }) as const;

const titles = ({ json }: Judging, steps: readonly Shown[]): string =>
  stepsIn(json)
    .map(({ tool }, index) => steps[index]?.title ?? tool)
    .join('; ');

async function judgeStep(
  judge: Judge,
  driver: Driver,
  { tool: planTool, ctx, requesters, origins }: Judging,
  step: PlanStep,
): Promise<JudgedStep | string> {
  const { plan } = planTool;
  const tool = plan?.tools().get(step.tool);
  if (!plan || !tool) return 'the plan has no such tool.';
  if (tool.gateIsElsewhere) return 'its gate is a function of another process. Decide where it is.';
  const parsed = await tool.input.validate(copyOf(step.input));
  if (!parsed.ok) return `its input does not fit: ${parsed.problems.join('; ')}.`;
  const { input: json } = step;
  const judged = await judge(driver, { tool, input: parsed.value, json, ctx, requesters, origins });
  if (judged.then === 'deny') return judged.why;
  if (judged.then === 'ask' && judged.failure !== undefined) return `${judged.failure}.`;
  const { governed = NOBODY_ASKS, approval = true } = judged.then === 'ask' ? judged : {};
  const policies = governed.policies.map((policy) => policyFor(policy, json)) as unknown as Policies;
  const { reviews = [] } = governed;
  const problem = stepProblem(step, governed.policies, plan.validForMs);
  if (problem !== undefined) return `${problem}.`;
  const waiting = governed.waits.map(({ wait, policy }) => ({ wait, policy: policies[policy] ?? {} }));
  return { shown: await shownOf(tool, step, approval === true ? {} : approval), policies, reviews, waiting };
}

const NOBODY_ASKS: Governed = { policies: ANYONE, waits: [] };

async function shownOf(tool: ToolDefinition, { tool: name, input }: PlanStep, own: Shown): Promise<Shown> {
  const { labels, risk, reversibility } = { ...tool.asks, ...own };
  const call = { id: '', name, input } as Call;
  return defined({ title: await titleOf(tool, call, {}, own.title), labels, risk, reversibility }) as Shown;
}
