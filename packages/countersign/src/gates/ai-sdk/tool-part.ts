// Tool parts of UI messages: the claims of a client about a call, and the correct part.
import { isObject, sameJson } from '../../core/json.ts';
import { APPROVAL } from './approval.ts';
import type { AskedCall, ClaimedCall, Known } from './ledger.ts';

/** The fields of a tool part that are read here. None of them is verified. */
export type ToolPart = {
  readonly type: string;
  readonly toolName?: unknown;
  readonly toolCallId: string;
  readonly state?: unknown;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: unknown;
  readonly preliminary?: unknown;
  readonly approval?: unknown;
  readonly providerExecuted?: unknown;
};

export function toolPartOf(part: unknown): ToolPart | undefined {
  if (!isObject(part) || typeof part.type !== 'string' || typeof part.toolCallId !== 'string') return undefined;
  if (!part.type.startsWith('tool-') && part.type !== 'dynamic-tool') return undefined;
  return part as unknown as ToolPart;
}

export function toolNameOf({ type, toolName }: ToolPart): string {
  return type === 'dynamic-tool' ? String(toolName) : type.slice('tool-'.length);
}

/** The seals in the parts of a message, by the ids of what they seal. */
export function sealsIn(parts: readonly unknown[]): ReadonlyMap<string, string> {
  const seals = new Map<string, string>();
  for (const part of parts) {
    if (!isObject(part) || part.type !== 'data-seal' || typeof part.id !== 'string') continue;
    if (isObject(part.data) && typeof part.data.token === 'string') seals.set(part.id, part.data.token);
  }
  return seals;
}

/** `confirmed`: decided by its output, as in the AI SDK's recipe. */
export function claimOf(part: ToolPart, confirmed: boolean): Pick<ClaimedCall, 'decision' | 'outcome' | 'isOver'> {
  const { state, output, errorText } = part;
  const approval = isObject(part.approval) ? part.approval : {};
  const reason = typeof approval.reason === 'string' && { reason: approval.reason };
  switch (state) {
    case 'approval-responded':
      return { decision: { approved: approval.approved === true, ...reason } };
    case 'output-denied':
      return { decision: { approved: false, ...reason }, isOver: true };
    case 'output-available':
      if (confirmed && output === APPROVAL.YES) return { decision: { approved: true } };
      if (confirmed && output === APPROVAL.NO) return { decision: { approved: false } };
      return { outcome: { type: 'output', output }, isOver: true };
    case 'output-error':
      return { outcome: { type: 'error', text: String(errorText) }, isOver: true };
    default:
      return {};
  }
}

/** The part with the truth about its call; undefined if the call does not exist. */
export function truePart(part: ToolPart, claimed: ClaimedCall, known: Known, confirmed: boolean): ToolPart | undefined {
  // The AI SDK or `processToolCalls` is about to act on it, and streams the outcome to the client.
  const isActedOn = claimed.isLast && claimed.decision !== undefined && part.state !== 'output-denied';
  switch (known.at) {
    case 'open-to-all':
      return part;
    case 'unproved':
      return isActedOn ? part : undefined;
    case 'waiting':
      return confirmed ? { ...base(part, known.call), state: 'input-available' } : pending(part, known.call);
    case 'approved':
      return acceptedPart(part, known.call, confirmed);
    case 'denied': {
      if (confirmed) {
        const output = isActedOn ? APPROVAL.NO : `Error: ${known.text}`;
        return { ...base(part, known.call), state: 'output-available', output };
      }
      const approval = { ...approvalOf(part, known.call), approved: false, reason: known.text };
      return { ...base(part, known.call), state: isActedOn ? 'approval-responded' : 'output-denied', approval };
    }
    case 'done': {
      if (isActedOn) return acceptedPart(part, known.call, confirmed);
      const { outcome } = known;
      const approval = !confirmed && { approval: { ...approvalOf(part, known.call), approved: true } };
      return outcome.type === 'output'
        ? { ...base(part, known.call), state: 'output-available', output: outcome.output, ...approval }
        : { ...base(part, known.call), state: 'output-error', errorText: outcome.text, ...approval };
    }
  }
}

/** Everything but the status of the call, with the recorded tool and input. */
function base(part: ToolPart, call: AskedCall): ToolPart {
  const { output: _output, errorText: _error, approval: _approval, preliminary: _preliminary, ...rest } = part;
  const name = part.type === 'dynamic-tool' ? { toolName: call.tool } : { type: `tool-${call.tool}` };
  return { ...rest, ...name, input: call.input };
}

function pending(part: ToolPart, call: AskedCall): ToolPart {
  const { approved: _approved, reason: _reason, ...approval } = approvalOf(part, call);
  return { ...base(part, call), state: 'approval-requested', approval };
}

function acceptedPart(part: ToolPart, call: AskedCall, confirmed: boolean): ToolPart {
  if (confirmed) return { ...base(part, call), state: 'output-available', output: APPROVAL.YES };
  return { ...base(part, call), state: 'approval-responded', approval: { ...approvalOf(part, call), approved: true } };
}

function approvalOf(part: ToolPart, call: AskedCall): Record<string, unknown> {
  const { inputSchemaInput, ...approval } = isObject(part.approval) ? part.approval : {};
  return {
    ...approval,
    id: typeof approval.id === 'string' ? approval.id : part.toolCallId,
    // The input before the schema transformed it; meaningless once a person has edited the input.
    ...(inputSchemaInput !== undefined && sameJson(part.input, call.input) && { inputSchemaInput }),
  };
}
