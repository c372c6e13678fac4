// Finds the calls that decisions are on, and says what events record. All faults are found before anything runs.

import type { RequestProgress } from '../authority/ballots.ts';
import { defined, type Json, sameJson, toJson } from '../json.ts';
import { decisionMetadata } from '../messages/turn-messages.ts';
import { type Call, pendingRequestId, requestId, type State } from './call.ts';
import type { Address, Decision, Made, PersonDecision } from './event.ts';
import { type DecisionFault, type Decisions, type Given, refsOf } from './made.ts';
import { decidedRefs, isSubAgentActive, subAgentState } from './sub-agents.ts';

/** A decision in terms of the call that an event records it on. */
export type Matched = { readonly call: Call; readonly requestId: string; readonly decision: Decision };

/** A person's decision with its call, at the root or in a sub-agent. `decision` is in terms of the recorded input. */
export type Leaf = Matched &
  Given & {
    readonly decision: PersonDecision;
    /** The decision as the person made it on the card, which may show an edited input. */
    readonly said: PersonDecision;
    /** The calls that lead to it, from the root inwards; empty for a call of the root. */
    readonly path: readonly Call[];
    /** The card showed the edit, with the input that it is bound to. */
    readonly isBound?: true;
  };

export type Found = { readonly leaves: readonly Leaf[]; readonly faults: readonly DecisionFault[] };

/** What requests have collected, by `refsOf` of their calls. */
export type Collected = ReadonlyMap<string, RequestProgress>;

type Conversation = Pick<State, 'turn' | 'refs'>;

/** `collected`: what the cards showed beside the call, in a store. */
export function findDecided(state: Conversation, { made, faults }: Decisions, collected: Collected = NONE): Found {
  const found: { leaves: Leaf[]; faults: DecisionFault[] } = { leaves: [], faults: [...faults] };
  if (made.length > 0) findIn(state, [], made, collected, found);
  return found;
}

const NONE: Collected = new Map();

/** `path`: the calls that lead to this conversation. */
function findIn(
  { turn, refs }: Conversation,
  path: readonly Call[],
  made: readonly Given[],
  collected: Collected,
  found: { readonly leaves: Leaf[]; readonly faults: DecisionFault[] },
): void {
  const callOf = turn && callsByRef(turn.calls, made.length);
  let inside: Map<Call, Given[]> | undefined;
  const decided = made.length > 1 ? new Map<string, string>() : undefined;
  for (const one of made) {
    const { where, on } = one;
    const target = findTarget(callOf, on, path.length, refs);
    if ('problem' in target) {
      found.faults.push({ where, ...target });
      continue;
    }
    const { call } = target;
    if (target.isInside) {
      inside ??= new Map();
      const others = inside.get(call);
      if (others) others.push(one);
      else inside.set(call, [one]);
      continue;
    }
    const earlier = decided?.get(call.id);
    const bound = earlier
      ? { problem: `${label(call)} is decided twice, here and in ${earlier}` }
      : bindToRecord(one, call, collected.size > 0 ? collected.get(refsOf(on)) : undefined);
    decided?.set(call.id, where);
    if ('problem' in bound) found.faults.push({ where, ...bound });
    else found.leaves.push({ ...one, call, requestId: target.requestId, said: one.decision, path, ...bound });
  }
  for (const [call, nested] of inside ?? []) {
    // Its sub-agent ends with it, so decisions in there have no effect.
    if (found.leaves.some((leaf) => leaf.call === call && ENDS.has(leaf.decision.type))) continue;
    const known = decidedRefs(call);
    const isOpen = ({ on, where }: Given): boolean => {
      if (!known.has(refsOf(on, path.length + 1))) return true;
      found.faults.push({ where, problem: `${label(on)} was decided earlier`, stale: true });
      return false;
    };
    const open = nested.filter(isOpen);
    if (open.length > 0) findIn(subAgentState(call), [...path, call], open, collected, found);
  }
}

/** For a single decision, a search is faster than a map. */
function callsByRef(calls: readonly Call[], searches: number): (ref: string) => Call | undefined {
  if (searches === 1) return (ref) => calls.find((call) => call.ref === ref);
  const byRef = new Map(calls.map((call) => [call.ref, call]));
  return (ref) => byRef.get(ref);
}

const ENDS: ReadonlySet<Decision['type']> = new Set(['respond', 'reject', 'cancel', 'revise']);

type Fault = { readonly problem: string; readonly stale?: true };

/** `isInside`: the decision is on a call in the sub-agent of this one. */
type Target = { readonly call: Call; readonly requestId: string; readonly isInside?: true } | Fault;

/** `callOf`: finds a call of the open turn by its ref; undefined if no turn is open. `depth`: how much of the path has been followed. */
function findTarget(
  callOf: ((ref: string) => Call | undefined) | undefined,
  on: Address,
  depth: number,
  refs: State['refs'],
): Target {
  const outer = on.path[depth];
  const call = callOf?.(outer ?? on.ref);
  if (!call) {
    if (refs.has(outer ?? on.ref))
      return { problem: `${label(on)} was decided earlier; reload to see the pending ones`, stale: true };
    const hint = callOf ? '' : ', nothing is: pass the messages of the response that asked';
    return { problem: `${label(on)} is not pending in these messages${hint}` };
  }
  const { phase } = call;
  if (outer === undefined && call.name !== on.name) return { problem: `${label(on)} is a call of ${call.name}` };
  if (phase.at === 'settled') return { problem: `${label(on)} was decided or finished earlier`, stale: true };
  if (outer !== undefined) {
    if (isSubAgentActive(call)) return { call, requestId: call.id, isInside: true };
    if (phase.at === 'sub-agent-waiting') return { call, requestId: phase.requestId, isInside: true };
    if (phase.at === 'waiting') return { problem: `${label(on)} is not pending inside ${label(call)}` };
  }
  // `returnToolRequests` handed the call out before its gate was asked: its caller may decide.
  if (phase.at === 'open' && outer === undefined) return { call, requestId: requestId(call.id, call.pauses + 1) };
  if (phase.at === 'sub-agent-waiting')
    return { problem: `${label(call)} asks nothing itself; decide the requests of its sub-agent` };
  if (phase.at !== 'waiting')
    return { problem: `${label(on)} does not wait for a decision`, ...(call.decided && { stale: true }) };
  const { id } = phase.request;
  if (on.requestId === undefined ? call.pauses > 1 : on.requestId !== id)
    return {
      problem: `${label(on)} has asked again since; this decision was made on its earlier request`,
      stale: true,
    };
  return { call, requestId: id };
}

type Bound = Pick<Leaf, 'decision' | 'isBound'>;

/** The decision in terms of the record, which has the input before the edit that the card of a later round shows. */
function bindToRecord({ on, decision, shown }: Made, call: Call, progress: RequestProgress | undefined): Bound | Fault {
  const { edit, round } = progress ?? { round: 1 };
  if ((on.round ?? 1) !== round)
    return { problem: `${call.name} was edited since; this decision was made on its earlier input`, stale: true };
  if (!mayRun(decision)) return { decision };
  const asked = edit ? edit.input : call.input;
  const { input = asked, ...said } = decision;
  if (shown !== undefined && !sameJson(shown, asked)) {
    const problem =
      decision.input === undefined
        ? `the input of ${label(call)} is not the recorded one; to change it, pass the edit to the decision`
        : `the edit of ${label(call)} replaces an input that is not the recorded one`;
    return { problem };
  }
  const change = sameJson(input, call.input) ? {} : { input };
  if (!edit || !sameJson(input, edit.input)) return { decision: { ...said, ...change } };
  const editedBy = 'input' in change ? (edit.by ?? undefined) : undefined;
  return { decision: { ...said, ...change, ...defined({ bound: edit.bound, editedBy }) }, isBound: true };
}

/** Decisions that let the call run. */
export function mayRun<D extends Decision>(decision: D): decision is D & { readonly type: 'approve' | 'restart' } {
  return decision.type === 'approve' || decision.type === 'restart';
}

/** What events record: a decision on a call of the root, or all decisions in its sub-agent. */
export function matchedOf(leaves: readonly Leaf[]): readonly Matched[] {
  const matched: Matched[] = leaves.filter(({ path }) => path.length === 0);
  if (matched.length === leaves.length) return matched;
  const inside = new Map<Call, Leaf[]>();
  for (const leaf of leaves) {
    const [outer] = leaf.path;
    const others = outer && inside.get(outer);
    if (others) others.push(leaf);
    else if (outer) inside.set(outer, [leaf]);
  }
  for (const [call, nested] of inside) {
    const decision = { type: 'inside', decisions: nested.map(inSubAgent), decided: nested.map(leafNote) } as const;
    matched.push({ call, requestId: pendingRequestId(call) ?? call.id, decision });
  }
  return matched;
}

/** The decision as the sub-agent continues with it. Its votes are counted, so the round does not matter there. */
function inSubAgent({ on: { path, ref, name }, call, requestId: id, decision }: Leaf): Made {
  const on = { path: path.slice(1), ref, name, requestId: id };
  return { on, decision, ...(mayRun(decision) && { shown: call.input }) };
}

/** A note of a decision in a sub-agent, for the request of the outer call. */
function leafNote({ call, decision }: Leaf): Json {
  const said = toJson({ tool: call.name, ref: call.ref, ...decisionMetadata(decision) });
  return said.ok ? said.value : null;
}

const label = ({ name, ref }: Pick<Address, 'name' | 'ref'>): string => `${name} (${ref})`;
