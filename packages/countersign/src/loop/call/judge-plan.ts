// What the sources say about the steps of a plan: each as about a call on its own, and all of them count.

import { type PlanStep, stepProblem, stepsIn } from '../../core/authority/plan.ts';
import { ANYONE, type Policies, type Policy } from '../../core/authority/policy.ts';
import { policyFor } from '../../core/authority/tally.ts';
import { copyOf, defined } from '../../core/json.ts';
import type { Reversibility } from '../../core/request/request.ts';
import type { Call } from '../../core/run/call.ts';
import type { Driver } from '../run.ts';
import type { WaitOptions } from '../tool/ask-options.ts';
import type { Approval, ToolDefinition } from '../tool/definition.ts';
import { shortTitle } from '../tool/title.ts';
import type { Judged, Judging } from './judged.ts';
import { titleOf } from './title.ts';

type Judge = (driver: Driver, judging: Judging) => Promise<Judged>;

/** `said`: what the card shows of the steps. */
export type PlanSays =
  | { readonly then: 'deny'; readonly why: string }
  | {
      readonly then: 'ask';
      readonly said: Approval;
      readonly failure?: never;
      readonly policies: readonly Policy[];
      readonly waiting: readonly { readonly wait: WaitOptions; readonly policy: Policy }[];
    };

type JudgedStep = {
  readonly shown: Shown;
  readonly policies: Policies;
  readonly waiting: readonly { readonly wait: WaitOptions; readonly policy: Policy }[];
};

type Shown = Pick<Approval, 'title' | 'labels' | 'risk' | 'reversibility'>;

/** A step that no person could approve here makes the whole plan fail: its caller corrects it. */
export async function judgePlan(judge: Judge, driver: Driver, judging: Judging): Promise<PlanSays> {
  const { asker } = driver;
  if (!asker) return deny('A plan needs a run in a store.');
  // The run of a gate has one call, so its plan is for the next calls of the same person.
  if (driver.limits.awaitCaller && asker.startedBy === null) return deny('A plan needs a person: pass `by`.');
  const judged: JudgedStep[] = [];
  for (const [index, step] of stepsIn(judging.json).entries()) {
    const result = await judgeStep(judge, driver, judging, step);
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
  return { then: 'ask', said, policies, waiting: judged.flatMap(({ waiting }) => waiting) };
}

const RISKS = ['high', 'medium', 'low'] as const;
const REVERSIBILITIES: readonly Reversibility[] = ['irreversible', 'reversible', 'read-only'];

const deny = (why: string) => ({ then: 'deny', why }) as const;

const titles = ({ json }: Judging, steps: readonly Shown[]): string =>
  stepsIn(json)
    .map(({ tool }, index) => steps[index]?.title ?? tool)
    .join('; ');

async function judgeStep(
  judge: Judge,
  driver: Driver,
  { tool: planTool, ctx, requesters }: Judging,
  step: PlanStep,
): Promise<JudgedStep | string> {
  const { plan } = planTool;
  const tool = plan?.tools().get(step.tool);
  if (!plan || !tool) return 'the plan has no such tool.';
  if (tool.gateIsElsewhere) return 'its gate is a function of another process. Decide where it is.';
  const parsed = await tool.input.validate(copyOf(step.input));
  if (!parsed.ok) return `its input does not fit: ${parsed.problems.join('; ')}.`;
  const { input: json } = step;
  const judged = await judge(driver, { tool, input: parsed.value, json, ctx, requesters });
  if (judged.then === 'deny') return judged.why;
  if (judged.then === 'ask' && judged.failure !== undefined) return `${judged.failure}.`;
  const { governed = NOBODY_ASKS, approval = true } = judged.then === 'ask' ? judged : {};
  const policies = governed.policies.map((policy) => policyFor(policy, json)) as unknown as Policies;
  const problem = stepProblem(step, governed.policies, plan.validForMs);
  if (problem !== undefined) return `${problem}.`;
  const waiting = governed.waits.map(({ wait, policy }) => ({ wait, policy: policies[policy] ?? {} }));
  return { shown: await shownOf(tool, step, approval === true ? {} : approval), policies, waiting };
}

const NOBODY_ASKS = { policies: ANYONE, waits: [] };

async function shownOf(tool: ToolDefinition, { tool: name, input }: PlanStep, own: Shown): Promise<Shown> {
  const { labels, risk, reversibility } = { ...tool.asks, ...own };
  const call = { id: '', name, input } as Call;
  return defined({ title: await titleOf(tool, call, {}, own.title), labels, risk, reversibility }) as Shown;
}
