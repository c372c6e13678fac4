// Counts of tokens as people read them.
import type { Usage } from 'countersign/request';

type Total = Pick<Usage, 'totalTokens'>;

/** As in `1,234`; empty if no provider reported any, or if an older server does not say. */
export const totalTokens = (usage: Total | null | undefined): string =>
  usage ? usage.totalTokens.toLocaleString('en-US') : '';

/** As in `1,234 tokens`. */
export const tokensText = (usage: Total): string => `${totalTokens(usage)} token${usage.totalTokens === 1 ? '' : 's'}`;
