// Decisions on stored questions, as callers say them.
import { type DecisionPart, interruptIdOf, matchDecisions, type Resume, VERBS, type Verb } from '../core/decide.ts';
import { UsageError } from '../core/errors.ts';
import { refsOf } from '../core/inside.ts';
import { isObject, type Json, toJson } from '../core/json.ts';
import type { ToolRequestPart } from '../core/message.ts';
import type { State } from '../core/state.ts';
import { approve, cancel, type DecisionOptions, reject, respond, restart } from '../loop/decisions.ts';
import { interruptKey, type PendingCard, pendingCards } from './card.ts';

/** What a person decided. `edit` and `replaceInput` change the input that runs. */
export type DecisionInput =
  | 'approve'
  | 'reject'
  | 'cancel'
  | { readonly type: 'approve'; readonly edit?: unknown }
  | { readonly type: 'reject'; readonly reason?: string }
  | { readonly type: 'cancel'; readonly reason?: string }
  | { readonly type: 'respond'; readonly output: unknown }
  | { readonly type: 'restart'; readonly resumed?: unknown; readonly replaceInput?: unknown };

/** What is on record about a settled question. */
export type Settlement = {
  readonly decision: Json;
  readonly by: string | null;
  readonly channel: string | null;
  readonly note: string | null;
  readonly at: number;
};

/** The decision as `resume` takes it. */
export function decisionPart(
  part: ToolRequestPart,
  input: DecisionInput,
  options: DecisionOptions,
): { readonly verb: Verb; readonly part: DecisionPart } {
  const decision = checkedDecision(input);
  const { by, channel, note } = options;
  const signed = {
    ...(by !== undefined && { by }),
    ...(channel !== undefined && { channel }),
    ...(note !== undefined && { note }),
  };
  switch (decision.type) {
    case 'approve': {
      const edit = 'edit' in decision && decision.edit !== undefined ? { edit: decision.edit } : {};
      return { verb: 'approve', part: approve(part, { ...signed, ...edit }) };
    }
    case 'reject':
    case 'cancel': {
      const reason = 'reason' in decision ? decision.reason : undefined;
      return { verb: decision.type, part: (decision.type === 'reject' ? reject : cancel)(part, reason, signed) };
    }
    case 'respond':
      return { verb: 'respond', part: respond(part, decision.output, signed) };
    case 'restart': {
      const replaceInput = decision.replaceInput === undefined ? {} : { replaceInput: decision.replaceInput };
      return { verb: 'restart', part: restart(part, decision.resumed, { ...signed, ...replaceInput }) };
    }
  }
}

/** Callers without types, and those who pass on what they were sent, may give anything. */
function checkedDecision(input: DecisionInput): Exclude<DecisionInput, string> {
  const decision: unknown = typeof input === 'string' ? { type: input } : input;
  const type = isObject(decision) ? decision.type : undefined;
  if ((VERBS as readonly unknown[]).includes(type)) return decision as Exclude<DecisionInput, string>;
  throw new UsageError(
    'invalid-decision',
    { decision: type },
    "A decision has the type approve, reject, cancel, respond or restart: write 'approve', or { type: 'respond', output }.",
  );
}

/** What was decided, without who and when: two who decided the same decided this. */
export function decisionOf(input: DecisionInput): Json {
  const { type, ...rest } = checkedDecision(input);
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const json = toJson({ type, ...given });
  if (json.ok) return json.value;
  throw new UsageError('not-json', { type }, `The decision is not JSON: ${json.problem}.`);
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

/** What each decision of a resumption is about. Those that are about nothing are left out: `checkResume` says why. */
export function resumptionOf(runId: string, state: State, resume: Resume, options: DecisionOptions): Resumption {
  const { leaves, faults } = matchDecisions(state.turn, resume, (ref) => state.refs.has(ref));
  const cards = new Map([...pendingCards(runId, state)].map(([key, card]) => [refsOf(card.part), { key, card }]));
  const entries = entriesOf(resume);
  const decided = leaves.flatMap(({ where, path, call }) => {
    const entry = entries.get(where);
    const found = cards.get(JSON.stringify([...path, call].map(({ ref }) => ref)));
    if (!entry || !found) return [];
    return [[found.key, { card: found.card, settlement: settlementOf(entry, options) }] as const];
  });
  const late = faults.flatMap(({ where, stale }) => {
    const entry = stale && entries.get(where);
    const id = entry && interruptIdOf(entry.part);
    if (!entry || id === undefined) return [];
    return [{ where, key: interruptKey(runId, id), decision: saidOf(entry) as DecisionInput }];
  });
  return { decided: new Map(decided), late };
}

/** The same resumption without some of its entries; undefined if nothing is left. */
export function withoutEntries(resume: Resume, left: ReadonlySet<string>): Resume | undefined {
  const kept = [...entriesOf(resume)].filter(([where]) => !left.has(where));
  if (kept.length === 0) return undefined;
  const parts = (verb: Verb) => kept.flatMap(([, entry]) => (entry.verb === verb ? [entry.part] : []));
  const { metadata } = resume;
  return { ...(metadata && { metadata }), ...Object.fromEntries(VERBS.map((verb) => [verb, parts(verb)])) };
}

type Entry = { readonly verb: Verb; readonly part: DecisionPart };

/** By the names that `matchDecisions` gives them. */
function entriesOf(resume: Resume): ReadonlyMap<string, Entry> {
  const all = VERBS.flatMap((verb) =>
    [resume[verb] ?? []].flat().map((part, index) => [`${verb}[${index}]`, { verb, part }] as const),
  );
  return new Map(all);
}

function settlementOf(entry: Entry, { by, channel, note }: DecisionOptions): Signed {
  const said = saidIn(entry.part);
  const text = (given: string | undefined, own: unknown) => given ?? (typeof own === 'string' ? own : null);
  return {
    decision: saidOf(entry),
    by: text(by, said.by),
    channel: text(channel, said.channel),
    note: text(note, said.note),
  };
}

const saidIn = ({ metadata }: DecisionPart): Record<string, unknown> =>
  isObject(metadata?.decision) ? metadata.decision : {};

function saidOf({ verb, part }: Entry): Json {
  const said = saidIn(part);
  const edited = 'toolRequest' in part && part.metadata !== undefined && 'replacedInput' in part.metadata;
  switch (verb) {
    case 'respond':
      return decisionOf({ type: verb, output: 'toolResponse' in part ? part.toolResponse.output : null });
    case 'restart':
      return decisionOf({
        type: verb,
        resumed: part.metadata?.resumed,
        ...(edited && { replaceInput: part.toolRequest.input }),
      });
    case 'approve':
      return decisionOf({ type: verb, ...(edited && { edit: part.toolRequest.input }) });
    case 'reject':
    case 'cancel':
      return decisionOf({ type: verb, ...(typeof said.reason === 'string' && { reason: said.reason }) });
  }
}
