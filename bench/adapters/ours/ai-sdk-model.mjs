// Ours with an AI SDK provider model (specification version 4): the very mock that the ai-sdk adapter has.
import { DELTA } from '../../lib/plan.mjs';
import { create as base, meta as m } from './adapter.mjs';

export const meta = { ...m, id: 'ours:ai-sdk-model', label: 'Countersign (AI SDK model)', variantOf: 'ours' };
export const create = (options) => base(options, { modelFor: providerModel });

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const stop = (unified) => ({ unified, raw: undefined });

function providerModel({ plan, counts, n }) {
  return {
    specificationVersion: 'v4',
    provider: 'mock',
    modelId: 'mock',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      counts.model++;
      const out = plan.next(prompt[prompt.length - 1].role === 'tool');
      return out.calls
        ? {
            content: out.calls.map((c) => ({
              type: 'tool-call',
              toolCallId: c.id,
              toolName: c.name,
              input: JSON.stringify(c.args),
            })),
            finishReason: stop('tool-calls'),
            usage,
            warnings: [],
          }
        : { content: [{ type: 'text', text: out.text }], finishReason: stop('stop'), usage, warnings: [] };
    },
    async doStream() {
      let i = -2;
      return {
        stream: new ReadableStream({
          pull(c) {
            if (i === -2) c.enqueue({ type: 'stream-start', warnings: [] });
            else if (i === -1) c.enqueue({ type: 'text-start', id: '0' });
            else if (i < n) c.enqueue({ type: 'text-delta', id: '0', delta: DELTA });
            else if (i === n) c.enqueue({ type: 'text-end', id: '0' });
            else {
              c.enqueue({ type: 'finish', finishReason: stop('stop'), usage });
              c.close();
            }
            i++;
          },
        }),
      };
    },
  };
}
