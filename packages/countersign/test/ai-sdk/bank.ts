// A chat that moves money, over real HTTP: with the recipe or with needsApproval, with and without our gate.
import {
  convertToModelMessages,
  createUIMessageStream,
  createUIMessageStreamResponse,
  readUIMessageStream,
  stepCountIs,
  streamText,
  tool,
  type UIMessage,
} from 'ai';
import { APPROVAL, type Gated, processToolCalls } from 'countersign/ai-sdk';
import { z } from 'zod';
import { type Served, serve } from './http.ts';
import { saying } from './model.ts';
import { publishedProcessToolCalls } from './published-recipe.ts';

export type Part = { type: string; toolCallId?: any; state?: any; input?: any; output?: any; [key: string]: any };
export type ChatMessage = { id: string; role: string; parts: Part[] };
export type Who = { readonly chat?: string; readonly person?: string };
export type Answer = { readonly chunks: any[]; readonly messages: ChatMessage[] };

export type BankOptions = {
  /** How a person decides: by the recipe's output, or by the AI SDK's approval. */
  readonly way: 'recipe' | 'approval';
  /** Undefined: without our gate. */
  readonly gate?: (tools: any, who: { key: string; by: string; approve: string[] }) => Gated<any>;
  /** Without our gate, and without our hardening of the recipe. */
  readonly published?: boolean;
  /** The rule of `transfer`, for the way `approval`. Default: every transfer needs approval. */
  readonly needsApproval?: (input: { amount: number }) => boolean;
  /** Awaited while money is moved. */
  readonly whileMoving?: () => Promise<void>;
};

const inputSchema = z.object({ to: z.string(), amount: z.number().max(1000) });

export type Bank = Awaited<ReturnType<typeof openBank>>;

export async function openBank(options: BankOptions) {
  const { way, gate, published = false, needsApproval = () => true, whileMoving } = options;
  const moved: { to: string; amount: number }[] = [];
  const audits: unknown[] = [];
  let calls = 0;
  let onMoved: (() => void) | undefined;
  const { model, prompts } = saying((prompt) => {
    const last = prompt.at(-1);
    const said = last?.role === 'user' ? JSON.stringify(last.content) : '';
    const pay = (amount: number) => ({ id: `call-${++calls}`, tool: 'transfer', input: { to: 'bob', amount } });
    if (said.includes('pay twice')) return { calls: [pay(10), pay(20)] };
    if (said.includes('pay')) return { calls: [pay(10)] };
    if (said.includes('audit')) return { calls: [{ id: `call-${++calls}`, tool: 'audit', input: {} }] };
    return { text: 'Very well.' };
  });

  const transfer = async (input: { to: string; amount: number }) => {
    await whileMoving?.();
    moved.push(input);
    onMoved?.();
    return { receipt: moved.length };
  };
  const audit = tool({
    inputSchema: z.object({}),
    execute: (input: object) => {
      audits.push(input);
      return 'audited';
    },
  });
  const tools = {
    audit,
    transfer:
      way === 'recipe'
        ? tool({ inputSchema, outputSchema: z.any() })
        : tool({ inputSchema, needsApproval, execute: transfer }),
  } as any;

  const answer = async (messages: UIMessage[], gated: Gated<any> | undefined) =>
    streamText({
      model,
      messages: await convertToModelMessages(messages),
      tools: gated?.tools ?? tools,
      stopWhen: stepCountIs(5),
      onError: () => undefined,
    });
  const said = { onError: (error: unknown) => (error instanceof Error ? error.message : String(error)) };

  const server: Served = await serve(async (request) => {
    const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] };
    const person = request.headers.get('x-person') ?? '';
    const gated = gate?.(tools, { key: id, by: person, approve: [] });
    const out = (stream: any) => (gated ? gated.send(stream) : stream);
    if (way === 'approval') {
      const received = gated ? await gated.receive(messages) : messages;
      const result = await answer(received, gated);
      const stream = result.toUIMessageStream({ originalMessages: received, ...said });
      return createUIMessageStreamResponse({ stream: out(stream) });
    }
    const stream = createUIMessageStream({
      originalMessages: messages,
      ...said,
      execute: async ({ writer }) => {
        const process: (given: any, functions: any) => Promise<UIMessage[]> = published
          ? publishedProcessToolCalls
          : processToolCalls;
        const processed = await process({ tools, writer, messages, ...(gated && { gate: gated }) }, { transfer });
        const result = await answer(processed, gated);
        writer.merge(out(result.toUIMessageStream({ originalMessages: processed, ...said })));
      },
    });
    return createUIMessageStreamResponse({ stream });
  });

  /** Posts a conversation and returns the client's messages afterwards. */
  async function post(
    messages: readonly ChatMessage[],
    { chat = 'chat-1', person = 'ann' }: Who = {},
  ): Promise<Answer> {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-person': person },
      body: JSON.stringify({ id: chat, messages, trigger: 'submit-message' }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    const chunks = [...text.matchAll(/^data: (\{.*\})$/gm)].map((match) => JSON.parse(match[1] ?? ''));
    return { chunks, messages: await applied(messages, chunks) };
  }

  /** Posts a conversation and disconnects as soon as money has moved. */
  async function lose(messages: readonly ChatMessage[]): Promise<void> {
    const hangUp = new AbortController();
    onMoved = () => hangUp.abort();
    await fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-person': 'ann' },
      body: JSON.stringify({ id: 'chat-1', messages, trigger: 'submit-message' }),
      signal: hangUp.signal,
    })
      .then((response) => response.text())
      .catch(() => undefined);
    onMoved = undefined;
  }

  /** Adds a user message to the conversation and posts it. */
  const say = (text: string, who: Who = {}, before: readonly ChatMessage[] = []) =>
    post([...before, userMessage(text)], who);

  /** The conversation with the pending calls of its last message decided. */
  function decided(messages: readonly ChatMessage[], approved: boolean): ChatMessage[] {
    return changed(messages, (part) => {
      if (way === 'recipe' && part.state === 'input-available')
        return { ...part, state: 'output-available', output: approved ? APPROVAL.YES : APPROVAL.NO };
      if (part.state === 'approval-requested')
        return { ...part, state: 'approval-responded', approval: { ...part.approval, approved } };
      return part;
    });
  }

  /** The part that a client posts to approve a call. */
  function approvedPart(id: string, input: unknown, name = 'transfer'): Part {
    const part = { type: `tool-${name}`, toolCallId: id, input };
    if (way === 'recipe') return { ...part, state: 'output-available', output: APPROVAL.YES };
    return { ...part, state: 'approval-responded', approval: { id: `approval-${id}`, approved: true } };
  }

  return {
    way,
    url: server.url,
    moved,
    audits,
    prompts,
    post,
    lose,
    say,
    decided,
    approvedPart,
    close: () => server.close(),
  };
}

export const userMessage = (text: string): ChatMessage => ({
  id: `user-${crypto.randomUUID()}`,
  role: 'user',
  parts: [{ type: 'text', text }],
});

/** The conversation with each part of its last message changed. */
export function changed(messages: readonly ChatMessage[], change: (part: Part) => Part | undefined): ChatMessage[] {
  const last = messages.at(-1);
  if (!last) return [];
  return [...messages.slice(0, -1), { ...last, parts: last.parts.flatMap((part) => change(part) ?? []) }];
}

/** The client's messages after these chunks: its last assistant message continues, or a new one begins. */
export async function applied(messages: readonly ChatMessage[], chunks: readonly any[]): Promise<ChatMessage[]> {
  const last = messages.at(-1);
  const message =
    last?.role === 'assistant' ? structuredClone(last) : { id: crypto.randomUUID(), role: 'assistant', parts: [] };
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let latest: any = message;
  for await (const state of readUIMessageStream({ message: message as any, stream, onError: () => undefined }))
    latest = state;
  const before = last?.role === 'assistant' ? messages.slice(0, -1) : messages;
  return [...before, JSON.parse(JSON.stringify(latest))];
}
