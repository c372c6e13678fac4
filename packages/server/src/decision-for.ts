// The decision that a verb and what the person entered make, for doors where people pick a verb.
import type { DecisionInput } from 'countersign';
import { defined } from './defined.ts';

export type DecisionVerb = 'approve' | 'edit' | 'respond' | 'restart' | 'reject' | 'revise' | 'cancel';

/** `value` is the whole new input, the answer, what a restart continues with, or the changes that are asked for. */
export function decisionFor(
  verb: DecisionVerb,
  { value, reason }: { readonly value?: unknown; readonly reason?: string | undefined } = {},
): DecisionInput {
  switch (verb) {
    case 'approve':
      return { type: 'approve' };
    case 'edit':
      return { type: 'approve', edit: value };
    case 'respond':
      return { type: 'respond', output: value };
    case 'restart':
      return { type: 'restart', resumed: value };
    case 'revise':
      return { type: 'revise', comment: value as string };
    case 'reject':
    case 'cancel':
      return { type: verb, ...defined({ reason }) };
  }
}
