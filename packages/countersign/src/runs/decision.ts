// Decisions on stored questions, as callers say them.
import { type DecisionPart, interruptIdOf, type Resume, VERBS, type Verb } from '../core/decide.ts';
import { UsageError } from '../core/errors.ts';
import { isObject, type Json, toJson } from '../core/json.ts';
import type { ToolRequestPart } from '../core/message.ts';
import { approve, cancel, type DecisionOptions, reject, respond, restart } from '../loop/decisions.ts';
import { interruptKey } from './card.ts';

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
  const decision = typeof input === 'string' ? { type: input } : input;
  const { by, channel, note } = options;
  const signed = {
    ...(by !== undefined && { by }),
    ...(channel !== undefined && { channel }),
    ...(note !== undefined && { note }),
  };
  switch (decision?.type) {
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
    default:
      throw new UsageError(
        'invalid-decision',
        { decision: (decision as { type?: unknown })?.type },
        'A decision has the type approve, reject, cancel, respond or restart.',
      );
  }
}

/** What was decided, without who and when: two who decided the same decided this. */
export function decisionOf(input: DecisionInput): Json {
  const { type, ...rest } = typeof input === 'string' ? { type: input } : input;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const json = toJson({ type, ...given });
  if (json.ok) return json.value;
  throw new UsageError('not-json', { type }, `The decision is not JSON: ${json.problem}.`);
}

/** What a resumption of several questions puts on record for each of them. */
export function resumeSettlements(
  runId: string,
  resume: Resume,
  { by, channel, note }: DecisionOptions,
): readonly (readonly [key: string, settlement: { readonly [key: string]: Json }])[] {
  return VERBS.flatMap((verb) =>
    [resume[verb] ?? []].flat().map((part) => {
      const { ref } = 'toolRequest' in part ? part.toolRequest : part.toolResponse;
      const said = isObject(part.metadata?.decision) ? part.metadata.decision : {};
      const text = (given: string | undefined, own: unknown) => given ?? (typeof own === 'string' ? own : null);
      return [
        interruptKey(runId, interruptIdOf(part) ?? ref),
        {
          decision: saidOf(verb, part, said),
          by: text(by, said.by),
          channel: text(channel, said.channel),
          note: text(note, said.note),
        },
      ] as const;
    }),
  );
}

function saidOf(verb: Verb, part: DecisionPart, said: Record<string, unknown>): Json {
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
