// The recipe with version 6 of the AI SDK, and the chat that its packages for React and others are made of.
import { AbstractChat } from 'ai';
import { vi } from 'vitest';
import { recipeChat } from './recipe-chat.ts';

vi.mock('ai', () => import('ai-v6'));

/** The state of a chat without a framework. */
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

class PlainChat extends AbstractChat<any> {}

recipeChat((options) => new PlainChat({ ...options, state: plainState() }));
