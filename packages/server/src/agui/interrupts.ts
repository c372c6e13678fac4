// Requests as interrupts of AG-UI, and the answers to them as decisions.
import type { Interrupt } from '@ag-ui/core';
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import type { RequestCard } from 'countersign/ui';
import { DecideShape, noteShape, reasonShape } from '../schemas/decision.ts';
import type { ResumeEntry } from './input.ts';

export type Asked = z.output<typeof DecideShape>;

/** The id that clients send back names the request and the card that they showed. */
export const requestIdOf = ({ id, digest }: Pick<RequestCard, 'id' | 'digest'>): string => `${id}@${digest}`;

/** Undefined if it is not an id of ours. */
export function readRequestId(id: string): { readonly interruptId: string; readonly digest: string } | undefined {
  const at = id.lastIndexOf('@');
  return at > 0 && at < id.length - 1 ? { interruptId: id.slice(0, at), digest: id.slice(at + 1) } : undefined;
}

export function requestOf(card: RequestCard): Interrupt {
  const { tool, title, toolCallId, kind, payload, expiresAt } = card;
  const asked = (payload as { readonly message?: unknown } | null)?.message;
  const message = title ?? (typeof asked === 'string' ? asked : `${tool}: ${PROMPTS[kind]}`);
  return {
    id: requestIdOf(card),
    // Not `tool_call`: for that one, CopilotKit records the answer as the result of the call.
    reason: wantsAnswer(card) ? 'input_required' : `countersign:${kind}`,
    message,
    toolCallId,
    responseSchema: answerSchema(card),
    ...(expiresAt !== null && { expiresAt: new Date(expiresAt).toISOString() }),
    metadata: { countersign: card },
  };
}

const PROMPTS: Readonly<Record<RequestCard['kind'], string>> = {
  approval: 'approval needed',
  unavailable: 'approval needed',
  interrupt: 'a decision is needed',
  question: 'an answer is needed',
  doubt: 'it is unknown whether this ran',
  recall: 'approved, and can be recalled before it starts',
};

type AskedCard = Pick<RequestCard, 'id' | 'kind' | 'allows'>;

/** The model asks a question, or the body of a tool asks for an answer. */
function wantsAnswer({ kind, allows }: Omit<AskedCard, 'id'>): boolean {
  return kind === 'question' || (kind === 'interrupt' && !allows.includes('restart'));
}

/** `approved` alone never settles a doubt: there, an approval runs the call again. */
const isDoubt = ({ kind }: Pick<RequestCard, 'kind'>): boolean => kind === 'doubt';

function answerSchema(card: RequestCard): Record<string, unknown> {
  const { allows, answerSchema, inputSchema } = card;
  if (wantsAnswer(card)) return answerSchema ?? {};
  const note = { type: 'string', description: 'For other people; the model does not see it.' };
  if (!isDoubt(card))
    return {
      type: 'object',
      properties: {
        approved: { type: 'boolean' },
        ...(allows.includes('edit') && { editedArgs: inputSchema ?? {} }),
        reason: { type: 'string' },
        note,
      },
      required: ['approved'],
    };
  const choice = (type: string, fields: object = {}) => ({
    type: 'object',
    properties: { type: { const: type }, ...fields },
    required: ['type', ...Object.keys(fields)],
  });
  const output = { output: answerSchema ?? {} };
  const choices = allows.map((verb) => choice(verb, verb === 'respond' ? output : {}));
  return { type: 'object', properties: { decision: { anyOf: choices }, note }, required: ['decision'] };
}

const YesOrNoShape = z.strictObject({
  approved: z.boolean(),
  editedArgs: z.any().optional(),
  reason: reasonShape,
  note: noteShape,
});

/**
 * The decision that an entry makes. Undefined if it makes none: it was resolved without a payload. Throws
 * `invalid-decision` if the payload is not an answer to this request.
 */
export function decisionOf({ status, payload }: ResumeEntry, card: AskedCard): Omit<Asked, 'digest'> | undefined {
  if (status === 'cancelled') return { decision: { type: 'cancel' } };
  if (payload === undefined) return undefined;
  if (wantsAnswer(card)) return { decision: { type: 'respond', output: payload } };
  const isExplicit = typeof payload === 'object' && payload !== null && 'decision' in payload;
  if (isExplicit) return checked(DecideShape.omit({ digest: true }), payload, card.id);
  if (isDoubt(card)) throw invalid(card.id, 'it must be { decision }');
  const { approved, editedArgs, reason, note } = checked(YesOrNoShape, payload, card.id);
  const common = note === undefined ? {} : { note };
  if (!approved && editedArgs !== undefined) throw invalid(card.id, 'editedArgs needs approved: true');
  if (!approved) return { decision: { type: 'reject', ...(reason !== undefined && { reason }) }, ...common };
  return { decision: { type: 'approve', ...(editedArgs !== undefined && { edit: editedArgs }) }, ...common };
}

function checked<S extends z.ZodType>(shape: S, payload: unknown, interruptId: string): z.output<S> {
  const read = shape.safeParse(payload);
  if (read.success) return read.data;
  const faults = read.error.issues.map(({ path, message }) => [...path.map(String), message].join(': '));
  throw invalid(interruptId, faults.slice(0, 5).join('; '));
}

const invalid = (interruptId: string, why: string): UsageError =>
  new UsageError('invalid-decision', { interruptId }, `Invalid payload for ${interruptId}: ${why}.`);
