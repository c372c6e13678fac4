// May a call run? The gate answers, and asks a person where the tool says so.
import type { Call } from '../../core/call.ts';
import type { Bound } from '../../core/event.ts';
import { isObject, type Json, toJson } from '../../core/json.ts';
import type { Driver, Run } from '../run.ts';
import { askGate, requestPayload } from '../tool/ask-gate.ts';
import type { Approval, ToolDefinition } from '../tool/definition.ts';
import { approvalContext } from './body-context.ts';
import { runsWithOf, type ValidInput, validInput } from './bound-input.ts';
import { isUnasked } from './changed-tool.ts';
import { ask, askUnavailable, asPayload } from './pause.ts';
import { failed, settle } from './result.ts';

/** Resolves to what the body gets, or to undefined if the call must not run now: it waits, or has its result. */
export async function passGate(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
): Promise<(ValidInput & { readonly ok: true }) | undefined> {
  const asksNow = isNew(call) && (!tool.body || tool.needsApproval !== false);
  const passed = asksNow ? await askFirst(run, driver, tool, call) : call;
  if (!passed) return undefined;
  const input = await validInput(tool, passed);
  if (!input.ok) {
    await refuseInput(run, driver, tool, call, input.text);
    return undefined;
  }
  const asksLate = !isNew(call) && isUnasked(tool, call);
  if (asksLate && !(await askApproval(run, driver, tool, call))) return undefined;
  return input;
}

/** No person was asked about the call, and no sub-agent has begun in it. */
export function isNew({ phase }: Call): boolean {
  return phase.at === 'open';
}

/** True if a call whose outcome is unknown may run again without a new approval. */
export async function mayRunAgain(driver: Driver, tool: ToolDefinition, call: Call, bound: Bound): Promise<boolean> {
  if (!isUnasked(tool, call)) return true;
  const input = await validInput(tool, heldTo(call, bound));
  return input.ok && (await askGate(tool, input.value, approvalContext(driver, call))) === false;
}

/** Undefined if a person is asked; otherwise the call, bound to the input that its gate has seen. */
async function askFirst(run: Run, driver: Driver, tool: ToolDefinition, call: Call): Promise<Call | undefined> {
  if (tool.body) return askApproval(run, driver, tool, call);
  const input = await validInput(tool, call);
  if (!input.ok) {
    settle(run, call, failed(input.text));
    return undefined;
  }
  const payload = asPayload(await requestPayload(tool, input.value));
  if (payload.ok) ask(run, driver, call, { tool, kind: 'question', payload: payload.value });
  else settle(run, call, failed(`The requestMetadata of ${call.name} is not JSON: ${payload.problem}.`));
  return undefined;
}

/** The gate gets its own copy of the input, so that it cannot change the input of the body. */
async function askApproval(run: Run, driver: Driver, tool: ToolDefinition, call: Call): Promise<Call | undefined> {
  const input = await validInput(tool, call);
  if (!input.ok) {
    await refuseInput(run, driver, tool, call, input.text);
    return undefined;
  }
  // Before the gate, which may change its copy.
  const bound = await runsWithOf(tool, call, input.value);
  const approval = await askGate(tool, input.value, approvalContext(driver, call));
  if (approval === false) return heldTo(call, bound);
  const options = approval === true ? {} : approval;
  ask(run, driver, call, { tool, kind: 'approval', payload: approvalPayload(run, call, approval), options, bound });
  return undefined;
}

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

/** If the call waits for its tool, its card shows what the schema makes of the input now. */
async function refuseInput(run: Run, driver: Driver, tool: ToolDefinition, call: Call, message: string): Promise<void> {
  if (!run.waitsForTool(call)) return settle(run, call, failed(message));
  const { runsWith: _approved, ...asked } = call;
  const now = await validInput(tool, asked);
  askUnavailable(run, driver, tool, call, message, now.ok ? await runsWithOf(tool, asked, now.value) : {});
}
