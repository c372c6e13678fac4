// A stand-in or scripted model as a language model of the AI SDK: for `streamText` and `generateText` without a key.
import type { Message, Part } from '../core/messages/message.ts';
import type { Model, ModelReply, ModelRequest } from '../models/model.ts';

/** A `LanguageModelV3`, which `ai` 6 and 7 take. */
export type TestLanguageModel = {
  readonly specificationVersion: 'v3';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  doGenerate(options: CallOptions): Promise<Finish & { content: Content[]; warnings: [] }>;
  doStream(options: CallOptions): Promise<{ stream: ReadableStream<StreamPart> }>;
};

/** What the AI SDK asks, as far as these models read it. */
type CallOptions = {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly type: string; readonly name: string }[];
  readonly toolChoice?: { readonly type: string; readonly toolName?: string };
  readonly responseFormat?: { readonly type: string; readonly schema?: object };
  readonly abortSignal?: AbortSignal;
};
type Content = { type: 'text'; text: string } | ToolCall;
type ToolCall = { type: 'tool-call'; toolCallId: string; toolName: string; input: string };
type Finish = {
  finishReason: { unified: 'stop' | 'tool-calls' | 'length' | 'other'; raw: string };
  usage: {
    inputTokens: { total: number | undefined; noCache: undefined; cacheRead: undefined; cacheWrite: undefined };
    outputTokens: { total: number | undefined; text: undefined; reasoning: undefined };
  };
};
type StreamPart =
  | { type: 'stream-start'; warnings: [] }
  | { type: 'text-start' | 'text-end' | 'tool-input-end'; id: string }
  | { type: 'text-delta' | 'tool-input-delta'; id: string; delta: string }
  | { type: 'tool-input-start'; id: string; toolName: string }
  | ToolCall
  | ({ type: 'finish' } & Finish);

/**
 * Makes a language model of the AI SDK from a stand-in or a scripted model. It passes on text, calls and results, and no files.
 * @example
 * const result = streamText({ model: asLanguageModel(standInModel()), prompt: 'Pay ACME 950', tools });
 */
export function asLanguageModel(model: Model): TestLanguageModel {
  return {
    specificationVersion: 'v3',
    provider: 'countersign',
    modelId: model.name,
    supportedUrls: {},
    async doGenerate(options) {
      const reply = await model.reply(requestOf(options));
      return { content: contentOf(reply, newIds()), ...finishOf(reply), warnings: [] };
    },
    async doStream(options) {
      const start = async (out: ReadableStreamDefaultController<StreamPart>) => {
        out.enqueue({ type: 'stream-start', warnings: [] });
        const ids = newIds();
        const opened = new Set<string>();
        const reply = await model.reply(requestOf(options), (chunk) => {
          if (chunk.type === 'reasoning') return;
          const id = chunk.type === 'text' ? TEXT : ids(chunk.ref);
          if (!opened.has(id))
            out.enqueue(
              chunk.type === 'text'
                ? { type: 'text-start', id }
                : { type: 'tool-input-start', id, toolName: chunk.name },
            );
          opened.add(id);
          if (chunk.type === 'text') out.enqueue({ type: 'text-delta', id, delta: chunk.text });
          else out.enqueue({ type: 'tool-input-delta', id, delta: chunk.delta });
        });
        if (opened.has(TEXT)) out.enqueue({ type: 'text-end', id: TEXT });
        for (const part of contentOf(reply, ids)) {
          if (part.type !== 'tool-call') continue;
          if (opened.has(part.toolCallId)) out.enqueue({ type: 'tool-input-end', id: part.toolCallId });
          out.enqueue(part);
        }
        out.enqueue({ type: 'finish', ...finishOf(reply) });
        out.close();
      };
      return { stream: new ReadableStream({ start }) };
    },
  };
}

/** The id of the text of a reply. */
const TEXT = 'text';

/** Gives each ref of a reply an id that no other reply has. */
function newIds(): (ref: string) => string {
  const ids = new Map<string, string>();
  return (ref) => ids.get(ref) ?? (ids.set(ref, crypto.randomUUID()).get(ref) as string);
}

function contentOf({ content }: ModelReply, ids: (ref: string) => string): Content[] {
  return content.flatMap((part): Content[] => {
    if ('text' in part) return [{ type: 'text', text: part.text }];
    if (!('toolRequest' in part)) return [];
    const { name, ref = crypto.randomUUID(), input = {} } = part.toolRequest;
    return [{ type: 'tool-call', toolCallId: ids(ref), toolName: name, input: JSON.stringify(input) }];
  });
}

function finishOf({ finishReason, usage }: ModelReply): Finish {
  const known = (['stop', 'tool-calls', 'length'] as const).find((reason) => reason === finishReason);
  const { inputTokens: read, outputTokens: written } = usage ?? {};
  return {
    finishReason: { unified: known ?? 'other', raw: finishReason },
    usage: {
      inputTokens: { total: read, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: written, text: undefined, reasoning: undefined },
    },
  };
}

function requestOf({ prompt, tools = [], toolChoice, responseFormat, abortSignal }: CallOptions): ModelRequest {
  const { type = 'auto', toolName = '' } = toolChoice ?? {};
  return {
    messages: prompt.map(({ role, content }) => ({
      role: (role === 'assistant' ? 'model' : role) as Message['role'],
      content: typeof content === 'string' ? [{ text: content }] : (content as readonly any[]).flatMap(partOf),
    })),
    tools: tools.filter((tool) => tool.type === 'function').map((tool) => ({ description: '', ...tool }) as never),
    toolChoice: type === 'tool' ? { tool: toolName } : (type as 'auto' | 'none' | 'required'),
    ...(responseFormat?.schema && { outputSchema: { ...responseFormat.schema } }),
    config: {},
    ...(abortSignal && { signal: abortSignal }),
  };
}

/** A part of a prompt, by the specification of providers. */
function partOf({ type, text, toolName: name, toolCallId: ref, input, output }: any): readonly Part[] {
  if (type === 'text') return [{ text }];
  if (type === 'tool-call') return [{ toolRequest: { name, ref, input } }];
  if (type !== 'tool-result') return [];
  const isDenied = output.type === 'execution-denied';
  const value = isDenied ? (output.reason ?? `${name} was rejected and did not run`) : output.value;
  const outcome = isDenied ? 'rejected' : output.type.startsWith('error') ? 'error' : undefined;
  return [{ toolResponse: { name, ref, output: value }, ...(outcome && { metadata: { outcome } }) }];
}
