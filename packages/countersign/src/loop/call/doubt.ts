// Doubt: a call that was started and has no result. It runs again only if that is safe; otherwise a person is asked.

import { messageOf } from '../../core/errors.ts';
import { defined, isObject } from '../../core/json.ts';
import type { Bound, Doubt, Previews } from '../../core/request/request.ts';
import type { Call, State } from '../../core/run/call.ts';
import type { Driver, Run } from '../run.ts';
import type { ToolDefinition, Verified } from '../tool/definition.ts';
import { warn } from '../warning.ts';
import { approversOf } from './approvers.ts';
import { runBody } from './body.ts';
import { boundSoFar, boundTo, validInput } from './bound-input.ts';
import { changedKind, mayRunAgain } from './gate.ts';
import { ask, keptOptions, lateResult } from './pause.ts';
import { changedPreview } from './preview.ts';
import { outputResult, settle } from './result.ts';

/** Runs the call again, records the output that `verify` found, or asks a person. */
export async function settleDoubt(run: Run, driver: Driver, call: Call): Promise<void> {
  const known = driver.tools.get(call.name);
  const tool = known && changedKind(known, call) === undefined ? known : undefined;
  const continued = tool?.continues?.(call.steps) ?? false;
  let against: Obstacle = { finding: typeof continued === 'string' ? continued : '' };
  let bound = boundSoFar(call);
  try {
    const input = tool ? await validInput(tool, call) : undefined;
    if (tool && input?.ok) {
      bound = await boundTo(tool, call, input.value);
      if (isHarmless(tool, call) || continued === true) {
        const found = await obstacle(run, driver, tool, call, bound);
        if (!found) return runBody(run, driver, tool, call, input.value);
        against = found;
      }
      // Before the look-up: an effect that it does not find may still happen while it looks.
      const isSettled = hasSettled(tool, call, driver);
      const found = await lookUp(driver, tool, call);
      if (typeof found === 'object') {
        const result = await outputResult(tool, call, found.output);
        return run.isSuperseded(call) ? undefined : settle(run, call, result);
      }
      if (found) against = { finding: FINDINGS[found] };
      if (found === 'nothing' && isSettled) {
        const still = await obstacle(run, driver, tool, call, bound);
        if (!still) return runBody(run, driver, tool, call, input.value);
        against = still;
      }
    }
  } catch (error) {
    against = { finding: ` Checking it failed: ${messageOf(error)}.` };
  }
  const { finding, previews } = against;
  // Its preview could not be computed, because the run is stopped. The call stays in doubt.
  if (previews && driver.signal?.aborted) return;
  const message = `${call.name} was started, and its outcome is unknown.${finding}${lateResult(call)}`;
  const options = keptOptions(call);
  const doubt = await doubtAbout(run.state, known, call);
  await ask(run, driver, call, { tool: known, kind: 'doubt', payload: { message }, options, bound, previews, doubt });
}

/** Why a person is asked, for the card. */
type Obstacle = { readonly finding: string; readonly previews?: Previews };

/** Why the call must not run again by itself; undefined if it may. */
async function obstacle(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  bound: Bound,
): Promise<Obstacle | undefined> {
  if (!(await mayRunAgain(run, driver, tool, call, bound))) return { finding: NEEDS_APPROVAL };
  // The effect of an idempotent call may already show in its preview, and it may run twice.
  const previews = tool.idempotent ? undefined : await changedPreview(driver, tool, call);
  return previews && { finding: PREVIEW_CHANGED, previews };
}

const NEEDS_APPROVAL = ' It could run again, but now needs an approval.';
const PREVIEW_CHANGED = ' It could run again, but its preview has changed since it was approved.';

const FINDINGS = {
  nothing: ' `verify` found no trace of it, but it may still happen.',
  invalid: ' `verify` returned neither { output } nor undefined.',
} as const;

/** Nothing was done, or it may be done twice, or the events of the sub-agent say how far it came. */
function isHarmless({ idempotent, commits, innerTools }: ToolDefinition, { phase }: Call): boolean {
  if (idempotent || phase.at !== 'started') return idempotent;
  // A missing commit only counts if the body had a commit point when it was started: a new version may have added it.
  const isUncommitted = commits && phase.progress === 'uncommitted';
  return isUncommitted || (innerTools !== undefined && phase.progress === 'sub-agent');
}

/** Enough time has passed for any effect of the call to show. */
function hasSettled({ settlesWithin }: ToolDefinition, { phase }: Call, { clock }: Driver): boolean {
  if (settlesWithin === undefined || phase.at !== 'started') return false;
  return phase.since !== undefined && clock() - phase.since > settlesWithin;
}

/** Asks the tool's `verify`; undefined if it has none. It gets its own copy of the input. */
async function lookUp(
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
): Promise<NonNullable<Verified> | keyof typeof FINDINGS | undefined> {
  const input = tool.verify && (await validInput(tool, call));
  if (!tool.verify || !input?.ok) return undefined;
  const verified: unknown = await tool.verify(input.value, { idempotencyKey: call.id, context: driver.context });
  if (verified === undefined || verified === null) return 'nothing';
  // `{ output: undefined }` is a look-up that found nothing and wrapped it: it does not prove anything.
  return isObject(verified) && verified.output !== undefined ? (verified as NonNullable<Verified>) : 'invalid';
}

/** What a person must know to find out: recorded with the request, and the same on every screen. */
async function doubtAbout(state: State, tool: ToolDefinition | undefined, call: Call): Promise<Doubt> {
  const { id: idempotencyKey, phase, granted } = call;
  const approvedBy = approversOf(state, call);
  return {
    idempotencyKey,
    ...defined({
      startedAt: phase.at === 'started' ? phase.since : undefined,
      approvedBy: approvedBy.length > 0 ? approvedBy : undefined,
      grantId: granted?.id,
      howToCheck: tool && (await howToCheck(tool, call)),
    }),
  };
}

/** The tool's own words. What is no text is left out, with a warning: the request must be asked in any case. */
async function howToCheck(tool: ToolDefinition, call: Call): Promise<string | undefined> {
  const { howToCheck: given } = tool;
  try {
    if (typeof given !== 'function') return given?.slice(0, LONGEST);
    const input = await validInput(tool, call);
    const text: unknown = input.ok ? given(input.value, { idempotencyKey: call.id }) : undefined;
    if (text === undefined || typeof text === 'string') return text?.slice(0, LONGEST) || undefined;
    warn(`\`howToCheck\` of ${tool.name} is left out: it must return a text.`);
  } catch (error) {
    warn(`\`howToCheck\` of ${tool.name} is left out: its function threw: ${messageOf(error).slice(0, 200)}`);
  }
  return undefined;
}

const LONGEST = 2_000;
