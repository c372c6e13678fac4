// The policy of a decision: asked with what would run, from the same read that the decision is recorded on.

import { UsageError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { newState } from '../../core/messages/load-messages.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import { newTurn } from '../../core/run/call.ts';
import type { Leaf, Matched } from '../../core/run/decide.ts';
import { shownAgent } from '../../core/run/drill.ts';
import { event } from '../../core/run/event.ts';
import { fold } from '../../core/run/state.ts';
import { refsOf } from '../../core/run/sub-agents.ts';
import type { NewRun } from '../port/store.ts';
import { willRun } from './card.ts';
import type { Resumption } from './decision.ts';
import type { RunInterrupt } from './view.ts';

/** A decision that is about to be recorded, as a policy sees it. `part` is the request that the person saw, before any edit. */
export type ProposedDecision = Pick<
  RunInterrupt,
  'runId' | 'startedBy' | 'agent' | 'tool' | 'kind' | 'payload' | 'part'
> & {
  readonly interruptId: string;
  /**
   * The input that runs if this decision is recorded: the edited input where the decision edits it, with the defaults of
   * the tool's schema. For a decision that does not run the call, the input on the card.
   */
  readonly input: Json;
  /** The decision as it would be recorded, such as `{ type: 'approve', edit: … }`. */
  readonly decision: Json;
};

/** Throws `not-allowed` for the first decision that the policy refuses. */
export async function askPolicy(
  mayDecide: (proposed: ProposedDecision) => boolean | Promise<boolean>,
  { id: runId, agent, startedBy }: NewRun,
  decided: Resumption['decided'],
  leaves: readonly Leaf[],
): Promise<void> {
  const leafOf = new Map(leaves.map((leaf) => [JSON.stringify([...leaf.path, leaf.call].map(({ ref }) => ref)), leaf]));
  for (const [interruptId, { card, settlement }] of decided) {
    const { part, tool, kind, payload } = card;
    const leaf = leafOf.get(refsOf(part));
    const input = inputThatRuns(leaf, part);
    const shown = { interruptId, runId, startedBy, agent: shownAgent(agent), tool, kind, payload, part };
    if ((await mayDecide({ ...shown, input, decision: settlement.decision })) === true) continue;
    const who = settlement.by ?? 'This person';
    const message = `${who} is not allowed to make this decision on ${interruptId}. Nothing was recorded.`;
    throw new UsageError('not-allowed', { status: 403, interruptId, runId }, message);
  }
}

/** The input that runs once the decision is recorded; the input on the card if nothing runs. */
export function inputThatRuns(matched: Matched | undefined, part: ToolRequestPart): Json {
  return matched && RUNS.has(matched.decision.type) ? inputAfter(matched) : willRun(part);
}

const RUNS: ReadonlySet<string> = new Set(['approve', 'restart']);

/** What the body gets, read from the same fold that the recorded decision goes through. */
function inputAfter({ call, interruptId, decision }: Matched): Json {
  const asked = { ...newState(), turn: newTurn([], [call]) };
  const made = event({ type: 'decision-made', callId: call.id, interruptId, decision, resumed: true });
  const { input, runsWith = input } = fold(asked, made).turn?.calls[0] ?? call;
  return runsWith;
}
