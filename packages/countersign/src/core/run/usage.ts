// Tokens: the counts that models report, checked and added up.
import { defined, isObject } from '../json.ts';

/** Tokens that were used. `totalTokens` is the provider's own total where it reports one. */
export type Usage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly reasoningTokens?: number;
  readonly cachedInputTokens?: number;
};

/** Reads counts from outside. Undefined unless input, output and total are whole numbers from 0 on. */
export function readUsage(given: unknown): Usage | undefined {
  if (!isObject(given)) return undefined;
  const inputTokens = tokenCount(given.inputTokens);
  const outputTokens = tokenCount(given.outputTokens);
  const totalTokens = tokenCount(given.totalTokens);
  if (inputTokens === undefined || outputTokens === undefined || totalTokens === undefined) return undefined;
  const reasoningTokens = tokenCount(given.reasoningTokens);
  const cachedInputTokens = tokenCount(given.cachedInputTokens);
  if (reasoningTokens === undefined && cachedInputTokens === undefined)
    return { inputTokens, outputTokens, totalTokens };
  return defined({ inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens });
}

export function tokenCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The sum of two counts; one may be unknown. */
export function addUsage(total: Usage | undefined, more: Usage | undefined): Usage | undefined {
  if (!total || !more) return total ?? more;
  const sum = {
    inputTokens: added(total.inputTokens, more.inputTokens),
    outputTokens: added(total.outputTokens, more.outputTokens),
    totalTokens: added(total.totalTokens, more.totalTokens),
  };
  const { reasoningTokens = more.reasoningTokens, cachedInputTokens = more.cachedInputTokens } = total;
  if (reasoningTokens === undefined && cachedInputTokens === undefined) return sum;
  return {
    ...sum,
    ...(reasoningTokens !== undefined && { reasoningTokens: added(total.reasoningTokens, more.reasoningTokens) }),
    ...(cachedInputTokens !== undefined && {
      cachedInputTokens: added(total.cachedInputTokens, more.cachedInputTokens),
    }),
  };
}

/** Whatever providers report, the sum is a whole number. */
function added(total = 0, more = 0): number {
  const sum = total + more;
  return Number.isSafeInteger(sum) ? sum : Number.MAX_SAFE_INTEGER;
}
