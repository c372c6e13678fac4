// Applies the policy that is defined now to a pending request. Otherwise a changed policy leaves pending requests unchanged.

import { ConflictError, UsageError } from '../../core/errors.ts';
import { copyOf, sameJson } from '../../core/json.ts';
import type { Escalation } from '../../core/request/request.ts';
import { event } from '../../core/run/event.ts';
import { judge } from '../../loop/call/judging/judge.ts';
import type { Governed } from '../../loop/call/judging/judged.ts';
import type { Driver } from '../../loop/run.ts';
import type { ApprovalContext, ToolDefinition } from '../../loop/tool/definition.ts';
import type { Drives } from '../driving/driving.ts';
import type { AgentPort } from '../driving/open-run.ts';
import { unknownRequest } from '../port/run-id.ts';
import type { NewRun } from '../port/store.ts';
import { type PendingCard, pendingCards, runIdOf, willRun } from './card.ts';
import { ballotOf, policiesOn } from './progress.ts';
import { type Change, dryRun, loadRun, record } from './recording.ts';
import { askerOf, escalationsOf } from './rejudge.ts';
import { settleCounted } from './settle-counted.ts';

/** The person who applies it. */
export type ReapplyOptions = { readonly by?: string };

/** The new policy counts the recorded votes, which may settle the request. */
export async function reapplyPolicy(drives: Drives, requestId: string, { by }: ReapplyOptions): Promise<void> {
  const runId = runIdOf(requestId);
  await drives.time.tell();
  for (let mayBegin = true; ; ) {
    const loaded = await loadRun(drives, runId, () => unknownRequest(requestId));
    const card = pendingCards(runId, loaded.state).get(requestId);
    if (!card) throw notPending(requestId);
    const agent = drives.agent(loaded.run.agent, loaded.state);
    const { policies, escalate, reviews } = await policiesNow(loaded.run, agent, requestId, card);
    if (sameJson(policies, policiesOn(card))) return;
    const at = drives.clock();
    const change: Change = (run, settling) => {
      run.record(
        event({
          type: 'policy-applied',
          requestId: card.id,
          policies,
          escalate,
          ...(reviews && { reviews }),
          by: by ?? null,
        }),
      );
      settleCounted(run, settling, at);
    };
    const settles = dryRun(runId, loaded.state, change).length > 1;
    const drive = settles ? mayBegin && loaded.run.status === 'waiting' : 'no';
    const stale = await record(drives, loaded, change, {}, drive);
    if (!stale) return;
    mayBegin = stale !== 'claim-lost';
  }
}

/** What the tool, the rules and the application say now. */
async function policiesNow(
  run: NewRun,
  agent: AgentPort,
  requestId: string,
  card: PendingCard,
): Promise<Pick<Governed, 'policies' | 'reviews'> & { readonly escalate: readonly Escalation[] }> {
  const driver: Driver = { ...agent.driver(undefined), asker: askerOf(run) };
  const { part, tool: name } = card;
  const tool = findTool(agent.tools(), name) ?? agent.defined().get(name);
  const json = willRun(part);
  const ctx: ApprovalContext = {
    context: driver.context,
    callId: card.id,
    metadata: part.metadata ?? {},
    signal: new AbortController().signal,
  };
  const { requesters } = ballotOf(card);
  const origins = () => card.request.shown.origins;
  const judged = tool && (await judge(driver, { tool, input: copyOf(json), json, ctx, requesters, origins }));
  if (judged?.then === 'ask') return { ...judged.governed, escalate: await escalationsOf(judged.governed, driver) };
  const message = `No policy is defined now for ${requestId}: nothing asks about ${name} with this input.`;
  throw new UsageError('invalid-options', { requestId }, message);
}

/** The tool of the agent, or of one of its sub-agents. */
function findTool(tools: ReadonlyMap<string, ToolDefinition>, name: string): ToolDefinition | undefined {
  const own = tools.get(name);
  if (own) return own;
  for (const { innerTools } of tools.values()) {
    const found = innerTools && findTool(innerTools(), name);
    if (found) return found;
  }
  return undefined;
}

function notPending(requestId: string): ConflictError {
  const message = `${requestId} is not pending, so no policy can be applied to it. Reload the run.`;
  return new ConflictError('already-decided', { requestId }, message);
}
