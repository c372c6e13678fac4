// Requests that people sent back: a person asked for changes, and the next call of the tool asks again, as the next round.

import { policiesIn } from '../authority/ballots.ts';
import { ANYONE, type Vote } from '../authority/policy.ts';
import { peopleOf } from '../authority/tally.ts';
import { isObject } from '../json.ts';
import type { SentBack } from '../request/request.ts';
import type { Call, State } from './call.ts';
import type { Decision, RunEvent } from './event.ts';

type Interrupted = RunEvent & { readonly type: 'call-interrupted' };
type Decided = RunEvent & { readonly type: 'decision-made' };

/** The request that a new call of this tool revises. */
export function revisedBy({ sentBack }: Pick<State, 'sentBack'>, { name }: Pick<Call, 'name'>): SentBack | undefined {
  const ofTool = sentBack?.filter(({ tool }) => tool === name);
  return ofTool?.find(({ askedIn }) => askedIn === undefined) ?? ofTool?.[0];
}

/** Everyone who asked for the changes that a call of this tool makes. Their words led to it, as an edit would. */
export const revisersOf = (state: Pick<State, 'sentBack'>, call: Pick<Call, 'name'>): readonly string[] =>
  state.sentBack ? (revisedBy(state, call)?.people ?? []) : [];

/** A call that revises another, before it asks: later requests about it know who asked for the changes, too. */
export function withRevisers(state: State, call: Call, { request }: Interrupted): Call {
  const people = request.kind === 'approval' ? revisersOf(state, call) : [];
  return people.length === 0 ? call : { ...call, editors: [...new Set([...(call.editors ?? []), ...people])] };
}

/** Each request is revised by one other. */
export function asksAgain(state: State, { request }: Interrupted): State {
  if (request.kind === 'inside' || !request.shown.previous) return state;
  const { id, shown } = request;
  const { requestId } = shown.previous ?? {};
  const sentBack = state.sentBack?.map((one) => (one.previous.requestId === requestId ? { ...one, askedIn: id } : one));
  return { ...state, sentBack };
}

/** `before`: the state before the decision. A message of the user, or a cancellation, answers nothing: the next call asks again. */
export function decidesSentBack(before: State, after: State, { callId, requestId, decision }: Decided): State {
  const call = before.turn?.calls.find(({ id }) => id === callId);
  const open = (one: SentBack): SentBack => {
    const { askedIn: _closed, ...rest } = one;
    return rest;
  };
  const others = (before.sentBack ?? []).flatMap((one) => {
    if (one.askedIn !== requestId) return [one];
    return decision.type === 'cancel' ? [open(one)] : [];
  });
  const sentBack =
    call && decision.type === 'revise' ? [...others, sentBackBy(before, call, requestId, decision)] : others;
  return { ...after, sentBack: sentBack.length > 0 ? sentBack : undefined };
}

function sentBackBy(
  { ballots, sentBack = [] }: State,
  call: Call,
  requestId: string,
  { comment, by, card }: Decision & { readonly type: 'revise' },
): SentBack {
  const request = call.phase.at === 'waiting' ? call.phase.request : undefined;
  const round = (request?.shown.previous?.round ?? 0) + 1;
  const shown = card ?? { requestId, input: call.input, round };
  const progress = ballots?.get(requestId);
  const earlier = sentBack.find(({ askedIn }) => askedIn === requestId)?.people ?? [];
  const voters = (progress?.votes ?? []).filter(isRevision).flatMap(peopleOf);
  return {
    tool: call.name,
    previous: { ...shown, comment, ...(by !== undefined && { by }) },
    policies: policiesIn(progress, request) ?? ANYONE,
    people: [...new Set([...earlier, ...voters, ...(by === undefined ? [] : [by])])],
  };
}

const isRevision = ({ decision }: Vote): boolean => isObject(decision) && decision.type === 'revise';
