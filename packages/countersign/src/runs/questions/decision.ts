// Decisions on stored questions, as callers say them.
import {
  type DecisionEntry,
  type DecisionPart,
  type Decisions,
  interruptIdOf,
  type Leaf,
  matchDecisions,
  VERBS,
  type Verb,
} from '../../core/decide.ts';
import { UsageError } from '../../core/errors.ts';
import { DEADLINE } from '../../core/event.ts';
import { copyOf, isObject, type Json, type JsonObject, toJson } from '../../core/json.ts';
import type { ToolRequestPart } from '../../core/message.ts';
import type { State } from '../../core/state.ts';
import { refsOf } from '../../core/sub-agents.ts';
import { invalidResume } from '../../loop/resume.ts';
import { approve, cancel, type DecisionOptions, reject, respond, restart } from '../../loop/tool/decisions.ts';
import { interruptKey, type PendingCard, pendingCards } from './card.ts';

/** What a person decided. `edit` and `replaceInput` change the input that runs. */
export type DecisionInput<Input = unknown, Output = unknown> =
  | 'approve'
  | 'reject'
  | 'cancel'
  | { readonly type: 'approve'; readonly edit?: Input }
  | { readonly type: 'reject'; readonly reason?: string }
  | { readonly type: 'cancel'; readonly reason?: string }
  | { readonly type: 'respond'; readonly output: Output }
  | { readonly type: 'restart'; readonly resumed?: unknown; readonly replaceInput?: Input };

/** What is on record about a settled question. */
export type Settlement = {
  readonly decision: Json;
  readonly by: string | null;
  readonly channel: string | null;
  readonly note: string | null;
  readonly at: number;
};

/**
 * What is on record about a question that nobody decided: the run was cancelled, the user spoke instead, or the call that was
 * in doubt reported its result itself.
 */
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
  const { by, channel, note } = options;
  const signed = {
    ...(by !== undefined && { by }),
    ...(channel !== undefined && { channel }),
    ...(note !== undefined && { note }),
  };
  switch (decision.type) {
    case 'approve': {
      const edit = 'edit' in decision ? { edit: decision.edit } : {};
      return approve(part, { ...signed, ...edit });
    }
    case 'reject':
    case 'cancel': {
      const reason = 'reason' in decision ? decision.reason : undefined;
      return (decision.type === 'reject' ? reject : cancel)(part, reason, signed);
    }
    case 'respond':
      return respond(part, decision.output, signed);
    case 'restart': {
      const replaceInput = 'replaceInput' in decision ? { replaceInput: decision.replaceInput } : {};
      return restart(part, decision.resumed, { ...signed, ...replaceInput });
    }
  }
}

/**
 * As it is now, whatever the caller changes in it later. What it inherits counts: it would run, and not be on record. What it
 * lacks, or should not have, is found when it is read.
 */
export function saidNow(decision: DecisionInput): DecisionInput {
  if (!isObject(decision)) return decision;
  const said: Record<string, unknown> = decision;
  const inherited = Object.values(FIELDS)
    .flat()
    .filter((key) => key in said);
  const keys = new Set([...Object.keys(said), ...inherited]);
  // What is undefined is refused, and a copy would be null.
  const copied = (value: unknown): unknown => (value === undefined ? undefined : copyOf(value));
  return Object.fromEntries([...keys].map((key) => [key, copied(said[key])])) as DecisionInput;
}

/** Callers without types, and those who pass on what they were sent, may give anything. */
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
  // Whoever writes `input` for `edit` would let run what they meant to change.
  const message = `A decision of the type ${verb} has no ${odd.join(', ')}: only ${FIELDS[verb].join(', ')}.`;
  if (odd.length > 0) throw new UsageError('invalid-decision', { decision: verb, fields: odd }, message);
  const lost = verb === 'respond' ? 'output' : verb === 'restart' ? 'replaceInput' : 'edit';
  if (decision[lost] === undefined && (verb === 'respond' || lost in decision)) throw lostIn(verb, lost);
  return decision as Exclude<DecisionInput, string>;
}

/** Whoever has lost on the way what they meant decides nothing. */
function lostIn(verb: Verb, field: string): UsageError {
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

/** What was decided, without who and when: two who decided the same decided this. */
export function decisionOf(input: DecisionInput): Json {
  const { type, ...rest } = checkedDecision(input);
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const json = toJson({ type, ...given });
  if (json.ok) return saidFully(json.value);
  throw new UsageError('not-json', { type }, `The decision is not JSON: ${json.problem}.`);
}

/** With what is meant where nothing is said: whoever says it and whoever does not decide the same. */
export function saidFully(decision: Json): Json {
  if (!isObject(decision)) return decision;
  const said = decision as JsonObject;
  if (said.type === 'restart' && said.resumed === undefined) return { ...said, resumed: true };
  return said.type === 'respond' && said.output === undefined ? { ...said, output: null } : said;
}

/** What a resumption decides, as it goes on record. */
export type Resumption = {
  /** On what waits, by the key of the question. */
  readonly decided: ReadonlyMap<string, { readonly card: PendingCard; readonly settlement: Signed }>;
  /** On what does not wait any more: which entry of `resume`, and the key of the question. */
  readonly late: readonly { readonly where: string; readonly key: string; readonly decision: DecisionInput }[];
};

/** A settlement without its time. */
type Signed = Omit<Settlement, 'at'>;

/**
 * What each decision of a resumption is about. Those that are about nothing are left out: `checkResume` says why. Throws for
 * one on a call that has not asked yet, as its gate still thinks: nobody knows what the question will be.
 */
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
  // What waited in a run that was ended is settled, too: with who ended it.
  const tooLate = [...faults.filter(({ stale }) => stale), ...(state.ended ? leaves : [])];
  const late = tooLate.flatMap(({ where }) => {
    const entry = entries.get(where);
    if (!entry) return [];
    const key = interruptKey(runId, interruptIdOf(entry.part) ?? idByRef(entry.part, state));
    return [{ where, key, decision: saidOf(entry, isEdit(entry.part)) as DecisionInput }];
  });
  return { decided: new Map(decided), late };
}

/** Where the model gave a call no ref of its own, the id of the call stands for it, and is not said again. */
function idByRef(part: DecisionPart, { turn }: State): string {
  const { ref } = 'toolRequest' in part ? part.toolRequest : part.toolResponse;
  const path = part.metadata?.path;
  const [outer] = Array.isArray(path) ? path : [];
  if (typeof outer !== 'string') return ref;
  const { id = outer } = turn?.calls.find((call) => call.ref === outer) ?? {};
  return `${id}.${ref}`;
}

/** The same decisions, signed by the caller, who knows who decides. Without a signature they stay as they are. */
export function signDecisions(decisions: Decisions, { by, channel, note }: DecisionOptions): Decisions {
  const signature = Object.fromEntries(Object.entries({ by, channel, note }).filter(([, said]) => said !== undefined));
  if (Object.keys(signature).length === 0) return decisions;
  const sign = (entry: DecisionEntry): DecisionEntry => {
    const { part, verb } = entry;
    // `matchDecisions` reports what is not a decision.
    if (!isObject(part)) return entry;
    const said = saidIn(part);
    const made = said.made ?? ('toolResponse' in part ? 'respond' : verb);
    return { ...entry, part: { ...part, metadata: { ...part.metadata, decision: { ...said, made, ...signature } } } };
  };
  return { ...decisions, entries: decisions.entries.map(sign) };
}

/** The same decisions without the entries named in `left`; undefined if nothing remains. */
export function withoutEntries(decisions: Decisions, left: ReadonlySet<string>): Decisions | undefined {
  const entries = decisions.entries.filter(({ where }) => !left.has(where));
  return entries.length > 0 || decisions.faults.length > 0 ? { ...decisions, entries } : undefined;
}

function settlementOf(entry: DecisionEntry, edited: boolean): Signed {
  const said = saidIn(entry.part);
  const text = (own: unknown) => (typeof own === 'string' ? own : null);
  const [by, channel, note] = [text(said.by), text(said.channel), text(said.note)];
  return checkDecider({ decision: saidOf(entry, edited), by, channel, note });
}

/** Nobody is to be taken for a deadline: a person of that name says through what they decide. */
export function checkDecider(signed: Signed): Signed {
  if (signed.by !== DEADLINE || signed.channel !== null) return signed;
  const message = `A decision by ${DEADLINE} without a channel is one that a deadline made. Pass the \`channel\` through which this person decides.`;
  throw new UsageError('invalid-options', { field: 'by' }, message);
}

/** What is said of the decision itself. An interrupt that is passed as one may tell of a decision before it. */
function saidIn(part: DecisionPart): Record<string, unknown> {
  const decision = isObject(part) ? part.metadata?.decision : undefined;
  return isObject(decision) && typeof decision.made === 'string' ? decision : {};
}

/** An interrupt that is passed as a decision may tell of an edit before it, beside the question that was decided then. */
function isEdit({ metadata = {} }: DecisionPart): boolean {
  return 'replacedInput' in metadata && !('resolvedInterrupt' in metadata);
}

function saidOf({ verb, part }: DecisionEntry, edited: boolean): Json {
  const said = saidIn(part);
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
