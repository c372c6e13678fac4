// What a request says after an edit: every source is asked anew.
import type { Policies } from '../../core/authority/policy.ts';
import { UsageError } from '../../core/errors.ts';
import { defined, type Json, sameJson } from '../../core/json.ts';
import { type Escalation, previewsOf, type Reasked } from '../../core/request/request.ts';
import { shownAgent } from '../../core/run/drill.ts';
import type { State } from '../../core/run/state.ts';
import { approvalPayload, heldTo } from '../../loop/call/gate.ts';
import { judgeEdit } from '../../loop/call/judging/judge-edit.ts';
import type { Governed } from '../../loop/call/judging/judged.ts';
import { conversationInside } from '../../loop/call/origins.ts';
import { joinedTimes } from '../../loop/call/pause.ts';
import { previewOf } from '../../loop/call/preview.ts';
import { titleOf } from '../../loop/call/title.ts';
import { subAgentTools } from '../../loop/resume.ts';
import type { Driver } from '../../loop/run.ts';
import type { Asker } from '../../loop/sink.ts';
import type { AgentPort } from '../driving/open-run.ts';
import { keepFile } from '../files.ts';
import type { Notes } from '../port/notes.ts';
import type { NewRun } from '../port/store.ts';
import type { PendingCard } from './card.ts';
import type { OnCard } from './on-cards.ts';
import { ballotOf, policiesOn } from './progress.ts';

/** With notes, the store keeps the files that previews show. */
export const askerOf = ({ id: runId, agent, startedBy }: NewRun, notes?: Notes): Asker => ({
  runId,
  agent: shownAgent(agent),
  startedBy,
  ...(notes && { keepFile: (sha256, bytes) => keepFile(notes, runId, sha256, bytes) }),
});

/** What a request about the call would say with this input. Throws if a rule denies it, or its tool is not here to be asked. */
export async function rejudge(
  run: NewRun,
  state: State,
  agent: AgentPort,
  { key, card, leaf, input }: OnCard & { readonly input: Json },
  notes: Notes,
): Promise<Reasked> {
  const driver: Driver = { ...agent.driver(undefined), asker: askerOf(run, notes) };
  const { path, call: asked } = leaf;
  const tool = subAgentTools(path, agent.tools())?.get(asked.name) ?? agent.defined().get(asked.name);
  const refuse = (why: string): UsageError =>
    new UsageError(
      'not-allowed',
      { status: 403, requestId: key, runId: run.id },
      `The edit of ${key} was not recorded. ${why}`,
    );
  const { tools, policies: known, usesOrigins } = driver;
  const conversation = usesOrigins ? conversationInside({ tools, policies: known, state }, path) : undefined;
  const edited = await judgeEdit(driver, tool, asked, input, ballotOf(card).requesters, conversation);
  if (!edited.ok || !tool) throw refuse(edited.ok ? '' : edited.why);
  const { call, bound, judged } = edited;
  const approval = judged.then === 'ask' ? judged.approval : true;
  const options = approval === true ? {} : approval;
  const { request } = card;
  const { shown } = request;
  const isGate = request.kind === 'approval';
  const { labels, risk, reversibility } = { ...(isGate ? tool.asks : shown), ...options };
  const title = await titleOf(tool, call, bound, options.title);
  const payload = isGate ? approvalPayload(state.mayHaveActed, call, approval) : shown.payload;
  const before = previewsOf(request)?.preview;
  const preview = before && (await previewOf(driver, tool, heldTo(call, bound)));
  // Where nothing asks about the edited input, the people of the request decide as before.
  const governed = judged.then === 'ask' ? judged.governed : undefined;
  const { policies = policiesOn(card) } = governed ?? {};
  return {
    shown: defined({
      payload,
      title,
      labels,
      risk,
      reversibility,
      agentReason: shown.agentReason,
      notice: shown.notice,
      previous: shown.previous,
      reviews: governed?.reviews,
      origins: edited.origins?.(),
    }),
    ...(before && { previews: { preview: preview ?? NO_PREVIEW, earlierPreview: before } }),
    policies,
    ...(governed && newEscalations(card, policies, await escalationsOf(governed, driver))),
  };
}

const NO_PREVIEW = { failed: 'the tool no longer has a preview' };

/**
 * People to whom the request was escalated still count if the same policies escalate to the same people now. Else the escalations of
 * the edited input begin anew: nobody gets a say in it whom its own policies do not name.
 */
function newEscalations(
  card: PendingCard,
  policies: Policies,
  escalate: readonly Escalation[],
): { readonly escalate?: readonly Escalation[] } {
  const before = card.progress?.escalate ?? card.request.wait?.escalate ?? [];
  const whom = (all: readonly Escalation[]) => all.map(({ at: _at, ...to }) => to) as unknown as Json;
  const isSame = sameJson(policies as unknown as Json, policiesOn(card) as unknown as Json);
  return isSame && sameJson(whom(escalate), whom(before)) ? {} : { escalate };
}

/** When other people may decide too, counted from now. */
export async function escalationsOf(governed: Governed, { clock }: Driver): Promise<readonly Escalation[]> {
  return (await joinedTimes(governed, clock())).escalate ?? [];
}
