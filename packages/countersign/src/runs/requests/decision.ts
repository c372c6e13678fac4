// Decisions on stored questions: how callers write them, and how they are recorded.
import { roundId } from '../../core/authority/ballots.ts';
import type { Vote } from '../../core/authority/policy.ts';
import { UsageError } from '../../core/errors.ts';
import { copyOf, isObject, type Json, toJson } from '../../core/json.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import {
  type DecisionEntry,
  type DecisionPart,
  type Decisions,
  interruptIdOf,
  type Leaf,
  matchDecisions,
  VERBS,
  type Verb,
} from '../../core/run/decide.ts';
import { DEADLINE } from '../../core/run/event.ts';
import type { State } from '../../core/run/state.ts';
import { refsOf } from '../../core/run/sub-agents.ts';
import { invalidResume } from '../../loop/resume.ts';
import { approve, cancel, type DecisionOptions, reject, respond, restart } from '../../loop/tool/decisions.ts';
import { interruptKey, type PendingCard, pendingCards } from './card.ts';

/** A person's decision. `edit` and `replaceInput` change the input that runs. */
export type DecisionInput<Input = unknown, Output = unknown> =
  | 'approve'
  | 'reject'
  | 'cancel'
  | { readonly type: 'approve'; readonly edit?: Input }
  | { readonly type: 'reject'; readonly reason?: string }
  | { readonly type: 'cancel'; readonly reason?: string }
  | { readonly type: 'respond'; readonly output: Output }
  | { readonly type: 'restart'; readonly resumed?: unknown; readonly replaceInput?: Input };

/** The recorded decision on a question. */
export type Settlement = {
  readonly decision: Json;
  readonly by: string | null;
  readonly channel: string | null;
  readonly note: string | null;
  readonly at: number;
  /** How long the person had the card in view, if their channel reports it. */
  readonly seenForMs?: number;
  /** The votes that counted, where the question has a policy. */
  readonly votes?: readonly Vote[];
};

/** The record of a question without a decision: its run was cancelled, a message came instead, or its call reported a result. */
export type Withdrawal = {
  readonly withdrawn: true;
  readonly decision?: undefined;
  readonly by?: string | null;
  readonly channel?: undefined;
  readonly note?: string | null;
  readonly at: number;
};

/** The decision as `resume` takes it. */
export function decisionPart(part: ToolRequestPart, input: DecisionInput, options: DecisionOptions): DecisionPart {
  const decision = checkedDecision(input);
  const signed = signatureOf(options);
  switch (decision.type) {
    case 'approve':
      return approve(part, { ...signed, ...('edit' in decision && { edit: decision.edit }) });
    case 'reject':
      return reject(part, decision.reason, signed);
    case 'cancel':
      return cancel(part, decision.reason, signed);
    case 'respond':
      return respond(part, decision.output, signed);
    case 'restart':
      return restart(part, decision.resumed, {
        ...signed,
        ...('replaceInput' in decision && { replaceInput: decision.replaceInput }),
      });
  }
}

/** Copies the decision, so that later changes have no effect. Inherited fields count: they would run without being recorded. */
export function copyDecision(decision: DecisionInput): DecisionInput {
  if (!isObject(decision)) return decision;
  const said: Record<string, unknown> = decision;
  const inherited = Object.values(FIELDS)
    .flat()
    .filter((key) => key in said);
  const keys = new Set([...Object.keys(said), ...inherited]);
  // Undefined is refused later, and a copy would be null.
  const copied = (value: unknown): unknown => (value === undefined ? undefined : copyOf(value));
  return Object.fromEntries([...keys].map((key) => [key, copied(said[key])])) as DecisionInput;
}

/** Callers without types, and those that forward requests, may pass anything. */
function checkedDecision(input: DecisionInput): Exclude<DecisionInput, string> {
  const decision: unknown = typeof input === 'string' ? { type: input } : input;
  const type = isObject(decision) ? decision.type : undefined;
  if (!isObject(decision) || !(VERBS as readonly unknown[]).includes(type))
    throw new UsageError(
      'invalid-decision',
      { decision: type },
      "A decision has the type approve, reject, cancel, respond or restart: write 'approve', or { type: 'respond', output }.",
    );
  const verb = type as Verb;
  const odd = Object.keys(decision).filter((key) => !FIELDS[verb].includes(key));
  // To ignore a misnamed field, such as `input` for `edit`, would run the input that the caller meant to change.
  const message = `A decision of the type ${verb} has no ${odd.join(', ')}: only ${FIELDS[verb].join(', ')}.`;
  if (odd.length > 0) throw new UsageError('invalid-decision', { decision: verb, fields: odd }, message);
  const lost = verb === 'respond' ? 'output' : verb === 'restart' ? 'replaceInput' : 'edit';
  if (decision[lost] === undefined && (verb === 'respond' || lost in decision)) throw undefinedValue(verb, lost);
  if (isConversation(decision.resumed)) throw handsOver();
  return decision as Exclude<DecisionInput, string>;
}

/** A tool continues the conversation that it is handed: one that a person wrote could say that others have approved its calls. */
function isConversation(resumed: unknown): boolean {
  const messages = isObject(resumed) ? resumed.messages : undefined;
  return Array.isArray(messages) && messages.some((message) => isObject(message) && 'role' in message);
}

function handsOver(): UsageError {
  const message =
    'A decision cannot hand a conversation to the tool: `resumed` has messages. Decide the requests inside instead.';
  return new UsageError('invalid-decision', { decision: 'restart', fields: ['resumed'] }, message);
}

/** An undefined value was probably lost on the way, so nothing is decided. */
function undefinedValue(verb: Verb, field: string): UsageError {
  const instead = verb === 'respond' ? 'To answer with nothing, say null' : 'Leave it out to change nothing';
  const message = `The ${field} of a decision of the type ${verb} is undefined. ${instead}.`;
  return new UsageError('invalid-decision', { decision: verb, fields: [field] }, message);
}

const FIELDS: Readonly<Record<Verb, readonly string[]>> = {
  approve: ['type', 'edit'],
  reject: ['type', 'reason'],
  cancel: ['type', 'reason'],
  respond: ['type', 'output'],
  restart: ['type', 'resumed', 'replaceInput'],
};

/** The decision without who and when, to compare two decisions. */
export function decisionOf(input: DecisionInput): Json {
  const { type, ...rest } = checkedDecision(input);
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const json = toJson({ type, ...(type === 'restart' && { resumed: true }), ...given });
  if (json.ok) return json.value;
  throw new UsageError('not-json', { type }, `The decision is not JSON: ${json.problem}.`);
}

/** The decisions of a resumption, ready to be recorded. */
export type Resumption = {
  /** Decisions on pending questions, by the key of the question. */
  readonly decided: ReadonlyMap<string, { readonly card: PendingCard; readonly settlement: Signed }>;
  /** Decisions on questions that are no longer pending: the entry of `resume`, and the key of the question. */
  readonly late: readonly { readonly where: string; readonly key: string; readonly decision: DecisionInput }[];
};

/** A settlement without its time. */
export type Signed = Omit<Settlement, 'at' | 'votes'>;

/** Finds the question of each decision; `checkResume` reports those without one. Throws if a call has not asked yet. */
export function resumptionOf(runId: string, state: State, decisions: Decisions): Resumption {
  const { leaves, faults } = matchDecisions(state.turn, decisions, (ref) => state.refs.has(ref));
  const cards = new Map([...pendingCards(runId, state)].map(([key, card]) => [refsOf(card.part), { key, card }]));
  const entries = new Map(decisions.entries.map((entry) => [entry.where, entry]));
  const cardOf = ({ path, call }: Leaf) => cards.get(JSON.stringify([...path, call].map(({ ref }) => ref)));
  const unasked = state.ended ? [] : leaves.filter((leaf) => !cardOf(leaf));
  if (unasked.length > 0)
    throw invalidResume(
      unasked.map(({ where, call: { name, ref } }) => ({ where, problem: `${name} (${ref}) has not asked yet` })),
    );
  const decided = leaves.flatMap((leaf) => {
    const entry = entries.get(leaf.where);
    const found = cardOf(leaf);
    if (!entry || !found) return [];
    const edited = isEdit(entry.part) || 'input' in leaf.decision;
    return [[found.key, { card: found.card, settlement: settlementOf(entry, edited) }] as const];
  });
  // The questions of a cancelled run are settled too, by the person who cancelled it.
  const tooLate = [...faults.filter(({ stale }) => stale), ...(state.ended ? leaves : [])];
  const late = tooLate.flatMap(({ where }) => {
    const entry = entries.get(where);
    if (!entry) return [];
    const id = interruptIdOf(entry.part) ?? idByRef(entry.part, state);
    const { round } = entry.part.metadata ?? {};
    const key = interruptKey(runId, typeof round === 'number' ? roundId(id, round) : id);
    return [{ where, key, decision: decisionIn(entry, isEdit(entry.part)) as DecisionInput }];
  });
  return { decided: new Map(decided), late };
}

/** If the model gave a call no ref, the id of the call is its ref. */
function idByRef(part: DecisionPart, { turn }: State): string {
  const { ref } = 'toolRequest' in part ? part.toolRequest : part.toolResponse;
  const path = part.metadata?.path;
  const [outer] = Array.isArray(path) ? path : [];
  if (typeof outer !== 'string') return ref;
  const { id = outer } = turn?.calls.find((call) => call.ref === outer) ?? {};
  return `${id}.${ref}`;
}

/** The same decisions with the person, channel and note of the caller's options, if it gave any. */
export function signDecisions(decisions: Decisions, options: DecisionOptions): Decisions {
  const signature = signatureOf(options);
  if (Object.keys(signature).length === 0) return decisions;
  const sign = (entry: DecisionEntry): DecisionEntry => {
    const { part, verb } = entry;
    // `matchDecisions` reports invalid decisions.
    if (!isObject(part)) return entry;
    const said = metadataIn(part);
    const made = said.made ?? ('toolResponse' in part ? 'respond' : verb);
    return { ...entry, part: { ...part, metadata: { ...part.metadata, decision: { ...said, made, ...signature } } } };
  };
  return { ...decisions, entries: decisions.entries.map(sign) };
}

/** The person, the channel and the note of a decision, as far as given. */
function signatureOf({ by, channel, note }: DecisionOptions): DecisionOptions {
  return Object.fromEntries(Object.entries({ by, channel, note }).filter(([, said]) => said !== undefined));
}

/** The same decisions without the entries named in `left`; undefined if nothing remains. */
export function withoutEntries(decisions: Decisions, left: ReadonlySet<string>): Decisions | undefined {
  const entries = decisions.entries.filter(({ where }) => !left.has(where));
  return entries.length > 0 || decisions.faults.length > 0 ? { ...decisions, entries } : undefined;
}

function settlementOf(entry: DecisionEntry, edited: boolean): Signed {
  const said = metadataIn(entry.part);
  const text = (own: unknown) => (typeof own === 'string' ? own : null);
  const [by, channel, note] = [text(said.by), text(said.channel), text(said.note)];
  return checkDecider({ decision: decisionIn(entry, edited), by, channel, note });
}

/** A person named like the deadline must pass a channel, so that the two cannot be confused. */
export function checkDecider(signed: Signed): Signed {
  if (signed.by !== DEADLINE || signed.channel !== null) return signed;
  const message = `A decision by ${DEADLINE} without a channel is one that a deadline made. Pass the \`channel\` through which this person decides.`;
  throw new UsageError('invalid-options', { field: 'by' }, message);
}

/** The metadata of this decision. An interrupt passed as a decision may carry that of an earlier one. */
function metadataIn(part: DecisionPart): Record<string, unknown> {
  const decision = isObject(part) ? part.metadata?.decision : undefined;
  return isObject(decision) && typeof decision.made === 'string' ? decision : {};
}

/** An interrupt passed as a decision may carry an earlier edit, beside the question that was decided then. */
function isEdit({ metadata = {} }: DecisionPart): boolean {
  return 'replacedInput' in metadata && !('resolvedInterrupt' in metadata);
}

function decisionIn({ verb, part }: DecisionEntry, edited: boolean): Json {
  const said = metadataIn(part);
  const changed = 'toolRequest' in part && edited ? { input: part.toolRequest.input ?? null } : undefined;
  switch (verb) {
    case 'respond':
      return decisionOf({ type: verb, output: 'toolResponse' in part ? (part.toolResponse.output ?? null) : null });
    case 'restart':
      return decisionOf({
        type: verb,
        resumed: part.metadata?.resumed,
        ...(changed && { replaceInput: changed.input }),
      });
    case 'approve':
      return decisionOf({ type: verb, ...(changed && { edit: changed.input }) });
    case 'reject':
    case 'cancel':
      return decisionOf({ type: verb, ...(typeof said.reason === 'string' && { reason: said.reason }) });
  }
}
