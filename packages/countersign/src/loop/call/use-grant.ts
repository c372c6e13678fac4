// A call that runs without a request: the use of its grant is reserved, and the run records the call with what its request would have shown.

import { forbidsGrants, type Policies } from '../../core/authority/policy.ts';
import { matchOf, type RuleMatch } from '../../core/authority/rule.ts';
import { defined, type Json, sameJson } from '../../core/json.ts';
import type { Bound, Shown } from '../../core/request/request.ts';
import { type Call, owesRecall, requestId } from '../../core/run/call.ts';
import { event, type Observed } from '../../core/run/event.ts';
import type { Driver, Run } from '../run.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import type { InterruptOptions } from '../tool/signal.ts';
import type { Judged } from './judging/judged.ts';
import type { LazyOrigins } from './origins.ts';
import { requestersOf, unaskedShown } from './pause.ts';
import { askRecall } from './recall.ts';

/** A call that a person would be asked about. */
type Asking = {
  readonly tool: ToolDefinition;
  readonly call: Call;
  readonly bound: Bound;
  readonly policies: Policies;
  readonly payload: Json;
  readonly options: InterruptOptions | undefined;
  readonly origins: LazyOrigins | undefined;
};

/**
 * Whether a grant lets the call run without a request. An input that is parsed again when it runs is always asked about, and so is
 * a call whose grant ended before its start. `at-start`: the call of a program outside takes its use when it starts.
 */
export async function useGrant(run: Run, driver: Driver, asking: Asking): Promise<'now' | 'at-start' | undefined> {
  const { call, bound, policies, origins } = asking;
  if (!driver.grants || bound.readAnew || call.granted) return undefined;
  // Only a plan lets such a call pass.
  if (policies.some(forbidsGrants) && !mayPlan(driver)) return undefined;
  const { id: callId, name: tool } = call;
  const { runsWith } = bound;
  const input = runsWith === undefined ? call.input : runsWith;
  const requesters = requestersOf(run.state, driver, call);
  const from = origins && defined({ origins: origins() });
  const gated = { requestId: nextRequestId(call), tool, input, policies, requesters, ...from };
  if (driver.limits.awaitCaller) {
    if (!(await driver.grants.covers(gated))) return undefined;
    if (owesRecall({ ...call, policies })) await askRecall(run, driver, asking.tool, { ...call, policies });
    else if (!run.isSuperseded(call)) run.record(event({ type: 'call-cleared', callId, takesGrant: true }));
    return 'at-start';
  }
  const grant = await driver.grants.use(gated);
  if (!grant || run.isSuperseded(call)) return undefined;
  const shown = await shownUnasked(asking);
  if (run.isSuperseded(call)) return undefined;
  const { id: grantId, amount, by } = grant;
  const given = defined({ grantId, amount, runsWith, by, shown });
  run.record(event({ type: 'call-granted', callId, policies, ...named(requesters), ...given }));
  return (await driver.grants.stands(gated.requestId, grantId)) ? 'now' : undefined;
}

/** The agent can propose plans, or its program can. */
function mayPlan({ tools, limits }: Driver): boolean {
  if (limits.awaitCaller) return true;
  for (const { plan } of tools.values()) if (plan) return true;
  return false;
}

const named = (requesters: readonly string[]) => (requesters.length > 0 ? { requesters } : {});

/** A rule lets the call of a program outside run. It waits until its caller runs it. */
export async function clearByRule(run: Run, driver: Driver, match: RuleMatch, asking: Asking): Promise<void> {
  const { call, bound, policies } = asking;
  const shown = await shownUnasked(asking);
  if (run.isSuperseded(call)) return;
  const requesters = named(requestersOf(run.state, driver, call));
  const allowed = { rule: matchOf(match), policies, ...requesters, ...defined({ runsWith: bound.runsWith, shown }) };
  run.record(event({ type: 'call-cleared', callId: call.id, allowed }));
}

/** A call whose start is recorded keeps its grant. One that was only granted, before a crash, may have lost it. */
export async function grantStands({ grants }: Driver, call: Call): Promise<boolean> {
  const { granted, starts } = call;
  return !grants || !granted || starts > 0 || grants.stands(nextRequestId(call), granted.id);
}

/** Records what the sources said about a call where a rule had a say, and the request that a rule would have made if it asked. */
export async function recordSays(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  { call, bound, judged }: { readonly call: Call; readonly bound: Bound; readonly judged: Judged },
): Promise<void> {
  const { says } = judged;
  if (!says || !driver.asker || run.isSuperseded(call)) return;
  // What was recorded before a crash stays.
  if (call.unasked !== undefined && judged.then === 'run') return;
  const told =
    judged.then === 'run' && judged.observed
      ? await observed(run, driver, tool, call, bound, { ...judged.observed, origins: () => says.origins })
      : undefined;
  if (run.isSuperseded(call)) return;
  const { runsWith } = bound;
  const differs = runsWith !== undefined && !sameJson(runsWith, call.input);
  const given = defined({ observed: told, ...(differs && { runsWith }) });
  run.record(event({ type: 'call-judged', callId: call.id, says, ...given }));
}

/** Undefined if a grant covers the call, so that nobody would have been asked. */
async function observed(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  bound: Bound,
  { policies, why, origins }: Pick<Observed, 'policies' | 'why'> & Pick<Asking, 'origins'>,
): Promise<Observed | undefined> {
  const { runsWith } = bound;
  const requesters = requestersOf(run.state, driver, call);
  const input = runsWith === undefined ? call.input : runsWith;
  const from = origins && defined({ origins: origins() });
  const gated = { requestId: nextRequestId(call), tool: call.name, input, policies, requesters, ...from };
  if (!bound.readAnew && (await driver.grants?.covers(gated))) return undefined;
  const shown = await shownUnasked({ tool, call, bound, policies, payload: true, options: undefined, origins });
  const people = requesters.length > 0 ? { requesters } : {};
  return { policies, why, ...people, ...defined({ shown }) };
}

const nextRequestId = ({ id, pauses }: Call): string => requestId(id, pauses + 1);

/** What the request would have shown; undefined if that is nothing but the call. */
async function shownUnasked({ tool, call, bound, payload, options, origins }: Asking): Promise<Shown | undefined> {
  const shown = await unaskedShown(tool, call, bound, payload, { options, origins });
  return payload === true && Object.keys(shown).length === 1 ? undefined : shown;
}
