// The real client of the AI SDK, major versions 5, 6 and 7, without React.
import * as ai7 from 'ai';
import * as ai5 from 'ai-v5';
import * as ai6 from 'ai-v6';

const VERSIONS = { 5: ai5, 6: ai6, 7: ai7 } as const;

export type Client = ReturnType<typeof createClient>;

type ClientOptions = {
  readonly api: string;
  readonly id?: string;
  readonly user?: string;
  readonly messages?: readonly any[];
  /** Posts automatically when everything is decided. */
  readonly auto?: boolean;
  readonly fetch?: typeof fetch;
};

/** `AbstractChat` with its state in memory, as in `useChat`. */
export function createClient(version: 5 | 6 | 7, options: ClientOptions) {
  const ai = VERSIONS[version] as any;
  const state = {
    status: 'ready',
    error: undefined as Error | undefined,
    messages: [...(options.messages ?? [])] as any[],
    pushMessage(message: any) {
      state.messages = [...state.messages, message];
    },
    popMessage() {
      state.messages = state.messages.slice(0, -1);
    },
    replaceMessage(index: number, message: any) {
      state.messages = state.messages.with(index, structuredClone(message));
    },
    snapshot: <T>(thing: T): T => structuredClone(thing),
  };
  class MemoryChat extends ai.AbstractChat {}
  const chat = new (MemoryChat as any)({
    id: options.id ?? crypto.randomUUID(),
    state,
    transport: new ai.DefaultChatTransport({
      api: options.api,
      headers: { 'x-user': options.user ?? 'ada' },
      ...(options.fetch && { fetch: options.fetch }),
    }),
    onError: () => undefined,
    ...(options.auto && {
      sendAutomaticallyWhen: (given: any) =>
        ai.lastAssistantMessageIsCompleteWithToolCalls(given) ||
        (ai.lastAssistantMessageIsCompleteWithApprovalResponses?.(given) ?? false),
    }),
  });
  return {
    chat,
    state,
    get last(): any {
      return state.messages.at(-1);
    },
    /** The tool calls of the last message. */
    get tools(): any[] {
      return state.messages.at(-1)?.parts.filter((part: any) => part.type.startsWith('tool-')) ?? [];
    },
    get cards(): any[] {
      return state.messages
        .at(-1)
        ?.parts.filter((part: any) => part.type === 'data-request')
        .map((part: any) => part.data);
    },
    get text(): string {
      return state.messages
        .at(-1)
        ?.parts.filter((part: any) => part.type === 'text')
        .map((part: any) => part.text)
        .join('|');
    },
    say: (text: string) => chat.sendMessage({ text }),
    post: (body?: object) => chat.sendMessage(undefined, body && { body }),
  };
}
