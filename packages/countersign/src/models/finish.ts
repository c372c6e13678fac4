// The finish reason and usage of a reply, in one shape for all versions of the specification.
import { isObject } from '../core/json.ts';
import type { ReplyFinish, Usage } from './model.ts';

export type Finish = { readonly finishReason: ReplyFinish; readonly finishMessage?: string; readonly usage?: Usage };

/** Reads the end of a reply: version 2 names the reason, later ones add the provider's own word for it. */
export function finishOf(reason: unknown, usage: unknown): Finish {
  const [unified, raw] = isObject(reason) ? [reason.unified, reason.raw] : [reason, undefined];
  const finishReason = REASONS.get(String(unified)) ?? 'other';
  const expected = finishReason === 'stop' || finishReason === 'tool-calls';
  return {
    finishReason,
    ...(!expected && typeof raw === 'string' && { finishMessage: raw }),
    ...(isObject(usage) && { usage: usageOf(usage) }),
  };
}

const REASONS: ReadonlyMap<string, ReplyFinish> = new Map([
  ['stop', 'stop'],
  ['tool-calls', 'tool-calls'],
  ['length', 'length'],
  ['content-filter', 'blocked'],
  ['error', 'error'],
  ['interrupted', 'cut-off'],
]);

function usageOf(usage: Record<string, unknown>): Usage {
  const input = isObject(usage.inputTokens) ? usage.inputTokens : {};
  const output = isObject(usage.outputTokens) ? usage.outputTokens : {};
  const inputTokens =
    count(usage.inputTokens) ?? count(input.total) ?? sum(input.noCache, input.cacheRead, input.cacheWrite);
  const outputTokens = count(usage.outputTokens) ?? count(output.total) ?? sum(output.text, output.reasoning);
  const reasoningTokens = count(usage.reasoningTokens) ?? count(output.reasoning);
  const cachedInputTokens = count(usage.cachedInputTokens) ?? count(input.cacheRead);
  return {
    inputTokens,
    outputTokens,
    totalTokens: count(usage.totalTokens) ?? inputTokens + outputTokens,
    ...(reasoningTokens !== undefined && { reasoningTokens }),
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
  };
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

const sum = (...values: readonly unknown[]): number =>
  values.reduce<number>((total, value) => total + (count(value) ?? 0), 0);
