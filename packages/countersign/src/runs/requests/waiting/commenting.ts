// Comments on pending requests.

import { aString, type OptionKind, type OptionTable } from '../../../core/options.ts';
import { LONGEST_COMMENT, mentionsIn } from '../../../core/request/comment.ts';
import { event } from '../../../core/run/event.ts';
import type { Drives } from '../../driving/driving.ts';
import { recordOn } from '../recording.ts';

/** Options of `runs.comment`. */
export type CommentOptions = {
  /** At most 2,000 characters. `@ann` names a person, who is told. */
  readonly text: string;
  /** Who comments. */
  readonly by: string;
};

const aComment: OptionKind = {
  is: `a text of 1 to ${LONGEST_COMMENT} characters`,
  fits: (value) => typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST_COMMENT,
};

export const COMMENT_OPTIONS: OptionTable<CommentOptions> = {
  text: { ...aComment, required: true },
  by: { ...aString, required: true },
};

/** Resolves once it is recorded. */
export function comment(drives: Drives, requestId: string, { text, by }: CommentOptions): Promise<void> {
  const mentions = mentionsIn(text);
  return recordOn(drives, requestId, 'message', async ({ id }) =>
    event({ type: 'request-commented', requestId: id, by, text, ...(mentions.length > 0 && { mentions }) }),
  );
}
