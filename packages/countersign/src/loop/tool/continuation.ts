// What the body of a call whose sub-agent has paused continues with.

import { copyOf, isObject } from '../../core/json.ts';
import type { Message } from '../../core/messages/message.ts';
import type { Call } from '../../core/run/call.ts';
import type { Made } from '../../core/run/event.ts';
import { Decisions } from '../../core/run/made.ts';

/** Options of `generate`. It is a class, so that no value that a person sends counts as one. */
export class Continuation {
  readonly messages: readonly Message[];
  /** The run around the sub-agent has checked these decisions, and counted the votes. */
  readonly resume: Decisions;

  constructor(messages: readonly Message[], decisions: readonly Made[] = []) {
    this.messages = messages;
    const made = decisions.map((one, index) => ({ ...one, where: `resume[${index}]` }));
    this.resume = new Decisions(made, { isCounted: true });
  }
}

/** The value of `ctx.resumed`. */
export function resumedOf({ phase, resumed }: Call): unknown {
  if (phase.at === 'sub-agent-held') return new Continuation(phase.messages);
  if (!resumed) return undefined;
  const value = copyOf(resumed.value);
  if (!resumed.continues || !isObject(value) || !Array.isArray(value.messages)) return value;
  const { messages, decisions } = value as { readonly messages: Message[]; readonly decisions?: readonly Made[] };
  return new Continuation(messages, Array.isArray(decisions) ? decisions : []);
}
