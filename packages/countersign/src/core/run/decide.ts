// Matches the decisions of callers to the pending interrupts. All faults are found before anything runs.

import { defined, isObject, type Json, sameJson, toJson } from '../json.ts';
import {
  isToolRequest,
  isToolResponse,
  type Message,
  type Metadata,
  type ToolRequestPart,
  type ToolResponsePart,
} from '../messages/message.ts';
import { decisionMetadata } from '../messages/turn-messages.ts';
import type { EditBound } from '../request/interrupt.ts';
import { type Call, interruptId, pendingInterruptId, type Turn } from './call.ts';
import type { Decision } from './event.ts';
import { decidedRefs, isSubAgentActive, refsOf, subAgentState } from './sub-agents.ts';

/** A decision as data: what `respond`, `restart`, `approve`, `reject` and `cancel` make, or an interrupt itself. */
export type DecisionPart = ToolRequestPart | ToolResponsePart;

type Several<T> = T | readonly T[];

/** The decisions of one resumption: a list of decisions, or lists of them by their kind. */
export type Resume = readonly DecisionPart[] | ResumeLists;

type ResumeLists = {
  readonly respond?: Several<DecisionPart>;
  readonly restart?: Several<DecisionPart>;
  readonly approve?: Several<DecisionPart>;
  readonly reject?: Several<DecisionPart>;
  readonly cancel?: Several<DecisionPart>;
  /** Kept on the tool message as `metadata.resumed`. */
  readonly metadata?: Metadata;
};

export const VERBS = ['respond', 'restart', 'approve', 'reject', 'cancel'] as const;
export type Verb = (typeof VERBS)[number];

/** The decisions of one resumption, each with its kind. */
export type Decisions = {
  readonly entries: readonly DecisionEntry[];
  readonly faults: readonly DecisionFault[];
  readonly metadata?: Metadata;
};

/** `where` names the entry in errors, such as `resume[0]` or `approve[0]`. */
export type DecisionEntry = { readonly where: string; readonly verb: Verb; readonly part: DecisionPart };

/** Reads both forms of a resumption. In a plain list each decision must say its kind; none is guessed. */
export function readResume(resume: Resume, toolResponses?: Several<DecisionPart>): Decisions {
  const entries: DecisionEntry[] = [];
  const faults: DecisionFault[] = [];
  const add = (verb: Verb, parts: Several<DecisionPart> | undefined, list: string = verb): void => {
    if (parts === undefined) return;
    for (const [index, part] of asArray(parts).entries()) entries.push({ where: `${list}[${index}]`, verb, part });
  };
  if (!isList(resume)) {
    for (const verb of VERBS) add(verb, resume[verb]);
    add('respond', toolResponses, 'toolResponses');
    return { entries, faults, ...(resume.metadata && { metadata: resume.metadata }) };
  }
  for (const [index, part] of resume.entries()) {
    const where = `resume[${index}]`;
    const verb = VERBS.find((known) => known === verbOf(part));
    if (verb) entries.push({ where, verb, part });
    else faults.push({ where, problem: isDecision(part) ? `${nameOf(part)} ${WITHOUT_KIND}` : NOT_A_DECISION });
  }
  add('respond', toolResponses, 'toolResponses');
  return { entries, faults };
}

const NOT_A_DECISION = 'not a decision: make one with respond, restart, approve, reject or cancel';
const WITHOUT_KIND =
  'does not say its kind: make a decision with approve, reject, respond, restart or cancel, or list it under its kind, as in { approve: [interrupt] }';

function isList(resume: Resume): resume is readonly DecisionPart[] {
  return Array.isArray(resume);
}

function verbOf(part: DecisionPart): unknown {
  if (!isDecision(part)) return undefined;
  const { decision, ...metadata } = part.metadata ?? {};
  if (isObject(decision) && typeof decision.made === 'string') return decision.made;
  return 'interruptResponse' in metadata ? 'respond' : undefined;
}

export type Matched = { readonly call: Call; readonly interruptId: string; readonly decision: Decision };

/** A decision with the calls that lead to it, from the root inwards; empty for a call of the root. */
export type Leaf = Matched & { readonly path: readonly Call[]; readonly where: string };

export type DecisionFault = {
  readonly where: string;
  readonly problem: string;
  /** The call was pending once, and no longer is. */
  readonly stale?: true;
  /** Where an answer or an edited input does not fit its schema. */
  readonly issues?: readonly { readonly path: readonly string[]; readonly message: string }[];
};

export type Matching = {
  readonly matched: readonly Matched[];
  /** Each person's decision, at the root or in a sub-agent. */
  readonly leaves: readonly Leaf[];
  readonly faults: readonly DecisionFault[];
};

/** `settled`: a call with this ref was settled earlier. `boundOf`: what an edit is bound to, which it must not say itself. */
export function matchDecisions(
  turn: Turn | undefined,
  decisions: Decisions,
  settled: (ref: string) => boolean,
  boundOf: (where: string, part: DecisionPart) => EditBound | undefined = () => undefined,
): Matching {
  const entries = decisions.entries.map((entry) => ({ ...entry, bound: boundOf(entry.where, entry.part) }));
  const matching = matchEntries(turn, entries, settled, []);
  return { ...matching, faults: [...decisions.faults, ...matching.faults] };
}

export function recordedBound(_where: string, part: DecisionPart): EditBound | undefined {
  return part?.metadata?.[BOUND] as EditBound | undefined;
}

const BOUND = 'bound';

type Entry = DecisionEntry & { readonly bound: EditBound | undefined };

function matchEntries(
  turn: Turn | undefined,
  entries: readonly Entry[],
  settled: (ref: string) => boolean,
  path: readonly Call[],
): Matching {
  const matched: Matched[] = [];
  const leaves: Leaf[] = [];
  const faults: DecisionFault[] = [];
  const inSubAgents = new Map<Call, Entry[]>();
  const decided = new Map<string, string>();
  const calls = new Map(turn?.calls.map((call) => [call.ref, call]));
  for (const entry of entries) {
    const target = findTarget(turn && calls, entry, settled);
    if ('fault' in target) faults.push({ where: entry.where, ...target.fault });
    else if (target.rest.length > 0) {
      const nested = { ...entry, part: withPath(entry.part, target.rest) };
      const others = inSubAgents.get(target.call);
      if (others) others.push(nested);
      else inSubAgents.set(target.call, [nested]);
    } else {
      const read = readDecision(entry, target.call);
      const earlier = decided.get(target.call.id);
      if (earlier)
        faults.push({ where: entry.where, problem: `${label(target.call)} is decided twice, here and in ${earlier}` });
      else if ('problem' in read) faults.push({ where: entry.where, problem: read.problem });
      else {
        const match = { call: target.call, interruptId: target.interruptId, decision: read.decision };
        matched.push(match);
        leaves.push({ ...match, path, where: entry.where });
      }
      decided.set(target.call.id, entry.where);
    }
  }
  if (inSubAgents.size === 0) return { matched, leaves, faults };
  const over = new Set(matched.filter(({ decision }) => ENDS.has(decision.type)).map(({ call }) => call));
  for (const [call, nested] of inSubAgents) {
    // The call ends, so decisions in its sub-agent have no effect.
    if (over.has(call)) continue;
    const state = subAgentState(call);
    const known = decidedRefs(call);
    const open: Entry[] = [];
    for (const entry of nested) {
      const { part, where } = entry;
      if (!known.has(refsOf(part))) open.push(entry);
      else faults.push({ where, problem: `${nameOf(part)} was decided earlier`, stale: true });
    }
    if (open.length === 0) continue;
    const inner = matchEntries(state.turn, open, (ref) => state.refs.has(ref), [...path, call]);
    faults.push(...inner.faults);
    leaves.push(...inner.leaves);
    const decision = { type: 'inside', resume: asResume(open), decided: inner.leaves.map(leafNote) } as const;
    matched.push({ call, interruptId: pendingInterruptId(call) ?? call.id, decision });
  }
  return { matched, leaves, faults };
}

const ENDS: ReadonlySet<Decision['type']> = new Set(['respond', 'reject', 'cancel']);

type Target =
  | { readonly call: Call; readonly interruptId: string; readonly rest: readonly string[] }
  | { readonly fault: { readonly problem: string; readonly stale?: true } };

/** `calls`: those of the open turn, by their ref; undefined if no turn is open. */
function findTarget(
  calls: ReadonlyMap<string, Call> | undefined,
  { part }: Entry,
  settled: (ref: string) => boolean,
): Target {
  if (!isDecision(part)) return { fault: { problem: NOT_A_DECISION } };
  const { name, ref } = isToolRequest(part) ? part.toolRequest : part.toolResponse;
  const [outer, ...rest] = pathOf(part);
  const call = calls?.get(outer ?? ref);
  const what = nameOf(part);
  if (!call) {
    const stale = settled(outer ?? ref);
    const problem = stale
      ? `${what} was decided earlier; reload to see the pending ones`
      : `${what} is not pending in these messages${calls ? '' : ', nothing is: pass the messages of the response that asked'}`;
    return { fault: { problem, ...(stale && { stale }) } };
  }
  if (outer === undefined && call.name !== name) return { fault: { problem: `${what} is a call of ${call.name}` } };
  if (call.phase.at === 'settled')
    return { fault: { problem: `${what} was decided or finished earlier`, stale: true } };
  const { phase } = call;
  if (outer !== undefined) {
    const deeper = [...rest, ref];
    if (isSubAgentActive(call)) return { call, interruptId: call.id, rest: deeper };
    if (phase.at === 'sub-agent-waiting') return { call, interruptId: phase.interruptId, rest: deeper };
    if (phase.at === 'waiting') return { fault: { problem: `${what} is not pending inside ${label(call)}` } };
  }
  // `returnToolRequests` handed the call out before its gate was asked: its caller may decide.
  if (phase.at === 'open' && outer === undefined)
    return { call, interruptId: interruptId(call.id, call.pauses + 1), rest: [] };
  if (phase.at === 'sub-agent-waiting')
    return { fault: { problem: `${label(call)} asks nothing itself; decide the interrupts of its sub-agent` } };
  if (phase.at !== 'waiting')
    return { fault: { problem: `${what} does not wait for a decision`, ...(call.decided && { stale: true }) } };
  const { interrupt } = phase;
  const id = interruptIdOf(part);
  if (id === undefined ? call.pauses > 1 : id !== interrupt.id)
    return {
      fault: { problem: `${what} has asked again since; this decision was made on its earlier question`, stale: true },
    };
  return { call, interruptId: interrupt.id, rest: [] };
}

/** Untyped callers, and callers that pass on a request body, may give anything. */
export function isDecision(part: unknown): boolean {
  if (!isObject(part) || !isObject(part.metadata ?? {})) return false;
  return isObject('toolRequest' in part ? part.toolRequest : part.toolResponse);
}

/** The id of the interrupt that a decision was made on; undefined where it was built by hand without one. */
export function interruptIdOf(part: DecisionPart): string | undefined {
  const { interruptId: given, callId, pauses } = part.metadata ?? {};
  if (typeof given === 'string') return given;
  if (typeof callId === 'string') return interruptId(callId, typeof pauses === 'number' ? pauses : 1);
  if (isToolRequest(part) && typeof pauses === 'number') return interruptId(part.toolRequest.ref, pauses);
  return undefined;
}

function pathOf(part: DecisionPart): readonly string[] {
  const path = part.metadata?.path;
  return Array.isArray(path) ? path.filter((ref) => typeof ref === 'string') : [];
}

/** The same decision one conversation further in; `rest` ends with the ref of the decided call itself. */
function withPath(part: DecisionPart, rest: readonly string[]): DecisionPart {
  const { path: _path, ...metadata } = part.metadata ?? {};
  const path = rest.slice(0, -1);
  return { ...part, metadata: path.length > 0 ? { ...metadata, path } : metadata };
}

function readDecision(
  { verb, part, bound }: Entry,
  call: Call,
): { readonly decision: Decision } | { readonly problem: string } {
  const metadata = part.metadata ?? {};
  const said = isObject(metadata.decision) && typeof metadata.decision.made === 'string' ? metadata.decision : {};
  const made = verbOf(part);
  if (made === undefined ? isToolResponse(part) && verb !== 'respond' : made !== verb)
    return { problem: `${label(call)}: it is a decision to ${String(made ?? 'respond')}, listed under ${verb}` };
  const given = verb === 'respond' ? (metadata.interruptResponse ?? true) : said.metadata;
  const note = toJson(given);
  if (!note.ok) return { problem: `its metadata is not JSON: ${note.problem}` };
  const signed = defined({
    by: stringOf(said.by),
    channel: stringOf(said.channel),
    note: stringOf(said.note),
    metadata: given === undefined ? undefined : note.value,
  });
  switch (verb) {
    case 'respond': {
      if (!isToolResponse(part)) return { problem: `${label(call)} needs an answer: use respond(interrupt, output)` };
      const output = toJson(part.toolResponse.output);
      if (!output.ok) return { problem: `the answer is not JSON: ${output.problem}` };
      return { decision: { type: verb, output: output.value, ...signed } };
    }
    case 'reject':
    case 'cancel':
      return { decision: { type: verb, ...defined({ reason: stringOf(said.reason) }), ...signed } };
    case 'restart':
    case 'approve': {
      if (!isToolRequest(part)) return { problem: `${label(call)}: an answer cannot ${verb} it` };
      const input = decidedInput(part, call);
      if ('problem' in input) return input;
      const editedBy = 'input' in input.edit ? stringOf(metadata.editedBy) : undefined;
      const edit = { ...input.edit, ...defined({ bound, editedBy }) };
      if (verb === 'approve') return { decision: { type: verb, ...edit, ...signed } };
      const resumed = toJson('resumed' in metadata ? metadata.resumed : true);
      if (!resumed.ok) return { problem: `the resumed value is not JSON: ${resumed.problem}` };
      return { decision: { type: verb, resumed: resumed.value, ...edit, ...signed } };
    }
  }
}

const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A decision is bound to the input it was made on: an edit must be declared, with the input it replaces. */
function decidedInput(part: ToolRequestPart, call: Call): { edit: { input?: Json } } | { problem: string } {
  const { input } = part.toolRequest;
  const metadata = part.metadata ?? {};
  if (sameJson(input, call.input)) return { edit: {} };
  if (!('replacedInput' in metadata))
    return {
      problem: `the input of ${label(call)} is not the recorded one; to change it, pass the edit to the decision`,
    };
  if (!sameJson(metadata.replacedInput, call.input))
    return { problem: `the edit of ${label(call)} replaces an input that is not the recorded one` };
  const edited = toJson(input);
  return edited.ok ? { edit: { input: edited.value } } : { problem: `the edited input is not JSON: ${edited.problem}` };
}

/** A note of a decision in a sub-agent, for the request of the outer call. */
function leafNote({ call, decision }: Leaf): Json {
  const said = toJson({ tool: call.name, ref: call.ref, ...decisionMetadata(decision) });
  return said.ok ? said.value : null;
}

function asResume(entries: readonly Entry[]): Json {
  const resume: Partial<Record<Verb, DecisionPart[]>> = {};
  for (const entry of entries) {
    resume[entry.verb] ??= [];
    resume[entry.verb]?.push(withBound(entry));
  }
  return resume as unknown as Json;
}

function withBound({ part, bound }: Entry): DecisionPart {
  const { [BOUND]: given, ...metadata } = part.metadata ?? {};
  if (bound) return { ...part, metadata: { ...metadata, [BOUND]: bound } };
  return given === undefined ? part : { ...part, metadata };
}

/** The questions that wait for a person, those inside tools included; these carry the `path` that leads to them. */
export function pendingParts(messages: readonly Message[], path: readonly string[] = []): readonly ToolRequestPart[] {
  const open = messages.findLast((message) => message.role === 'model');
  return (open?.content ?? []).filter(isToolRequest).flatMap((part) => {
    const metadata = part.metadata ?? {};
    if ('pendingOutput' in metadata) return [];
    const { inner } = metadata;
    if (isObject(inner) && inner.waiting === true)
      return pendingParts(inner.messages as readonly Message[], [...path, part.toolRequest.ref]);
    if (!('interrupt' in metadata)) return [];
    return [path.length > 0 ? { ...part, metadata: { ...metadata, path } } : part];
  });
}

function asArray<T>(value: Several<T> | undefined): readonly T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

const label = (call: Call): string => `${call.name} (${call.ref})`;

function nameOf(part: DecisionPart): string {
  const { name, ref } = isToolRequest(part) ? part.toolRequest : part.toolResponse;
  return `${name} (${ref})`;
}
