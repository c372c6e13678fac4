// Decisions on stored requests: how callers write them, as a typed value, and as they are recorded.
import type { Vote } from '../../core/authority/policy.ts';
import type { RuleMatch } from '../../core/authority/rule.ts';
import { UsageError } from '../../core/errors.ts';
import { defined, isObject, type Json, toJson } from '../../core/json.ts';
import { LONGEST_COMMENT } from '../../core/request/comment.ts';
import { DEADLINE, type PersonDecision } from '../../core/run/event.ts';
import { VERBS as RESUME_VERBS } from '../../core/run/read-resume.ts';

/** `revise` needs a record, so a resumption without a store has no such decision. */
const VERBS = [...RESUME_VERBS, 'revise'] as const;
type Verb = (typeof VERBS)[number];

/** A person's decision. `edit` and `replaceInput` change the input that runs. */
export type DecisionInput<Input = unknown, Output = unknown> =
  | 'approve'
  | 'reject'
  | 'cancel'
  | { readonly type: 'approve'; readonly edit?: Input }
  | { readonly type: 'reject'; readonly reason?: string }
  | { readonly type: 'cancel'; readonly reason?: string }
  /** Asks for changes: the call does not run, and the model or the program that asked gets the comment. */
  | { readonly type: 'revise'; readonly comment: string }
  | { readonly type: 'respond'; readonly output: Output }
  | { readonly type: 'restart'; readonly resumed?: unknown; readonly replaceInput?: Input };

/** The recorded decision on a request. */
export type Settlement = {
  readonly decision: Json;
  readonly by: string | null;
  readonly channel: string | null;
  readonly note: string | null;
  readonly at: number;
  /** How long the person had the card in view, if their channel reports it. */
  readonly seenForMs?: number;
  /** The votes that counted, where the request has a policy. */
  readonly votes?: readonly Vote[];
  /** The headline of the call with the input that the person gave it, if they edited it. */
  readonly title?: string;
};

/** The record of a request without a decision: its run was cancelled, a message came instead, or its call reported a result. */
export type Withdrawal = {
  readonly withdrawn: true;
  readonly decision?: undefined;
  readonly by?: string | null;
  readonly channel?: undefined;
  readonly note?: string | null;
  readonly at: number;
};

/** The record of a call that a grant or a rule let run without a request. No person decided it: `by` gave the grant. */
export type UnaskedCall = {
  readonly granted:
    | { readonly id: string; readonly amount?: number; readonly rule?: undefined }
    | { readonly rule: RuleMatch; readonly id?: undefined };
  readonly decision?: undefined;
  readonly by: string | null;
  readonly channel?: undefined;
  readonly note?: undefined;
  readonly at: number;
};

/** The record of a call that ran unasked, and that a rule would have asked about. `why`: what the rules say. */
export type ObservedCall = Omit<UnaskedCall, 'granted'> & { readonly observed: { readonly why: readonly string[] } };

/** How a row of the history came to its end. */
export type Ending = Settlement | Withdrawal | UnaskedCall | ObservedCall;

/** Nobody was asked about the call: a grant or a rule let it run, or a rule only observed it. */
export const isUnasked = (settlement: Ending | null): settlement is UnaskedCall | ObservedCall =>
  settlement !== null && ('granted' in settlement || 'observed' in settlement);

/** The grant or rule that let a call run without a request; undefined for a request. */
export const grantedIn = (settlement: Ending | null): UnaskedCall['granted'] | undefined =>
  settlement && 'granted' in settlement ? settlement.granted : undefined;

/** The person, the channel and the note of a decision. */
type Signature = { readonly by?: string | null; readonly channel?: string | null; readonly note?: string | null };

/** The decision as a typed value, copied, so that later changes have no effect. Throws if it is not valid JSON of a known type. */
export function decisionFrom(input: DecisionInput, signature: Signature = {}): PersonDecision {
  const said = checkedFields(input);
  const json = (field: string): Json => {
    const value = toJson(said[field]);
    if (value.ok) return value.value;
    throw new UsageError('not-json', { type: said.type }, `The decision is not JSON: ${field}: ${value.problem}.`);
  };
  const signed = signatureOf(signature);
  const type = said.type as Verb;
  switch (type) {
    case 'respond':
      return { type, output: json('output'), ...signed };
    case 'restart': {
      const resumed = said.resumed === undefined ? true : json('resumed');
      return { type, resumed, ...('replaceInput' in said && { input: json('replaceInput') }), ...signed };
    }
    case 'approve':
      return { type, ...('edit' in said && { input: json('edit') }), ...signed };
    case 'reject':
    case 'cancel': {
      const { reason } = said;
      if (reason !== undefined && typeof reason !== 'string')
        throw new UsageError('invalid-decision', { decision: type }, `The reason to ${type} must be a text.`);
      return { type, ...defined({ reason }), ...signed };
    }
    case 'revise':
      return { type, comment: commentIn(said.comment), ...signed };
  }
}

function commentIn(comment: unknown): string {
  if (typeof comment === 'string' && comment.trim() !== '' && comment.length <= LONGEST_COMMENT) return comment;
  const message = `To ask for changes, say which: the comment must be a text of 1 to ${LONGEST_COMMENT} characters.`;
  throw new UsageError('invalid-decision', { decision: 'revise' }, message);
}

/** Callers without types, and those that forward requests, may pass anything. Inherited fields count as well. */
function checkedFields(input: DecisionInput): Readonly<Record<string, unknown>> {
  const decision: unknown = typeof input === 'string' ? { type: input } : input;
  const type = isObject(decision) ? decision.type : undefined;
  const verb = VERBS.find((known) => known === type);
  if (!isObject(decision) || !verb)
    throw new UsageError(
      'invalid-decision',
      { decision: type },
      "A decision has the type approve, reject, revise, cancel, respond or restart: write 'approve', or { type: 'respond', output }.",
    );
  const inherited = Object.values(FIELDS).flat();
  const given = new Set([...Object.keys(decision), ...inherited.filter((field) => field in decision)]);
  const odd = [...given].filter((field) => !FIELDS[verb].includes(field));
  // To ignore a misnamed field, such as `input` for `edit`, would run the input that the caller meant to change.
  const message = `A decision of the type ${verb} has no ${odd.join(', ')}: only ${FIELDS[verb].join(', ')}.`;
  if (odd.length > 0) throw new UsageError('invalid-decision', { decision: verb, fields: odd }, message);
  const lost = verb === 'respond' ? 'output' : verb === 'restart' ? 'replaceInput' : 'edit';
  if (decision[lost] === undefined && (verb === 'respond' || lost in decision)) throw undefinedValue(verb, lost);
  if (isConversation(decision.resumed)) throw handsOver();
  return decision;
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
  revise: ['type', 'comment'],
  respond: ['type', 'output'],
  restart: ['type', 'resumed', 'replaceInput'],
};

/** Null says nothing, as in a record. */
export function signatureOf({ by, channel, note }: Signature): Pick<PersonDecision, 'by' | 'channel' | 'note'> {
  return defined({ by: by ?? undefined, channel: channel ?? undefined, note: note ?? undefined });
}

/** The decision as a person wrote it: `{ type: 'approve', edit }`, without who and when. Two decisions are compared by it. */
export function saidIn(decision: PersonDecision): Json {
  const { type } = decision;
  switch (decision.type) {
    case 'respond':
      return { type, output: decision.output };
    case 'restart':
      return { type, resumed: decision.resumed, ...defined({ replaceInput: decision.input }) };
    case 'approve':
      return { type, ...defined({ edit: decision.input }) };
    case 'reject':
    case 'cancel':
      return { type, ...defined({ reason: decision.reason }) };
    case 'revise':
      return { type, comment: decision.comment };
  }
}

/** A settlement without its time. A person named like the deadline must pass a channel, so that the two cannot be confused. */
export function settlementOf(decision: PersonDecision): Pick<Settlement, 'decision' | 'by' | 'channel' | 'note'> {
  const { by = null, channel = null, note = null } = decision;
  if (by !== DEADLINE || channel !== null) return { decision: saidIn(decision), by, channel, note };
  const message = `A decision by ${DEADLINE} without a channel is one that a deadline made. Pass the \`channel\` through which this person decides.`;
  throw new UsageError('invalid-options', { field: 'by' }, message);
}
