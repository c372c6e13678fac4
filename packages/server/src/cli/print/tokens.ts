// Counts of tokens as people read them.
import type { Usage } from 'countersign/request';

type Total = Pick<Usage, 'totalTokens'>;

/** As in `1,234`; empty if no provider reported any. */
export const totalTokens = (usage: Total | null): string => (usage ? usage.totalTokens.toLocaleString('en-US') : '');

/** As in `1,234 tokens`. */
export const tokensText = (usage: Total): string => `${totalTokens(usage)} token${usage.totalTokens === 1 ? '' : 's'}`;
