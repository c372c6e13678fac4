// Policies as an application defines them, and how one becomes the data that is stored with a request.

import type { Policy, Who } from '../../core/authority/policy.ts';
import { deadlineProblem, policyProblem } from '../../core/authority/policy-problem.ts';
import { messageOf, UsageError } from '../../core/errors.ts';
import { defined, isObject, toJson } from '../../core/json.ts';
import { askProblem, type WaitOptions } from './ask-options.ts';
import type { ApprovalContext, PolicyConfig, PolicyFor, ReviewOptions, Rule } from './definition.ts';
import { spanOf } from './duration.ts';

type MaybePromise<T> = T | Promise<T>;

/** The policies and rules of an instance, and what its directory knows about roles. */
export type Policies = {
  readonly named: ReadonlyMap<string, PolicyConfig>;
  /** All that fit a call count. */
  readonly rules: readonly Rule[];
  readonly membersOf?: (role: string) => MaybePromise<readonly string[]>;
  readonly roles?: readonly string[];
  readonly policyFor?: PolicyFor;
  /** Each request says where its values came from, even if no source is marked. */
  readonly origins?: boolean;
  /** Who decides a request whose policies name nobody; undefined for anyone. */
  readonly defaultDeciders?: (run: { readonly startedBy: string | null }) => Who | undefined;
};

/** A policy as data, and how it lets a request wait. */
type Governing = { readonly policy: Policy; readonly waits: WaitOptions; readonly review?: PolicyConfig['review'] };

/** Throws if the policy cannot be satisfied, or has an unknown field or role. */
export function checkPolicy(name: string | undefined, config: unknown, roles?: readonly string[]): void {
  const { deciders, review, ...rest } = (isObject(config) ? config : {}) as PolicyConfig;
  const { policy, waits } = dataOf(rest);
  const asked = typeof deciders === 'function' || deciders === undefined ? policy : { ...policy, deciders };
  const { onExpiry } = waits;
  const late = onExpiry === 'approve' ? deadlineProblem({ ...policy, onExpiry }) : undefined;
  const problem = isObject(config)
    ? (policyProblem(asked, roles) ?? askProblem(waits) ?? late ?? reviewProblem(review))
    : 'it must be an object';
  if (problem === undefined) return;
  const which = name === undefined ? 'The policy' : `The policy ${name}`;
  throw new UsageError('invalid-options', { policy: name }, `${which} cannot be used: ${problem}.`);
}

/** Throws if the policy is a name that is not defined. `who` names it. */
export function refuseUnknownPolicy(policy: unknown, defined: Policies['named'], who: string): void {
  if (typeof policy !== 'string' || defined.has(policy)) return;
  const names = [...defined.keys()].join(', ') || 'none';
  const message = `${who} names the policy ${policy}, which is not defined. Define it with ai.definePolicy. Defined are: ${names}.`;
  throw new UsageError('invalid-options', { policy }, message);
}

/** The policy for this input. If its deciders cannot be found, the card has a warning, and the policy has no deciders. */
export async function governedBy(
  named: unknown,
  { named: known, membersOf, roles }: Policies,
  input: unknown,
  ctx: ApprovalContext,
): Promise<Governing> {
  const name = typeof named === 'string' ? named : undefined;
  const config = name === undefined ? named : known.get(name);
  const common = name === undefined ? {} : { name };
  if (config === undefined) {
    const warning = `The policy ${name ?? '(undefined)'} is not defined here. Define it, and apply it to this request.`;
    return { policy: { ...common, ...nobody(warning) }, waits: {} };
  }
  try {
    checkPolicy(name, config, roles);
    const { deciders, review, ...rest } = config as PolicyConfig;
    const { policy, waits } = dataOf(rest);
    const found = typeof deciders === 'function' ? await decidersFor(deciders, input, ctx) : deciders && { deciders };
    const plain: Policy = { ...common, ...policy, ...found };
    const warnings = [...(plain.warnings ?? []), ...(await tooFew(plain, membersOf))];
    return { policy: warnings.length > 0 ? { ...plain, warnings } : plain, waits, ...(review && { review }) };
  } catch (error) {
    return { policy: { ...common, ...nobody(messageOf(error)) }, waits: {} };
  }
}

function reviewProblem(review: unknown): string | undefined {
  if (review === undefined || typeof review === 'function') return undefined;
  const options = isObject(review) ? (review as Partial<ReviewOptions>) : {};
  const isKnown = Object.keys(options).every((key) => ['by', 'within', 'required'].includes(key));
  const within = options.within === undefined || (spanOf(options.within)?.ms ?? 0) > 0;
  const required = options.required === undefined || typeof options.required === 'boolean';
  if (isKnown && within && required && typeof options.by === 'function') return undefined;
  return '`review` must be a function, or an object such as { by, within: "20s", required: true }';
}

export const nobody = (warning: string): Policy => ({ deciders: { people: [] }, warnings: [warning] });

const TIMES: readonly string[] = ['remind', 'escalate', 'expireAfter', 'businessHours', 'onExpiry'];

/** What counts votes, and how the request waits. */
export function dataOf(config: Omit<PolicyConfig, 'deciders' | 'review'>): Governing {
  const [waits, policy] = [true, false].map((isTime) =>
    Object.fromEntries(Object.entries(config).filter(([key]) => TIMES.includes(key) === isTime)),
  );
  const { grants, validFor, recallFor } = config;
  // An invalid duration stays, and `policyProblem` refuses it.
  const expiresWithin = grants ? spanOf(grants.expiresWithin)?.ms : undefined;
  const maximum = grants && expiresWithin !== undefined ? { grants: { ...grants, expiresWithin } } : {};
  const times = defined({ validFor: spanOf(validFor)?.ms, recallFor: spanOf(recallFor)?.ms });
  return { policy: { ...policy, ...maximum, ...times } as Policy, waits: waits as WaitOptions };
}

async function decidersFor(
  deciders: (input: any, ctx: ApprovalContext) => MaybePromise<Who>,
  input: unknown,
  ctx: ApprovalContext,
): Promise<Pick<Policy, 'deciders' | 'warnings'>> {
  try {
    const found = toJson(await deciders(input, ctx));
    const problem = found.ok ? policyProblem({ deciders: found.value }) : found.problem;
    if (problem === undefined && found.ok) return { deciders: found.value as Who };
    return nobody(`The deciders could not be found: ${problem}.`);
  } catch (error) {
    return nobody(`The deciders could not be found: ${messageOf(error)}.`);
  }
}

/** Groups that have fewer members than they need, as the directory says. */
async function tooFew({ quorum = [] }: Policy, membersOf: Policies['membersOf']): Promise<readonly string[]> {
  if (!membersOf) return [];
  const warnings: string[] = [];
  for (const { of, count } of quorum) {
    const { people = [], roles = [] } = of;
    try {
      const members = new Set([...people, ...(await Promise.all(roles.map((role) => membersOf(role)))).flat()]);
      if (members.size < count)
        warnings.push(
          `${count} votes are needed, and only ${members.size} people are in: ${[...people, ...roles].join(', ')}.`,
        );
    } catch (error) {
      warnings.push(`The members of ${roles.join(', ')} could not be read (${messageOf(error)}).`);
    }
  }
  return warnings;
}
