// Tokens of a run or a reply: short on the page, exact in the title.
import type { Usage } from 'countersign/request';

/** As in `1,234`, `12.3k` and `4.5M`. */
export function shortCount(count: number): string {
  if (count < 10_000) return count.toLocaleString('en-US');
  return count < 999_950 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** As in `1,234 tokens: 1,000 input (800 cached), 234 output`. */
export function tokensText({ inputTokens, outputTokens, totalTokens, ...some }: Usage): string {
  const exact = (count: number) => count.toLocaleString('en-US');
  const part = (count: number | undefined, name: string) => (count ? ` (${exact(count)} ${name})` : '');
  const input = `${exact(inputTokens)} input${part(some.cachedInputTokens, 'cached')}`;
  const output = `${exact(outputTokens)} output${part(some.reasoningTokens, 'reasoning')}`;
  return `${exact(totalTokens)} ${totalTokens === 1 ? 'token' : 'tokens'}: ${input}, ${output}`;
}

/** The total of a run, as in `12.3k tokens`. The unit is left out where a column has it as its heading. */
export function Tokens({ usage, unitClass }: { readonly usage: Usage; readonly unitClass?: string }) {
  return (
    <span title={tokensText(usage)}>
      {shortCount(usage.totalTokens)}
      <span className={unitClass}> {usage.totalTokens === 1 ? 'token' : 'tokens'}</span>
    </span>
  );
}
