// A chat client without a framework: the base class of the AI SDK's packages for React and others.
import { AbstractChat } from 'ai';

export class PlainChat extends AbstractChat<any> {
  constructor(options: object) {
    super({ ...options, state: plainState() });
  }
}

function plainState(): any {
  return {
    status: 'ready',
    error: undefined,
    messages: [],
    pushMessage(message: unknown) {
      this.messages = [...this.messages, message];
    },
    popMessage() {
      this.messages = this.messages.slice(0, -1);
    },
    replaceMessage(index: number, message: unknown) {
      this.messages = this.messages.with(index, message);
    },
    snapshot: structuredClone,
  };
}
