// What a person can do on the page of a link, and what only the inbox can show.
import { type Form, formOf } from 'countersign/request';
import { filesOn } from '../preview-files.ts';
import type { ApiRequest } from '../schemas/request.ts';

/** A decision that the page offers. */
export type Offer =
  | { readonly verb: 'approve' | 'revise' | 'reject' | 'cancel' }
  | { readonly verb: 'edit' | 'respond'; readonly form: Form };

/** These ask for a text where they are confirmed. */
export const asksWhy = (verb: Offer['verb']): verb is 'revise' | 'reject' | 'cancel' =>
  verb === 'revise' || verb === 'reject' || verb === 'cancel';

export type Offers = {
  readonly offers: readonly Offer[];
  /** Why the inbox is needed for other decisions, or for all of them. */
  readonly elsewhere: string | undefined;
  /** Whether the page shows the request. It is never shortened. */
  readonly isShown: boolean;
};

/** Longer requests are not shown on the page, and a request that is not shown is not decided there. */
const MOST_CHARACTERS = 50_000;

export function offersOf(card: ApiRequest): Offers {
  if (sizeOf(card) > MOST_CHARACTERS) return { offers: [], elsewhere: TOO_LARGE, isShown: false };
  if (card.policies.some(({ signed }) => signed)) return { offers: [], elsewhere: SIGNED, isShown: true };
  if (filesOn(card).length > 0) return { offers: [], elsewhere: FILES, isShown: true };
  const { allows } = card;
  const edit = allows.includes('edit') && allows.includes('approve') ? formOf(card.inputSchema, card.input) : undefined;
  const answer = allows.includes('respond') ? formOf(card.answerSchema) : undefined;
  const isMissing =
    (allows.includes('edit') && !edit) || (allows.includes('respond') && !answer) || allows.includes('restart');
  return {
    offers: [
      ...(answer ? [{ verb: 'respond', form: answer } as const] : []),
      ...(allows.includes('approve') ? [{ verb: 'approve' } as const] : []),
      ...(edit ? [{ verb: 'edit', form: edit } as const] : []),
      ...(allows.includes('revise') ? [{ verb: 'revise' } as const] : []),
      ...(allows.includes('reject') ? [{ verb: 'reject' } as const] : []),
      ...(allows.includes('cancel') ? [{ verb: 'cancel' } as const] : []),
    ],
    elsewhere: isMissing ? MORE : undefined,
    isShown: true,
  };
}

const TOO_LARGE = 'This request is too large for this page. Read all of it in the inbox and decide there.';
const SIGNED = 'This request is decided with a passkey. Sign your decision in the inbox.';
const FILES = 'This request has files, which the inbox shows. Look at them and decide there.';
const MORE = 'The inbox has more ways to decide this request, which this page cannot show.';

const sizeOf = ({
  title,
  tool,
  agentReason,
  input,
  payload,
  preview,
  earlierPreview,
  previous,
  reviews,
  origins,
  policies,
  progress,
  labels,
}: ApiRequest): number =>
  JSON.stringify([
    title,
    tool,
    agentReason,
    input,
    payload,
    preview,
    earlierPreview,
    previous,
    reviews,
    origins,
    policies,
    progress,
    labels,
  ]).length;
