// May a call run? The gate answers, and asks a person where the tool says so.

import { ANYONE } from '../../core/authority/policy.ts';
import { goesByOrigin } from '../../core/authority/rule.ts';
import { defined, isObject, type Json, toJson } from '../../core/json.ts';
import type { Bound, Previews } from '../../core/request/request.ts';
import { type Call, callOf, type MayHaveActed } from '../../core/run/call.ts';
import type { Result } from '../../core/run/event.ts';
import { revisedBy } from '../../core/run/sent-back.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Driver, Run } from '../run.ts';
import { requestPayload } from '../tool/ask-gate.ts';
import type { Approval, Rule, ToolDefinition } from '../tool/definition.ts';
import type { Policies } from '../tool/policies.ts';
import { approvalContext } from './body-context.ts';
import { runsWithOf, type ValidInput, validInput } from './bound-input.ts';
import { governRequest, isRuled, judge, judgedPlainly } from './judging/judge.ts';
import type { Governed, Judging } from './judging/judged.ts';
import { countStart, limitRules } from './judging/limits.ts';
import { type LazyOrigins, originsIn } from './origins.ts';
import { ask, askUnavailable, asPayload, requestersOf } from './pause.ts';
import { changedPreview, isCompared, previewOf } from './preview.ts';
import { failed, settle } from './result.ts';
import { clearByRule, grantStands, recordSays, useGrant } from './use-grant.ts';

type Accepted = ValidInput & { readonly ok: true };

/** What the body gets, or undefined if the call must not run now: it waits, or has its result. */
export function passGate(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
): MaybePromise<Accepted | undefined> {
  const reading = validInput(tool, call);
  return reading instanceof Promise
    ? reading.then((input) => passWith(run, driver, tool, call, input))
    : passWith(run, driver, tool, call, reading);
}

function passWith(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  input: ValidInput,
): MaybePromise<Accepted | undefined> {
  if (!input.ok) return rejectInput(run, driver, tool, call, input.text);
  if (isNew(call) && !tool.body) return askQuestion(run, driver, tool, call, input.value);
  if (isUnasked(driver.policies, tool, call) || isSentBack(run, call))
    return passAsking(run, driver, tool, call, input);
  if (call.policies && isOutdated(call, driver.clock())) return passAsking(run, driver, tool, call, input);
  return call.granted || isCompared(tool, call) ? passApproved(run, driver, tool, call, input) : input;
}

/** The gate was passed. It asks again if the grant that let the call pass has ended, or its preview has changed. */
async function passApproved(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  input: Accepted,
): Promise<Accepted | undefined> {
  if (!(await grantStands(driver, call))) return passAsking(run, driver, tool, call, input);
  return (await staysTrue(run, driver, tool, call, input.value)) ? input : undefined;
}

/** The call may start as far as limits say, and counts from now on. Otherwise it asks, or has its result. */
export function passLimits(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  input: Accepted,
): MaybePromise<boolean> {
  if (call.starts > 0 || driver.limits.awaitCaller || !isRuled(tool)) return true;
  const rules = limitRules(driver, tool);
  return rules.length === 0 || countCall(run, driver, tool, { call, input, rules });
}

async function countCall(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  { call: ready, input, rules }: { readonly call: Call; readonly input: Accepted; readonly rules: readonly Rule[] },
): Promise<boolean> {
  const call = callOf(run.state, ready.id) ?? ready;
  const bound = await runsWithOf(tool, call, input.value);
  const { runsWith: json = call.runsWith ?? call.input } = bound;
  const agent = driver.asker?.agent ?? null;
  const origins = rules.some(goesByOrigin) ? originsIn(run, driver, tool, call, { runsWith: json })() : undefined;
  const { labels, risk, reversibility } = tool.asks;
  const isDescribed = tool.isDescribed === true;
  const facts = { tool: tool.name, agent, input: json, origins, labels, risk, reversibility, isDescribed };
  // A grant or a rule that let it pass has not agreed to more than the limit.
  const approved = isUndecided(call) || call.unasked !== undefined ? undefined : (call.policies ?? ANYONE);
  for (;;) {
    const full = await countStart(driver, rules, { callId: call.id, facts, approved });
    if (!full || driver.signal?.aborted) return !full;
    if (full.frozen) return run.freeze(call, full.frozen);
    if (full.then === 'deny') {
      const { tool: _tool, agent: _agent, input: _input, ...kinds } = facts;
      const judged = { then: 'deny', why: full.why, says: { own: 'deny', ...defined(kinds) } } as const;
      await recordSays(run, driver, tool, { call, bound, judged });
      settle(run, call, denied(call, full.reason ?? full.why));
    }
    // Others were first. It may have room again by now.
    if (full.then === 'deny' || !(await askApproval(run, driver, tool, call, input.value))) return false;
  }
}

async function passAsking(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  input: Accepted,
): Promise<Accepted | undefined> {
  const passed = await askApproval(run, driver, tool, call, input.value);
  if (!passed) return undefined;
  // Parsed again, because the gate may have changed its copy.
  const again = await validInput(tool, passed);
  return again.ok ? again : rejectInput(run, driver, tool, passed, again.text);
}

/** No person was asked about the call, and no sub-agent has begun in it. */
export function isNew({ phase }: Call): boolean {
  return phase.at === 'open';
}

/** True if a call whose outcome is unknown may run again without a new approval. */
export async function mayRunAgain(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  bound: Bound,
): Promise<boolean> {
  if (!isUnasked(driver.policies, tool, call)) return true;
  const input = await validInput(tool, heldTo(call, bound));
  if (!input.ok) return false;
  const { runsWith: json = call.input } = bound;
  const ctx = approvalContext(driver, call);
  const origins = driver.usesOrigins ? originsIn(run, driver, tool, call, bound) : undefined;
  return (await judge(driver, { tool, input: input.value, json, ctx, requesters: [], origins })).then === 'run';
}

async function askQuestion(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  input: unknown,
): Promise<undefined> {
  const payload = asPayload(await requestPayload(tool, input));
  if (payload.ok) await ask(run, driver, call, { tool, kind: 'question', payload: payload.value });
  else settle(run, call, failed(`The requestMetadata of ${call.name} is not JSON: ${payload.problem}.`));
}

/** Undefined if a person is asked; otherwise the call, bound to the input that its gate has seen. */
async function askApproval(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  input: unknown,
  changed?: Previews,
): Promise<Call | undefined> {
  // Before the gate, which may change its copy.
  const binding = runsWithOf(tool, call, input);
  const bound = binding instanceof Promise ? await binding : binding;
  const origins = driver.usesOrigins ? originsIn(run, driver, tool, call, bound) : undefined;
  const asked = judgedPlainly(driver, tool);
  const judged = asked ?? (await judge(driver, judging(run, driver, tool, call, bound, input, origins)));
  if (judged.says) await recordSays(run, driver, tool, { call, bound, judged });
  if (judged.then === 'deny') return void settle(run, call, denied(call, judged.why));
  const revised = run.state.sentBack && revisedBy(run.state, call);
  if (judged.then === 'run' && !changed && !revised) {
    const { rule } = judged;
    if (!rule || !driver.limits.awaitCaller) return heldTo(call, bound);
    const { governed } = await askAnyway(run, driver, tool, call, bound, input);
    const payload = approvalPayload(run.state.mayHaveActed, call, true);
    const allowed = { tool, call, bound, policies: governed.policies, payload, options: undefined, origins };
    return void (await clearByRule(run, driver, rule, allowed));
  }
  const { approval, governed } =
    judged.then === 'ask' ? judged : await askAnyway(run, driver, tool, call, bound, input, revised?.policies);
  const { policies } = governed;
  // A person has seen another preview, or asked for changes, so a person decides on this one.
  const payload = approvalPayload(run.state.mayHaveActed, call, approval);
  const options = approval === true ? undefined : approval;
  const asking = { tool, call, bound, policies, payload, options, origins };
  const granted = changed || revised || !driver.grants ? undefined : await useGrant(run, driver, asking);
  if (granted) return granted === 'at-start' ? undefined : heldTo(call, bound);
  const preview = changed?.preview ?? (tool.preview && (await previewOf(driver, tool, heldTo(call, bound))));
  // The call stays unchanged, and asks when the run continues.
  if (preview && driver.signal?.aborted) return undefined;
  const previews = changed ?? (preview && { preview });
  await ask(run, driver, call, { tool, kind: 'approval', payload, options, governed, bound, previews, origins });
  return undefined;
}

/** Nothing would ask now, but a preview has changed since the approval, or a person asked for changes: the same people decide again. */
async function askAnyway(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  bound: Bound,
  input: unknown,
  known = call.policies,
): Promise<{ readonly approval: true; readonly governed: Governed }> {
  const { json, requesters } = judging(run, driver, tool, call, bound, input);
  const request = { tool, name: call.name, input, json, requesters };
  return { approval: true, governed: await governRequest(driver, request, 'approval', tool.asks, known) };
}

function judging(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  bound: Bound,
  input: unknown,
  origins?: LazyOrigins,
): Judging {
  const { runsWith = call.input } = bound;
  const requesters = requestersOf(run.state, driver, call);
  return { tool, input, json: runsWith, ctx: approvalContext(driver, call), requesters, origins };
}

export const denied = ({ name }: Call, why: string): Result => ({
  type: 'rejected',
  text: `${name} did not run. ${why}`,
});

/** False if the approved preview has changed, so that the call must not start: it asks again, or is rejected. */
async function staysTrue(run: Run, driver: Driver, tool: ToolDefinition, call: Call, input: unknown): Promise<boolean> {
  const changed = await changedPreview(driver, tool, call);
  if (!changed || driver.signal?.aborted) return !changed;
  if (tool.onPreviewChange === 'reject')
    settle(run, call, { type: 'rejected', text: `${call.name} did not run: ${PREVIEW_CHANGED}` });
  else await askApproval(run, driver, tool, call, input, changed);
  return false;
}

const PREVIEW_CHANGED = 'its preview has changed since it was approved. Call it again if it is still wanted.';

/** Binds the call to what the gate has seen, unless the schema rejects its own output and must parse the input again. */
export function heldTo(call: Call, { runsWith = call.input, readAnew }: Bound): Call {
  return readAnew ? call : { ...call, runsWith };
}

/** The card warns of earlier calls of this tool that failed and may have acted. */
export function approvalPayload(
  mayHaveActed: readonly MayHaveActed[],
  call: Pick<Call, 'name'>,
  approval: Approval | true,
): Json {
  if (approval === true && mayHaveActed.length === 0) return true;
  const earlier = mayHaveActed.filter((other) => other.name === call.name);
  const shown = toJson(approval);
  const payload: Json = shown.ok
    ? shown.value
    : { message: `The approval request from ${call.name} is not JSON: ${shown.problem}.` };
  if (earlier.length === 0) return payload;
  const warnings = earlier.map(({ ref, text }) => ({ ref, message: text }));
  return isObject(payload) ? { ...payload, mayHaveActed: warnings } : { mayHaveActed: warnings };
}

/** The schema rejects the input: the call has its result, or waits for its tool. */
async function rejectInput(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  text: string,
): Promise<undefined> {
  if (!run.waitsForTool(call)) return void settle(run, call, failed(text));
  // The card shows what the schema makes of the input now.
  const asked: Call = { ...call, runsWith: undefined };
  const now = await validInput(tool, asked);
  await askUnavailable(run, driver, tool, call, text, now.ok ? await runsWithOf(tool, asked, now.value) : {});
}

/** Says how the tool has changed its kind since then; undefined if it has not. */
export function changedKind({ name, body, innerTools }: ToolDefinition, call: Call): string | undefined {
  if (!body) return `${name} is now a question and has nothing to run.`;
  const { approvals, subAgent, phase } = call;
  // Only tools have a gate or ask for themselves; an agent asks in its own conversation.
  const wasTool = approvals.includes('approval') || approvals.includes('interrupt');
  if (innerTools) return wasTool ? `${name} was a tool when it was approved, and is now an agent.` : undefined;
  // Only agents record their events as they happen, and only agents are held in the middle.
  const wasAgent = subAgent?.recorded !== undefined || subAgent?.isAgent === true || phase.at === 'sub-agent-held';
  return wasAgent ? `${name} was an agent when it started, and is now a tool.` : undefined;
}

/** The approval is older than one of its policies allows. */
function isOutdated({ policies, decided, starts }: Call, now: number): boolean {
  const at = decided?.at;
  return starts === 0 && at !== undefined && policies?.some(({ validFor = Infinity }) => now - at > validFor) === true;
}

/** A person asked for changes to an earlier call of the tool, and no person has decided about this one. */
function isSentBack({ state }: Run, call: Call): boolean {
  return state.sentBack !== undefined && isUndecided(call) && revisedBy(state, call) !== undefined;
}

/** The tool has a gate or a rule, and no person has passed the call through it: at most a request of the body was answered. */
function isUnasked({ rules }: Policies, tool: ToolDefinition, call: Call): boolean {
  const isGated = tool.needsApproval !== false || (rules.length > 0 && isRuled(tool));
  return isGated && isUndecided(call);
}

const isUndecided = ({ approvals }: Call): boolean =>
  approvals.every((kind) => kind === 'interrupt' || kind === 'recall');
