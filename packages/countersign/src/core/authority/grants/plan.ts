// A plan: calls that people approve as one request. Each step becomes a grant, with exactly its input or with limits.

import { isObject, type Json } from '../../json.ts';
import { forbidsPlans, type Policies } from '../policy.ts';
import { type GrantRequest, maximumOf } from './grant.ts';
import { DEFAULT_MAXIMUM, type GrantMaximum } from './grant-maximum.ts';
import { grantProblem } from './grant-problem.ts';

/**
 * A call of a plan. With `where`, `input` is an example of the calls that may run; otherwise exactly this input runs. `uses`: how many
 * such calls; one by default.
 */
export type PlanStep = Pick<GrantRequest, 'where' | 'budget'> & {
  readonly tool: string;
  readonly input: Json;
  readonly uses?: number;
};

export const MOST_STEPS = 50;

/** The steps in the recorded input of a plan. */
export function stepsIn(input: Json): readonly PlanStep[] {
  return isObject(input) && Array.isArray(input.steps) ? (input.steps as readonly PlanStep[]) : [];
}

/** The limits of the grant of a step. The policies of the step may end it earlier. */
export function limitsOf({ where, uses = 1, budget }: PlanStep, expiresAt: number): GrantRequest {
  return { uses, expiresAt, ...(where && { where }), ...(budget && { budget }) };
}

/** How long the grants of a plan may hold at most: never longer than an approval lets a call start. */
export function validWithin(policies: Policies, validForMs: number): number {
  const limits = policies.flatMap((policy) => [
    (maximumOf(policy) || DEFAULT_MAXIMUM).expiresWithin,
    policy.validFor ?? validForMs,
  ]);
  return limits.reduce((least, limit) => (limit < least ? limit : least), validForMs);
}

/** Why these policies do not let people approve the step in a plan; undefined if they do. */
export function stepProblem(step: PlanStep, policies: Policies, validForMs: number): string | undefined {
  if (policies.some(forbidsPlans)) return 'its policy asks about each call. Leave it out, and call the tool on its own';
  const isExact = step.where === undefined;
  const maxima = policies.map((policy): GrantMaximum | false => {
    const maximum = maximumOf(policy);
    // People see the very input, so only how often it may run is limited.
    return isExact ? { uses: (maximum || DEFAULT_MAXIMUM).uses, expiresWithin: Number.MAX_SAFE_INTEGER } : maximum;
  });
  return grantProblem(limitsOf(step, validWithin(policies, validForMs)), maxima, 0);
}
