// What the sources say about a call: its tool, the operator's rules and the application. The pure core joins them.
import { type CallRule, type CallSays, joined, mayRun, withDeciders } from '../../../core/authority/may-run.ts';
import { ANYONE, deadlineMayApprove, type Policies, type Policy, withRecall } from '../../../core/authority/policy.ts';
import { deadlineProblem } from '../../../core/authority/policy-problem.ts';
import { forTool, goesByOrigin, ruleSays } from '../../../core/authority/rule.ts';
import { messageOf } from '../../../core/errors.ts';
import { defined, type Json } from '../../../core/json.ts';
import type { RequestKind } from '../../../core/request/request.ts';
import type { Driver } from '../../run.ts';
import { askGate } from '../../tool/ask-gate.ts';
import { mergedWait, type WaitOptions } from '../../tool/ask-options.ts';
import type { ApprovalContext, PolicyConfig, PolicyRequest, ToolDefinition } from '../../tool/definition.ts';
import { governedBy, nobody } from '../../tool/policies.ts';
import { judgePlan, withoutRecall } from '../plan.ts';
import type { Governed, Judged, Judging } from './judged.ts';
import { type AppliedRule, appliedNow, thenOf } from './limits.ts';
import { reviewed } from './review.ts';

/** What `judge` finds for a tool that always asks, where no other source has a say and no policy counts. */
export function judgedPlainly({ policies, asker }: Driver, tool: ToolDefinition): Judged | undefined {
  if (tool.needsApproval !== true || tool.plan || tool.asksByDefault) return undefined;
  if (tool.rules || tool.policies || policies.rules.length > 0) return undefined;
  if (policies.policyFor || tool.asks.onExpiry !== undefined) return undefined;
  if (asker && policies.defaultDeciders?.({ startedBy: asker.startedBy })) return undefined;
  return {
    then: 'ask',
    approval: true,
    governed: { policies: withRecall(ANYONE, tool.recallFor), waits: [{ wait: tool.asks, policy: 0 }] },
  };
}

/** Asks every source anew. A source that fails asks; one that names who decides then names nobody. */
export async function judge(driver: Driver, judging: Judging): Promise<Judged> {
  const { tool, input, json, ctx } = judging;
  const { rules: operators, policyFor } = driver.policies;
  const rules = tool.rules ? [...operators, ...tool.rules] : operators;
  const plan = tool.plan && (await judgePlan(judge, driver, judging));
  if (plan?.then === 'deny') return plan;
  const { said, failure } = plan ?? (await askGate(tool, input, ctx));
  const own = typeof said === 'object' ? said : {};
  const { labels, risk, reversibility } = { ...tool.asks, ...own };
  const agent = driver.asker?.agent ?? null;
  const findOrigins =
    judging.origins && isRuled(tool) && rules.some((rule) => goesByOrigin(rule) && forTool(rule, tool.name))
      ? judging.origins
      : undefined;
  const origins = findOrigins?.();
  const facts = {
    tool: tool.name,
    agent,
    input: json,
    origins,
    labels,
    risk,
    reversibility,
    isDescribed: tool.isDescribed === true,
  };
  const fitting =
    rules.length > 0 && isRuled(tool) ? rules.filter((rule) => ruleSays(rule, thenOf(rule), facts) !== undefined) : [];
  const applied = fitting.length > 0 ? await appliedNow(driver, fitting, { callId: ctx.callId, facts }) : [];
  const beyond = applied.filter(({ why }) => why !== undefined);
  const isUndecided = said === true && tool.asksByDefault === true;
  const asks = said === false ? ('allow' as const) : isUndecided ? ('undecided' as const) : ('ask' as const);
  // Most calls have no rule, so the tool alone says whether they ask.
  const first = applied.length > 0 && mayRun({ ...facts, own: asks }, applied.map(withoutPolicy));
  const isBeyond = beyond.length > 0 && {
    own: beyond.some(({ then }) => then === 'deny') ? ('deny' as const) : ('ask' as const),
  };
  const kinds = defined({ labels, risk, reversibility, origins, ...(tool.isDescribed && { isDescribed: true }) });
  const plainly = { says: { own: asks, ...kinds, ...isBeyond } };
  if (first && first.then === 'deny') return { ...first, ...plainly };
  if (first && first.then === 'run' && !first.observed)
    return { ...RUNS, ...defined({ rule: first.rule }), ...plainly };
  if (!first && asks === 'allow') return origins ? { ...RUNS, ...plainly } : RUNS;
  const { policy: named, ...options } = own;
  const governed = 'policy' in own ? await governedBy(named, driver.policies, input, ctx) : NO_POLICY;
  const ownWait = mergedWait(mergedWait(tool.asks, governed.waits), options);
  const others = await governedByAll(applied, driver, input, ctx);
  const added = policyFor && (await addedPolicy(driver, { ...judging, kind: 'approval' }));
  const sources = {
    own: asks,
    ...(asks !== 'allow' && {
      policies: tool.policies ?? [timed(governed.policy, ownWait), ...(plan?.policies ?? [])],
    }),
    ...(added && { added: added.policy }),
  };
  // What a limit said counts as said by the tool, because no replay can count again.
  const limits = others.filter((_, index) => applied[index]?.why !== undefined).map(({ policy }) => policy);
  const withLimits = isBeyond && { ...isBeyond, policies: [...(sources.policies ?? []), ...limits] };
  const says = applied.length > 0 || origins ? { says: { ...sources, ...kinds, ...withLimits } } : undefined;
  const result = mayRun(
    { ...facts, ...sources },
    applied.map((rule, index) => ({ ...rule, policy: timed(others[index]?.policy ?? {}, others[index]?.waits ?? {}) })),
  );
  if (result.then === 'deny') return { ...result, ...says };
  if (result.then === 'run') {
    const { observed = ANYONE } = result;
    const why = applied.filter(({ then }) => then === 'observe').map(textOf);
    return { then: 'run', observed: { policies: defaulted(driver, judging, observed), why }, ...says };
  }
  const call = { tool: tool.name, input: json, agent, startedBy: driver.asker?.startedBy ?? null };
  const asked = [governed, ...others, ...(added ? [added] : [])];
  const opinion = await reviewed(driver, asked, { ...call, ...defined({ labels, risk, reversibility }) }, ctx);
  const reviews = [...(plan?.reviews ?? []), ...opinion.reviews];
  // Behind the others, which keep their places: it adds, whatever it says.
  const all: Policies = [...defaulted(driver, judging, result.policies), ...opinion.policies];
  const policies = plan ? withoutRecall(all) : withRecall(all, tool.recallFor);
  const waiting = [
    { wait: ownWait, policy: timed(governed.policy, ownWait) },
    ...others.map(({ policy, waits }) => ({ wait: waits, policy: timed(policy, waits) })),
    ...(added ? [{ wait: added.waits, policy: added.policy }] : []),
    ...(plan?.waiting ?? []),
  ];
  const waits = waiting.map(({ wait, policy }) => ({ wait, policy: placeOf(result.policies, policy) }));
  const isPlain = said === true || said === false || ('policy' in own && Object.keys(options).length === 0);
  const approval = isPlain ? true : options;
  const given = { policies, waits, ...(reviews.length > 0 && { reviews }) };
  const noted = says && opinion.policies.length > 0 ? { says: withMore(says.says, opinion.policies) } : says;
  return { then: 'ask', approval, governed: given, ...defined({ failure }), ...noted };
}

/** What a review added counts as said by the tool, so that a replay asks the same people. */
const withMore = (says: CallSays, more: readonly Policy[]): CallSays => ({
  ...says,
  policies: [...(says.policies ?? []), ...more],
});

const NO_POLICY: { readonly policy: Policy; readonly waits: WaitOptions; readonly review?: PolicyConfig['review'] } = {
  policy: ANYONE[0],
  waits: {},
};
const RUNS = { then: 'run' } as const;

/** What a rule says, for people. */
const textOf = ({ tool = 'every tool', reason }: AppliedRule): string =>
  reason ?? `A rule for ${[tool].flat().join(', ')}`;

const withoutPolicy = ({ policy: _named, ...rule }: AppliedRule): CallRule =>
  rule.why === undefined ? rule : { ...rule, reason: rule.reason ?? rule.why };

/** The policies of the rules that ask about the call, in their order. */
async function governedByAll(
  applied: readonly AppliedRule[],
  driver: Driver,
  input: unknown,
  ctx: ApprovalContext,
): Promise<readonly Awaited<ReturnType<typeof governedBy>>[]> {
  if (applied.length === 0) return [];
  const one = async (rule: AppliedRule) => {
    const own = 'policy' in rule ? await governedBy(rule.policy, driver.policies, input, ctx) : NO_POLICY;
    if (rule.why === undefined) return own;
    // Grants were given while there was room.
    const told = { warnings: [...(own.policy.warnings ?? []), rule.why], grants: false as const };
    return { ...own, policy: { ...own.policy, ...told } };
  };
  return Promise.all(applied.map(one));
}

/** Rules are for calls that do something: not for requests, nor for agents and plans, whose own calls ask. */
export const isRuled = ({ body, innerTools, plan }: ToolDefinition): boolean =>
  body !== undefined && !innerTools && !plan;

/** A deadline may approve only where the policy says so itself, and no quorum and no signature is needed. */
export function timed(policy: Policy, { onExpiry }: WaitOptions): Policy {
  if (onExpiry !== 'approve') return policy;
  const admits: Policy = { ...policy, onExpiry };
  return deadlineProblem(admits) === undefined ? admits : policy;
}

function placeOf(policies: Policies, policy: Policy): number {
  const place = policies.indexOf(policy);
  if (place >= 0) return place;
  const text = JSON.stringify(policy);
  return policies.findIndex((other) => JSON.stringify(other) === text);
}

/** The policies of a request that no gate asks for: a request, a doubt, a tool that is missing. `known`: those of its call. */
export async function governRequest(
  driver: Driver,
  request: Omit<Judging, 'ctx' | 'tool'> & { readonly tool: Judging['tool'] | undefined; readonly name: string },
  kind: RequestKind,
  wait: WaitOptions,
  known: Policies | undefined,
): Promise<Governed> {
  const added = await addedPolicy(driver, { ...request, kind });
  const more = added ? [added.policy] : [];
  const all: Policies = known ? [...known, ...more] : joined([timed({}, wait), ...more]);
  const policies = withRecall(defaulted(driver, request, all), request.tool?.recallFor);
  const waits = [{ wait, policy: 0 }, ...(added ? [{ wait: added.waits, policy: placeOf(all, added.policy) }] : [])];
  return { policies, waits };
}

type Asked = {
  readonly tool: ToolDefinition | undefined;
  readonly name?: string;
  readonly json: Json;
  readonly requesters: readonly string[];
  readonly kind: RequestKind;
};

/** What the application adds for this request. */
async function addedPolicy(
  driver: Driver,
  asked: Asked & { readonly input: unknown; readonly ctx?: ApprovalContext },
): Promise<Awaited<ReturnType<typeof governedBy>> | undefined> {
  const { policyFor } = driver.policies;
  if (!policyFor) return undefined;
  try {
    const named = await policyFor(requestFor(driver, asked));
    if (named === undefined) return undefined;
    const ctx = asked.ctx ?? NO_CONTEXT;
    const governed = await governedBy(named, driver.policies, asked.input, { ...ctx, context: driver.context });
    return { ...governed, policy: timed(governed.policy, governed.waits) };
  } catch (error) {
    return { policy: nobody(`\`policyFor\` failed: ${messageOf(error)}`), waits: {} };
  }
}

const NO_CONTEXT: ApprovalContext = { context: {}, callId: '', metadata: {}, signal: new AbortController().signal };

function requestFor({ asker, context }: Driver, { tool, name, json, requesters, kind }: Asked): PolicyRequest {
  const { labels, risk, reversibility } = tool?.asks ?? {};
  return {
    tool: tool?.name ?? name ?? '',
    kind,
    input: json,
    agent: asker?.agent ?? null,
    startedBy: asker?.startedBy ?? null,
    requesters,
    context,
    ...defined({ runId: asker?.runId, labels, risk, reversibility }),
  };
}

/** Where no source names deciders, the default of the application does. Four eyes without a known requester warn. */
function defaulted(driver: Driver, { requesters }: Pick<Asked, 'requesters'>, joined: Policies): Policies {
  const deciders = driver.asker && driver.policies.defaultDeciders?.({ startedBy: driver.asker.startedBy });
  const policies = deciders ? withDeciders(joined, deciders) : joined;
  if (requesters.length > 0 || !policies.some(({ notRequester }) => notRequester)) return policies;
  const [first, ...rest] = policies;
  return [warned(first), ...rest.map(warned)];
}

const warned = (policy: Policy): Policy =>
  policy.notRequester ? { ...policy, warnings: [...(policy.warnings ?? []), UNKNOWN_REQUESTER] } : policy;

const UNKNOWN_REQUESTER =
  'It is not known who requested this call, so only people whom this policy names can approve it. Pass `by` when the run starts.';

/** How the request ends at its deadline: as its first source says, and by an approval only if every policy admits that. */
export function endingFor(policies: Policies, onExpiry: WaitOptions['onExpiry']): WaitOptions['onExpiry'] {
  return onExpiry === 'approve' && !deadlineMayApprove(policies) ? 'reject' : onExpiry;
}
