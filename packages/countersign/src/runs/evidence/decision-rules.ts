// Whether a recorded vote or decision was allowed: by its policy, its tally and its deadline.

import { mayDecide } from '../../core/authority/may-decide.ts';
import { isPlain, type Vote } from '../../core/authority/policy.ts';
import { tally } from '../../core/authority/tally.ts';
import { isObject, type Json, sameJson } from '../../core/json.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import type { Matched } from '../../core/run/decide.ts';
import { isByDeadline, type PersonDecision } from '../../core/run/event.ts';
import { digestOf, type PendingCard } from '../requests/card.ts';
import { saidIn } from '../requests/decision.ts';
import { inputThatRuns } from '../requests/input-that-runs.ts';
import { ballotOf, policiesOn } from '../requests/progress.ts';
import { endingOf } from '../requests/waiting/expiry.ts';

/** A decision on a request, and the call that asked it. */
export type Made = {
  readonly id: string;
  readonly card: PendingCard;
  readonly matched: Matched & { readonly decision: PersonDecision };
};

/** `found` is the request that is pending when the vote is recorded. */
export function voteProblems(
  found: readonly [id: string, card: PendingCard] | undefined,
  vote: Vote,
): readonly string[] {
  if (!found) return ['The vote is on a request that is not pending.'];
  const [id, card] = found;
  const verdict = mayDecide(policiesOn(card), ballotOf(card), vote);
  const isOther = vote.digest !== digestOf(id, { part: card.part } as unknown as Json);
  return [
    ...(verdict.ok ? [] : [`The vote on ${id} does not count. ${verdict.why}`]),
    ...(isOther ? [`The vote on ${id} was made on another card.`] : []),
  ];
}

/** A deadline decides as its request says; people decide as the tally of their votes says. */
export function decisionProblems({ id, card, matched }: Made, at: number): readonly string[] {
  const { decision } = matched;
  if (isByDeadline(decision)) return deadlineProblems(id, card, decision, at);
  const { progress } = card;
  const policies = policiesOn(card);
  const isCounted = !isPlain(policies) || (progress !== undefined && progress.votes.length > 0);
  // Nothing runs after a cancellation, and a message of the user may cause one.
  if (!isCounted || decision.type === 'cancel') return [];
  const counted = tally(policies, ballotOf(card), inputThatRuns(matched, card.part));
  if (counted.status === 'waiting') return [`${id} is decided, and votes are missing for that.`];
  const [voted, made] = [withoutIdleEdit(counted.vote.decision, card.part), saidOn(card.part, decision)];
  const isSame = sameJson(voted, made) && (decision.by ?? null) === counted.vote.by;
  return isSame ? [] : [`${id} is decided otherwise than its votes say.`];
}

/** Not before its time. */
function deadlineProblems(id: string, card: PendingCard, { type }: PersonDecision, at: number): readonly string[] {
  const { expiresAt } = card.request.wait ?? {};
  const asked = endingOf(card);
  if (expiresAt === undefined) return [`A deadline decides ${id}, which has none.`];
  if (at < expiresAt) return [`The deadline of ${id} decides before its time.`];
  return type === asked ? [] : [`The deadline of ${id} decides ${type}; its request says ${asked}.`];
}

/** The decision as a person made it on this card: on the card of an edit, a call that runs as proposed was edited back. */
export function saidOn(part: ToolRequestPart, decision: PersonDecision): Json {
  const said = saidIn(decision) as { readonly [key: string]: Json };
  const editedFrom = part.metadata?.editedFrom as Json | undefined;
  const isBack = editedFrom !== undefined && (decision.type === 'approve' || decision.type === 'restart');
  const field = decision.type === 'approve' ? 'edit' : 'replaceInput';
  return withoutIdleEdit(isBack && !(field in said) ? { ...said, [field]: editedFrom } : said, part);
}

/** An edit to the input that the card shows anyway changes nothing. */
export function withoutIdleEdit(decision: Json, { toolRequest }: ToolRequestPart): Json {
  if (!isObject(decision)) return decision;
  const { edit, replaceInput = edit, ...rest } = decision as { readonly [key: string]: Json };
  return replaceInput !== undefined && sameJson(replaceInput, toolRequest.input) ? rest : decision;
}
