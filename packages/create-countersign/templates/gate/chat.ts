// A chat client for the terminal, in place of `useChat`: the same class underneath, and the same messages on the wire.
import { AbstractChat, type ChatState, DefaultChatTransport, type UIMessage } from 'ai';

/** A chat that posts to the route. */
export class Chat extends AbstractChat<UIMessage> {
  constructor(post: (request: Request) => Promise<Response>) {
    super({
      transport: new DefaultChatTransport({
        api: 'http://localhost/api/chat',
        fetch: (input, init) => post(new Request(input, init)),
      }),
      state: new State(),
    });
  }

  /** The calls that wait for an answer, with the id to answer with. */
  get pending(): readonly { readonly id: string; readonly tool: string; readonly input: unknown }[] {
    return (this.lastMessage?.parts ?? []).flatMap((part) =>
      'approval' in part && part.state === 'approval-requested' && part.approval
        ? [{ id: part.approval.id, tool: part.type.replace('tool-', ''), input: part.input }]
        : [],
    );
  }

  /** Answers a call. Once every call is answered, posts the answers, as `sendAutomaticallyWhen` of `useChat` does. */
  async answer(id: string, approved: boolean): Promise<void> {
    await this.addToolApprovalResponse({ id, approved });
    if (this.pending.length === 0) await this.sendMessage();
  }

  /** The texts of the last message, one per line. */
  get text(): string {
    return (this.lastMessage?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  }
}

class State implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready';
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, message);
  };
  snapshot = <T>(thing: T): T => structuredClone(thing);
}
