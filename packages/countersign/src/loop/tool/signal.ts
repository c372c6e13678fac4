// How a tool body stops the loop: `interrupt()` throws so that the body ends there, and is remembered so that a `catch`
// on the way cannot undo it.

import type { Message } from '../../core/messages/message.ts';
import type { Reversibility } from '../../core/request/request.ts';
import type { SchemaInput } from './schema.ts';
import type { TimeOptions } from './time-options.ts';

const ASKED: unique symbol = Symbol('countersign.asked');

export type Asked = { readonly [ASKED]: true; readonly payload: unknown };

/** How a tool body asks a person. */
export type InterruptFunction = {
  /**
   * Pauses the loop: the body stops here, and a person is asked. `payload` is shown to them.
   * Given the paused response of a `generate` inside the tool, it passes that response's interrupts on; once they are
   * decided, `resumed` holds the options for the inner `generate` to continue: `{ messages, resume }`.
   */
  (payload?: unknown, options?: InterruptOptions): never;
  /** The same as a value: `return interrupt.ask(payload)`. */
  ask(payload?: unknown, options?: InterruptOptions): Asked;
};

/**
 * The title of a request, and how long and how urgently it waits. `expiresIn` and `remindAfter` are in milliseconds, around
 * the clock. Durations count in stored runs.
 */
export type AskOptions = TimeOptions & {
  /** One line of at most 200 characters that says what would happen, such as `Pay €950 to ACME`. */
  readonly title?: string;
  /** After this time without a decision, `onExpiry` decides: `reject` by default. */
  readonly expiresIn?: number;
  readonly onExpiry?: 'reject' | 'cancel' | 'approve';
  /** After this time without a decision, channels get a notice `reminded`. */
  readonly remindAfter?: number;
  readonly labels?: readonly string[];
  readonly risk?: 'low' | 'medium' | 'high';
  /** Whether the effect can be undone. The tool says so, never the model. */
  readonly reversibility?: Reversibility;
};

/** The options of a request that a tool body asks. */
export type InterruptOptions = AskOptions & {
  /**
   * The schema of the answer: the card shows a form for it. The body runs again with `resumed: { answer }`. A rejection ends
   * the call.
   */
  readonly answerSchema?: SchemaInput;
  /** With `answerSchema`: after a rejection the body runs again too, with `resumed: { rejected: true, reason }`. */
  readonly onReject?: 'resume';
};

/** What `interrupt()` throws. A tool that is called directly, outside a loop, rejects with it. */
export class InterruptSignal extends Error {
  override readonly name = 'InterruptSignal';
  /** What the person is to be shown. */
  readonly payload: unknown;

  constructor(payload: unknown, toolName: string) {
    const said =
      typeof payload === 'object' && payload !== null && 'message' in payload ? `: ${String(payload.message)}` : '';
    super(`The tool ${toolName} waits for a person${said}`);
    this.payload = payload;
  }
}

/** Thrown inside a sub-agent that stopped in the middle; its conversation can continue later. */
export class HeldSignal extends Error {
  override readonly name = 'HeldSignal';
  readonly messages: readonly Message[];

  constructor(messages: readonly Message[], cause: unknown) {
    super('The conversation inside the tool stopped in the middle.', { cause });
    this.messages = messages;
  }
}

/** Thrown inside a tool that must stop: its run was taken over or ended, or its call has its result. */
export class LostSignal extends Error {
  override readonly name = 'LostSignal';

  constructor(toolName: string) {
    super(`The tool ${toolName} must stop here: its run was taken over or ended, or its call has its result.`);
  }
}

/** Thrown inside a sub-agent whose process stops; another process continues from the record. */
export class LeftSignal extends Error {
  override readonly name = 'LeftSignal';

  constructor() {
    super('This process is being stopped; the conversation inside the tool is left to another.');
  }
}

type FirstRequest = { readonly payload: unknown; readonly options?: InterruptOptions };

export type RequestMemory = { readonly interrupt: InterruptFunction; first(): FirstRequest | undefined };

/** An `interrupt` function for one execution of a body; the first interrupt is the one that counts. */
export function rememberRequests(toolName: string): RequestMemory {
  let first: FirstRequest | undefined;
  const ask: InterruptFunction['ask'] = (payload, options) => {
    first ??= { payload, ...(options && { options }) };
    return { [ASKED]: true, payload };
  };
  const interrupt = (payload?: unknown, options?: InterruptOptions): never => {
    ask(payload, options);
    throw new InterruptSignal(payload, toolName);
  };
  interrupt.ask = ask;
  return { interrupt, first: () => first };
}
