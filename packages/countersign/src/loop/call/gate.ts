// May a call run? The gate answers, and asks a person where the tool says so.

import type { Policy } from '../../core/authority/policy.ts';
import { defined, isObject, type Json, toJson } from '../../core/json.ts';
import { type Call, interruptId } from '../../core/run/call.ts';
import { type Bound, event } from '../../core/run/event.ts';
import type { Driver, Run } from '../run.ts';
import { requestPayload } from '../tool/ask-gate.ts';
import type { Approval, ToolDefinition } from '../tool/definition.ts';
import { governedBy, type Policies } from '../tool/policies.ts';
import { askByRules, ruleFor } from '../tool/rules.ts';
import { approvalContext } from './body-context.ts';
import { runsWithOf, type ValidInput, validInput } from './bound-input.ts';
import { ask, askUnavailable, asPayload } from './pause.ts';
import { changedPreview, isCompared, previewOf, type ShownPreviews } from './preview.ts';
import { failed, settle } from './result.ts';

type Accepted = ValidInput & { readonly ok: true };

/** Resolves to what the body gets, or to undefined if the call must not run now: it waits, or has its result. */
export async function passGate(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
): Promise<Accepted | undefined> {
  const reading = validInput(tool, call);
  const input = reading instanceof Promise ? await reading : reading;
  if (!input.ok) return rejectInput(run, driver, tool, call, input.text);
  if (isNew(call) && !tool.body) {
    await askQuestion(run, driver, tool, call, input.value);
    return undefined;
  }
  if (!isUnasked(driver.policies, tool, call) && (!call.granted || (await grantStands(driver, call))))
    return !isCompared(tool, call) || (await staysTrue(run, driver, tool, call, input.value)) ? input : undefined;
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
export async function mayRunAgain(driver: Driver, tool: ToolDefinition, call: Call, bound: Bound): Promise<boolean> {
  if (!isUnasked(driver.policies, tool, call)) return true;
  const input = await validInput(tool, heldTo(call, bound));
  return (
    input.ok && (await askByRules(driver.policies.rules, tool, input.value, approvalContext(driver, call))) === false
  );
}

async function askQuestion(run: Run, driver: Driver, tool: ToolDefinition, call: Call, input: unknown): Promise<void> {
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
  changed?: ShownPreviews,
): Promise<Call | undefined> {
  // Before the gate, which may change its copy.
  const binding = runsWithOf(tool, call, input);
  const bound = binding instanceof Promise ? await binding : binding;
  const ctx = approvalContext(driver, call);
  const approval = await askByRules(driver.policies.rules, tool, input, ctx);
  if (approval === false && !changed) return heldTo(call, bound);
  const asked = approval === false ? true : approval;
  const { policy, ...options } = asked === true ? {} : asked;
  // An undefined policy may be one that was not found: then no person can approve.
  const isGoverned = asked !== true && 'policy' in asked;
  const governed = isGoverned
    ? await governedBy(policy, driver.policies, input, ctx)
    : defined({ policy: call.policy });
  // A person has seen another preview, so a person decides on this one.
  const granted = changed ? undefined : await useGrant(run, driver, call, bound, governed.policy);
  if (granted) return granted === 'at-start' ? undefined : granted;
  const previews = changed ?? defined({ preview: await previewOf(driver, tool, heldTo(call, bound)) });
  // The call stays unchanged, and asks when the run continues.
  if (previews.preview && driver.signal?.aborted) return undefined;
  const isPlain = asked === true || (isGoverned && Object.keys(options).length === 0);
  const payload = approvalPayload(run, call, isPlain ? true : options);
  await ask(run, driver, call, { tool, kind: 'approval', payload, options, governed, bound, previews });
  return undefined;
}

/**
 * The call, if a grant lets it run without a request. An input that is parsed again when it runs is always asked about, and so is
 * a call whose grant ended before its start. `at-start`: the call of a program outside takes its use when it starts.
 */
async function useGrant(
  run: Run,
  driver: Driver,
  call: Call,
  bound: Bound,
  policy: Policy | undefined,
): Promise<Call | 'at-start' | undefined> {
  if (!driver.grants || bound.readAnew || call.granted) return undefined;
  const { id: callId, name: tool } = call;
  const { runsWith } = bound;
  const input = runsWith === undefined ? call.input : runsWith;
  const gated = { requestId: nextRequestId(call), tool, input, policy };
  if (driver.limits.awaitCaller) {
    if (!(await driver.grants.covers(gated))) return undefined;
    if (!run.isSuperseded(call)) run.record(event({ type: 'call-cleared', callId, takesGrant: true }));
    return 'at-start';
  }
  const grant = await driver.grants.use(gated);
  if (!grant || run.isSuperseded(call)) return undefined;
  const { id: grantId, amount } = grant;
  run.record(event({ type: 'call-granted', callId, ...defined({ grantId, amount, runsWith, policy }) }));
  return (await driver.grants.stands(gated.requestId, grantId)) ? heldTo(call, bound) : undefined;
}

/** A call whose start is recorded keeps its grant. One that was only granted, before a crash, may have lost it. */
async function grantStands({ grants }: Driver, call: Call): Promise<boolean> {
  const { granted, starts } = call;
  return !grants || !granted || starts > 0 || grants.stands(nextRequestId(call), granted.id);
}

const nextRequestId = ({ id, pauses }: Call): string => interruptId(id, pauses + 1);

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
function heldTo(call: Call, { runsWith = call.input, readAnew }: Bound): Call {
  return readAnew ? call : { ...call, runsWith };
}

/** The card warns of earlier calls of this tool that failed and may have acted. */
function approvalPayload(run: Run, call: Call, approval: Approval | true): Json {
  const earlier = run.state.mayHaveActed.filter((other) => other.name === call.name);
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
  const { runsWith: _approved, ...asked } = call;
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

/** The tool has a gate or a rule, and no person has passed the call through it: at most a question of the body was answered. */
function isUnasked({ rules }: Policies, tool: ToolDefinition, { approvals }: Call): boolean {
  const isGated = tool.needsApproval !== false || ruleFor(rules, tool) !== undefined;
  return isGated && approvals.every((kind) => kind === 'interrupt');
}
