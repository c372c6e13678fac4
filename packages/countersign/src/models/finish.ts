// The finish reason and usage of a reply, in one shape for all versions of the specification.
import { defined, isObject } from '../core/json.ts';
import { tokenCount, type Usage } from '../core/run/usage.ts';
import type { ReplyFinish } from './model.ts';

export type Finish = { readonly finishReason: ReplyFinish; readonly finishMessage?: string; readonly usage?: Usage };

/** Reads the end of a reply: version 2 names the reason, later ones add the provider's own word for it. */
export function finishOf(reason: unknown, usage: unknown): Finish {
  const unified = isObject(reason) ? reason.unified : reason;
  const raw = isObject(reason) ? reason.raw : undefined;
  const finishReason = REASONS.get(String(unified)) ?? 'other';
  const expected = finishReason === 'stop' || finishReason === 'tool-calls';
  const counted = isObject(usage) ? usageOf(usage) : undefined;
  const finish = counted ? { finishReason, usage: counted } : { finishReason };
  return !expected && typeof raw === 'string' ? { ...finish, finishMessage: raw } : finish;
}

const REASONS: ReadonlyMap<string, ReplyFinish> = new Map([
  ['stop', 'stop'],
  ['tool-calls', 'tool-calls'],
  ['length', 'length'],
  ['content-filter', 'blocked'],
  ['error', 'error'],
  ['interrupted', 'cut-off'],
]);

/** Undefined if the provider counted nothing. */
function usageOf(usage: Record<string, unknown>): Usage | undefined {
  const input = isObject(usage.inputTokens) ? usage.inputTokens : NOTHING;
  const output = isObject(usage.outputTokens) ? usage.outputTokens : NOTHING;
  const inputTokens =
    tokenCount(usage.inputTokens) ?? tokenCount(input.total) ?? sum(input.noCache, input.cacheRead, input.cacheWrite);
  const outputTokens = tokenCount(usage.outputTokens) ?? tokenCount(output.total) ?? sum(output.text, output.reasoning);
  const totalTokens = tokenCount(usage.totalTokens) ?? sum(inputTokens, outputTokens);
  if (totalTokens === undefined) return undefined;
  const reasoningTokens = tokenCount(usage.reasoningTokens) ?? tokenCount(output.reasoning);
  const cachedInputTokens = tokenCount(usage.cachedInputTokens) ?? tokenCount(input.cacheRead);
  const counts = { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0, totalTokens };
  return reasoningTokens === undefined && cachedInputTokens === undefined
    ? counts
    : { ...counts, ...defined({ reasoningTokens, cachedInputTokens }) };
}

const NOTHING: Record<string, unknown> = {};

/** The sum of the valid counts; undefined if there are none. */
function sum(...values: readonly unknown[]): number | undefined {
  const counts = values.map(tokenCount).filter((value) => value !== undefined);
  return counts.length > 0 ? counts.reduce((total, value) => total + value) : undefined;
}
