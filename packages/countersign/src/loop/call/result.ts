// The result of a call, as the model reads it.

import { messageOf } from '../../core/errors.ts';
import { copyOf, toJson } from '../../core/json.ts';
import { shortened } from '../../core/request/outcome.ts';
import type { Call } from '../../core/run/call.ts';
import { EVENT_VERSION, type Result } from '../../core/run/event.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Run } from '../run.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import type { Validation } from '../tool/schema.ts';
import { asTitle } from '../tool/title.ts';
import { warn } from '../warning.ts';

/** Records the result of a call; a result that comes too late is reported as late instead. */
export function settle(run: Run, call: Call, result: Result): void {
  const settled = { v: EVENT_VERSION, type: 'call-settled', callId: call.id, result } as const;
  if (run.isSuperseded(call)) run.onLate?.([settled]);
  else run.record(settled);
}

/** The body did not run, or nothing it did matters. */
export const failed = (text: string): Result => ({ type: 'error', text });

/** The body failed half-way. If a person had a say in the call, the model is warned that it may have acted. */
export function failedInBody({ needsApproval }: ToolDefinition, { decided }: Call, text: string, line = text): Result {
  if (needsApproval === false && decided === undefined) return failed(text);
  return { type: 'error', text: `${text}${MAY_HAVE_ACTED}`, line, mayHaveActed: true };
}

/** An earlier start has an unknown outcome, so a body that did nothing knows only of itself. */
export const mayHaveStartedBefore = ({ idempotent }: ToolDefinition, { starts, approvals }: Call): boolean =>
  starts > 1 && (idempotent || approvals.includes('doubt'));

const MAY_HAVE_ACTED =
  ' It may have taken effect anyway: do not assume that it did not, and do not repeat it without saying so.';

/** The result of a body that returned. An output that cannot be checked does not undo what the body did. */
export function bodyResult(tool: ToolDefinition, call: Call, output: unknown): MaybePromise<Result> {
  const unchecked = (error: unknown): Result =>
    ranBut(call, `its output could not be checked, because its schema threw: ${messageOf(error)}`);
  try {
    const result = outputResult(tool, call, output);
    return result instanceof Promise ? result.catch(unchecked) : result;
  } catch (error) {
    return unchecked(error);
  }
}

/** Throws or rejects if the output schema throws. */
export function outputResult(tool: ToolDefinition, call: Call, output: unknown): MaybePromise<Result> {
  const checking = tool.output.validate(output);
  return checking instanceof Promise
    ? checking.then((checked) => resultOf(tool, call, checked))
    : resultOf(tool, call, checking);
}

function resultOf(tool: ToolDefinition, call: Call, checked: Validation): Result {
  if (!checked.ok)
    return ranBut(call, `returned an output that does not fit its schema: ${checked.problems.join('; ')}`);
  const json = toJson(checked.value);
  if (!json.ok) return ranBut(call, `returned an output that is not JSON: ${json.problem}`);
  const line = tool.outcome && lineFor(tool.outcome, call, checked.value);
  return line === undefined ? { type: 'output', output: json.value } : { type: 'output', output: json.value, line };
}

/** What the tool says came of the call. It has run, so a line that cannot be made changes nothing. */
function lineFor(outcome: NonNullable<ToolDefinition['outcome']>, call: Call, output: unknown): string | undefined {
  try {
    const { runsWith = call.input } = call;
    const line: unknown = outcome(structuredClone(output), copyOf(runsWith));
    return typeof line === 'string' ? (shortened(asTitle(line)) ?? undefined) : undefined;
  } catch (error) {
    warn(`The call ${call.id} of ${call.name} has no line that says what came of it: ${messageOf(error)}`);
    return undefined;
  }
}

function ranBut(call: Call, problem: string): Result {
  return { type: 'error', text: `The tool ${call.name} ran, but ${problem}. Its effect has taken place.` };
}
