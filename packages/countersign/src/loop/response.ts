// The response of `generate`: the reply, the pending requests, and the messages to continue from.

import { messagesOf } from '../core/messages/load-messages.ts';
import { isToolRequest, type Message, reasoningOf, type ToolRequestPart, textOf } from '../core/messages/message.ts';
import { pendingParts } from '../core/messages/pending-parts.ts';
import { frozenIn } from '../core/run/call.ts';
import type { FinishReason } from '../core/run/event.ts';
import { type State, waitingCalls } from '../core/run/state.ts';
import type { Usage } from '../core/run/usage.ts';

/** The outcome of one `generate`. */
export class GenerateResponse<Output = any, Interrupt extends ToolRequestPart = ToolRequestPart> {
  /** The whole conversation. Save it as JSON, and pass it to a later `generate` to continue. */
  readonly messages: Message[];
  readonly finishReason: FinishReason;
  readonly finishMessage: string | undefined;
  /**
   * The tokens of the replies of this `generate`; undefined if the provider did not report any. In a stored conversation: those
   * recorded since its message or decision, with those of sub-agents.
   */
  readonly usage: Usage | undefined;
  /** The final reply, parsed by the output schema; null until there is one. */
  readonly output: Output | null;

  /** `storedIn`: the id of the run, if it is stored. */
  constructor(state: State, usage: Usage | undefined, output: Output | null, storedIn?: string) {
    this.messages = messagesOf(state, storedIn);
    this.usage = usage;
    this.output = output;
    const { reason, message } = finishOf(state);
    this.finishReason = reason;
    this.finishMessage = message;
  }

  /** The last message of the model, if it said anything yet. */
  get message(): Message | undefined {
    return this.messages.findLast((message) => message.role === 'model');
  }

  /** The text of that message. */
  get text(): string {
    return textOf(this.message?.content ?? []);
  }

  /** The reasoning of that message. */
  get reasoning(): string {
    return reasoningOf(this.message?.content ?? []);
  }

  /** The pending requests, including those of sub-agents. Typed by the tools of the call. */
  get interrupts(): readonly Interrupt[] {
    return this.finishReason === 'interrupted' ? (pendingParts(this.messages) as readonly Interrupt[]) : [];
  }

  /** Every call that the last message asks for. */
  get toolRequests(): readonly ToolRequestPart[] {
    return (this.message?.content ?? []).filter(isToolRequest);
  }

  /** Everything as plain JSON. */
  toJSON() {
    const { text, output, message, messages, interrupts, finishReason, finishMessage, usage, reasoning } = this;
    return { text, output, message, messages, interrupts, finishReason, finishMessage, usage, reasoning };
  }
}

function finishOf(state: State): { reason: FinishReason; message?: string | undefined } {
  if (state.ended) return { reason: state.ended.reason, message: state.ended.message ?? ENDED[state.ended.reason] };
  const waiting = state.turn ? waitingCalls(state).length : 0;
  if (waiting > 0)
    return {
      reason: 'interrupted',
      message: `${waiting === 1 ? 'One call waits' : `${waiting} calls wait`} for a person.`,
    };
  const frozen = frozenIn(state);
  if (frozen) return { reason: 'interrupted', message: `A call is frozen: ${frozen.reason}` };
  return { reason: state.reply?.finishReason ?? 'stop', message: state.reply?.finishMessage };
}

const ENDED: Partial<Record<FinishReason, string>> = {
  'max-turns': 'The turn limit was reached. Call generate with the messages to continue.',
  aborted: 'The run was aborted. Call generate with the messages to continue.',
};
