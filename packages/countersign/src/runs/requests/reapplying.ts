// Applies the policy that is defined now to a pending question. Otherwise a changed policy leaves pending questions unchanged.

import type { Policy } from '../../core/authority/policy.ts';
import { ConflictError, UsageError } from '../../core/errors.ts';
import { copyOf, sameJson } from '../../core/json.ts';
import { event } from '../../core/run/event.ts';
import { askGate } from '../../loop/tool/ask-gate.ts';
import type { ApprovalContext, ToolDefinition } from '../../loop/tool/definition.ts';
import { governedBy } from '../../loop/tool/policies.ts';
import type { Drives } from '../driving/driving.ts';
import type { AgentPort } from '../driving/open-run.ts';
import { unknownInterrupt } from '../port/run-id.ts';
import { type PendingCard, pendingCards, runIdOf, willRun } from './card.ts';
import { type Change, loadRun, record } from './deciding.ts';
import { dryRun } from './dry-run.ts';
import { policyOn } from './progress.ts';
import { settleCounted } from './settle-counted.ts';

/** The person who applies it. */
export type ReapplyOptions = { readonly by?: string };

/** The new policy counts the recorded votes, which may settle the question. */
export async function reapplyPolicy(drives: Drives, interruptId: string, { by }: ReapplyOptions): Promise<void> {
  const runId = runIdOf(interruptId);
  await drives.time.tell();
  for (let mayBegin = true; ; ) {
    const loaded = await loadRun(drives, runId, () => unknownInterrupt(interruptId));
    const card = pendingCards(runId, loaded.state).get(interruptId);
    if (!card) throw notPending(interruptId);
    const policy = await policyNow(drives.agent(loaded.run.agent, loaded.state), interruptId, card);
    if (sameJson(policy, policyOn(card))) return;
    const at = drives.clock();
    const change: Change = (run, settling) => {
      run.record(event({ type: 'policy-applied', interruptId: card.id, policy, by: by ?? null }));
      settleCounted(run, settling, loaded.run.startedBy, at);
    };
    const settles = dryRun(runId, loaded.state, change).length > 1;
    const drive = settles ? mayBegin && loaded.run.status === 'waiting' : 'no';
    const attempt = await record(drives, loaded, change, {}, drive, { at, casts: new Map() });
    if (typeof attempt === 'object') return;
    mayBegin = attempt !== 'claim-lost';
  }
}

/** The policy with the name of the recorded one, or the one that the tool names now. */
async function policyNow(agent: AgentPort, interruptId: string, card: PendingCard): Promise<Policy> {
  const { policies, context } = agent.driver(undefined);
  const { part, tool: name } = card;
  const input = copyOf(willRun(part));
  const ctx: ApprovalContext = {
    context,
    callId: card.id,
    metadata: part.metadata ?? {},
    signal: new AbortController().signal,
  };
  const recorded = policyOn(card)?.name;
  if (recorded !== undefined && policies.named.has(recorded))
    return (await governedBy(recorded, policies, input, ctx)).policy;
  const tool = findTool(agent.tools(), name) ?? agent.defined().get(name);
  const approval = tool && (await askGate(tool, input, ctx));
  if (typeof approval === 'object' && approval.policy !== undefined)
    return (await governedBy(approval.policy, policies, input, ctx)).policy;
  const message = `No policy is defined now for ${interruptId}: neither ${recorded ?? 'one by name'} nor one of the tool ${name}.`;
  throw new UsageError('invalid-options', { interruptId, policy: recorded }, message);
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

function notPending(interruptId: string): ConflictError {
  const message = `${interruptId} is not pending, so no policy can be applied to it. Reload the run.`;
  return new ConflictError('already-decided', { interruptId }, message);
}
