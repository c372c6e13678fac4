// What a request says after an edit: every source is asked anew.
import { UsageError } from '../../core/errors.ts';
import { defined, type Json, sameJson } from '../../core/json.ts';
import type { Leaf } from '../../core/run/decide.ts';
import { shownAgent } from '../../core/run/drill.ts';
import type { Escalation, Reasked } from '../../core/run/event.ts';
import type { State } from '../../core/run/state.ts';
import { approvalPayload, heldTo } from '../../loop/call/gate.ts';
import type { Governed } from '../../loop/call/judge.ts';
import { judgeEdit } from '../../loop/call/judge-edit.ts';
import { joinedTimes } from '../../loop/call/pause.ts';
import { previewOf } from '../../loop/call/preview.ts';
import { titleOf } from '../../loop/call/title.ts';
import { subAgentTools } from '../../loop/resume.ts';
import type { Driver } from '../../loop/run.ts';
import type { Asker } from '../../loop/sink.ts';
import type { AgentPort } from '../driving/open-run.ts';
import type { NewRun } from '../port/store.ts';
import { interruptKey, type PendingCard } from './card.ts';
import { ballotOf, policiesOn } from './progress.ts';

export const askerOf = ({ id: runId, agent, startedBy }: NewRun): Asker => ({
  runId,
  agent: shownAgent(agent),
  startedBy,
});

/** What a request about the call would say with this input. Throws if a rule denies it, or its tool is not here to be asked. */
export async function rejudge(
  run: NewRun,
  state: State,
  agent: AgentPort,
  { card, leaf, input }: { readonly card: PendingCard; readonly leaf: Leaf; readonly input: Json },
): Promise<Reasked> {
  const key = interruptKey(run.id, card.id);
  const driver: Driver = { ...agent.driver(undefined), asker: askerOf(run) };
  const { path, call: asked } = leaf;
  const tool = subAgentTools(path, agent.tools())?.get(asked.name) ?? agent.defined().get(asked.name);
  const refuse = (why: string): UsageError =>
    new UsageError(
      'not-allowed',
      { status: 403, interruptId: key, runId: run.id },
      `The edit of ${key} was not recorded. ${why}`,
    );
  const edited = await judgeEdit(driver, tool, asked, input, ballotOf(card).requesters);
  if (!edited.ok || !tool) throw refuse(edited.ok ? '' : edited.why);
  const { call, bound, judged } = edited;
  const approval = judged.then === 'ask' ? judged.approval : true;
  const options = approval === true ? {} : approval;
  const { interrupt } = card;
  const { labels, risk, reversibility } = { ...(card.kind === 'approval' ? tool.asks : interrupt), ...options };
  const isGate = card.kind === 'approval';
  const preview = interrupt.preview ?? interrupt.earlierPreview;
  // Where nothing asks about the edited input, the people of the request decide as before.
  const governed = judged.then === 'ask' ? judged.governed : undefined;
  const { policies = policiesOn(card) } = governed ?? {};
  return {
    ...defined({
      title: await titleOf(tool, call, bound, options.title),
      labels,
      risk,
      reversibility,
      preview: preview && (await previewOf(driver, tool, heldTo(call, bound))),
      earlierPreview: preview,
    }),
    payload: isGate ? approvalPayload(state.mayHaveActed, call, approval) : card.payload,
    policies,
    ...(governed && !sameJson(policies, policiesOn(card)) && { escalate: await escalationsOf(governed, driver) }),
  };
}

/** When other people may decide too, counted from now. */
export async function escalationsOf(governed: Governed, { clock }: Driver): Promise<readonly Escalation[]> {
  return (await joinedTimes(governed, clock())).escalate ?? [];
}
