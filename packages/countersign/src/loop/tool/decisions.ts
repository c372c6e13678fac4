// Decisions on interrupts as data, ready to be sent, saved and passed to `resume`.

import { UsageError } from '../../core/errors.ts';
import { defined, isObject } from '../../core/json.ts';
import {
  isToolRequest,
  type Metadata,
  type ToolRequestPart,
  type ToolResponsePart,
} from '../../core/messages/message.ts';
import { anything, checkOptions, type OptionTable, shown } from '../../core/options.ts';
import { requestIdOf } from '../../core/run/made.ts';
import type { DecisionPart, Verb } from '../../core/run/read-resume.ts';

/** The person and channel of a decision, with a note and metadata. */
export type DecisionOptions = {
  readonly by?: string;
  readonly channel?: string;
  readonly note?: string;
  readonly metadata?: unknown;
};

/** Answers the interrupt with `output` as the result of the call. The tool does not run. */
export function respond<Output>(
  interrupt: ToolRequestPart,
  output: Output,
  options: DecisionOptions = {},
): ToolResponsePart<Output> {
  const { name, ref } = requestOf(interrupt);
  checkOptions('`respond`', options, DECISION_OPTIONS);
  const metadata = {
    interruptResponse: options.metadata ?? true,
    ...address(interrupt),
    ...signed('respond', { ...options, metadata: undefined }),
  };
  return { toolResponse: { name, ref, output }, metadata };
}

/** Answers the interrupt, for `toolResponses`; the same as `respond`. */
export function toolResponse<Output>(
  interrupt: ToolRequestPart,
  output: Output,
  options?: DecisionOptions,
): ToolResponsePart<Output> {
  return respond(interrupt, output, options);
}

/** Runs the tool (again) and passes `resumed` to its body; `replaceInput` edits the input. */
export function restart<Input>(
  interrupt: ToolRequestPart<Input>,
  resumed: unknown = true,
  options: DecisionOptions & { readonly replaceInput?: Input } = {},
): ToolRequestPart<Input> {
  refuseLost('restart', options, 'replaceInput');
  return rerun(interrupt, options.replaceInput, { resumed, ...signed('restart', options) });
}

/** Lets the call run as proposed, or with an edited input. */
export function approve<Input>(
  interrupt: ToolRequestPart<Input>,
  options: DecisionOptions & { readonly edit?: Input } = {},
): ToolRequestPart<Input> {
  refuseLost('approve', options, 'edit');
  return rerun(interrupt, options.edit, signed('approve', options));
}

/** Refuses the call and tells the model, with the reason. */
export function reject(interrupt: ToolRequestPart, reason?: string, options: DecisionOptions = {}): ToolResponsePart {
  return refusal('reject', interrupt, reason, options);
}

/** Withdraws the request and tells the model. */
export function cancel(interrupt: ToolRequestPart, reason?: string, options: DecisionOptions = {}): ToolResponsePart {
  return refusal('cancel', interrupt, reason, options);
}

function refusal(
  verb: 'reject' | 'cancel',
  interrupt: ToolRequestPart,
  reason: string | undefined,
  options: DecisionOptions,
): ToolResponsePart {
  const { name, ref } = requestOf(interrupt);
  checkOptions(`\`${verb}\``, options, DECISION_OPTIONS);
  if (reason !== undefined && typeof reason !== 'string') {
    const message = `The reason to ${verb} ${name} (${ref}) must be a text.`;
    throw new UsageError('invalid-decision', { tool: name, ref }, message);
  }
  return {
    toolResponse: { name, ref, output: reason ?? null },
    metadata: { ...address(interrupt), ...signed(verb, options, reason) },
  };
}

const DECISION_OPTIONS: OptionTable<DecisionOptions> = {
  by: anything,
  channel: anything,
  note: anything,
  metadata: anything,
};

const EDIT_OPTIONS = {
  edit: { ...DECISION_OPTIONS, edit: anything },
  replaceInput: { ...DECISION_OPTIONS, replaceInput: anything },
};

/** An edit that was lost on the way must not let the call run unedited. */
function refuseLost(verb: 'approve' | 'restart', options: object, change: 'edit' | 'replaceInput'): void {
  checkOptions(verb === 'approve' ? '`approve`' : '`restart`', options, EDIT_OPTIONS[change]);
  if (change in options && (options as Record<string, unknown>)[change] === undefined)
    throw new UsageError('invalid-decision', { verb }, `\`${change}\` is undefined. Leave it out to change nothing.`);
}

function rerun<Input>(
  interrupt: ToolRequestPart<Input>,
  edit: Input | undefined,
  said: Metadata,
): ToolRequestPart<Input> {
  const { name, ref, input } = requestOf(interrupt);
  const { interrupt: payload, interruptKind, callId, pauses, path, round } = interrupt.metadata ?? {};
  // These say which request the decision was made on.
  const metadata = { ...defined({ interrupt: payload, interruptKind, callId, pauses, path, round }), ...said };
  return edit === undefined
    ? { toolRequest: { name, ref, input }, metadata }
    : { toolRequest: { name, ref, input: edit }, metadata: { ...metadata, replacedInput: input } };
}

function address(interrupt: ToolRequestPart): Metadata {
  const { path, round } = interrupt.metadata ?? {};
  return defined({ requestId: requestIdOf(interrupt), path, round });
}

function signed(made: Verb, { by, channel, note, metadata }: DecisionOptions, reason?: string): Metadata {
  return { decision: defined({ made, by, channel, note, reason, metadata }) };
}

export function requestOf(interrupt: DecisionPart): ToolRequestPart['toolRequest'] {
  if (isObject(interrupt) && isToolRequest(interrupt)) return interrupt.toolRequest;
  const message = `A decision is made on an interrupt of response.interrupts, not on ${foundInstead(interrupt)}.`;
  throw new UsageError('invalid-decision', { given: typeof interrupt }, message);
}

function foundInstead(given: unknown): string {
  if (Array.isArray(given)) return 'a list: decide each of them';
  if (isObject(given) && 'part' in given) return 'a card of a store: pass its `part`, or decide it with runs.decide';
  return shown(given);
}
