// The ledger port: what is known of the calls that a person has to decide, whatever a client says about them.
import { isObject, type Json, sameJson } from '../core/json.ts';

/** A call that the model asked for, under the id that the AI SDK knows it by. */
export type AskedCall = { readonly id: string; readonly tool: string; readonly input: Json };

/** How a call ended: what the AI SDK makes a result or an error of. */
export type Outcome =
  | { readonly type: 'output'; readonly output: unknown }
  | { readonly type: 'error'; readonly text: string };

/** What a client says about a call. */
export type ClaimedCall = {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** What the person decided, according to the client. */
  readonly decision?: { readonly approved: boolean; readonly reason?: string };
  /** How the call ended, according to the client. */
  readonly outcome?: Outcome;
  /** The client was told that the call is over: it ran, it failed or it was denied. */
  readonly isOver?: boolean;
  /** False when the conversation went on after it: the AI SDK will not run it any more. */
  readonly isLast: boolean;
  /** The user spoke after it. */
  readonly isPassedOver: boolean;
  /** Whether a person would have to decide it, by what the client says. */
  readonly isGated: () => Promise<boolean>;
  /** Whether it is one of ours that asks nobody, by what the client says. A tool that is gone may have asked. */
  readonly asksNobody: () => Promise<boolean>;
  /** The keys of all calls that the conversation has under this id, this one included. */
  readonly underId: ReadonlySet<string>;
  /** The seals that came with its message. */
  readonly seals: ReadonlyMap<string, string>;
};

/** What is true of a call. `call` is what was asked for, or what a person made of it: maybe another than the client says. */
export type Known =
  /** Nobody has to decide it: what the client says of it is as good as the rest of the conversation. */
  | { readonly at: 'open-to-all' }
  /** A person would have to decide it, and nothing shows that the model asked for it like this. */
  | { readonly at: 'unproved' }
  | { readonly at: 'waiting'; readonly call: AskedCall }
  | { readonly at: 'approved'; readonly call: AskedCall }
  | { readonly at: 'denied'; readonly call: AskedCall; readonly text: string }
  | { readonly at: 'done'; readonly call: AskedCall; readonly outcome: Outcome };

/** Where in a conversation a reply is asked for: after which message of the user, and which calls since, by their ids. */
export type Place = { readonly messageId: string; readonly calls: readonly string[] };

/** The ledger of one person in one chat. */
export interface Ledger {
  /**
   * A reply is asked for, in a conversation that has these calls. What an earlier reply asked at this place or after it, and
   * is not among them, is asked no more. Without a place nothing is known of earlier replies.
   */
  replyAt(place: Place | undefined, calls: ReadonlySet<string>): Promise<void>;
  /** Notes that the model asks for this call, which waits for a person from now on. */
  ask(call: AskedCall): Promise<void>;
  /** What is true of a call, once the decision that the client brings is noted, if it may be. */
  settle(claimed: ClaimedCall): Promise<Known>;
  /**
   * Runs the call with what the model asked for, if a person approved exactly this; a call that has run gives the outcome
   * it had. Rejects with what the model is to be told, when nothing runs or the body fails.
   */
  run(call: AskedCall, body: (input: Json) => unknown): Promise<unknown>;
}

export const isSameCall = (one: AskedCall, other: { readonly tool: string; readonly input: unknown }): boolean =>
  one.tool === other.tool && sameJson(one.input, other.input);

/** The same text for the same tool and input, whatever the order of the input's keys. */
export const callKey = ({ tool, input }: Pick<ClaimedCall, 'tool' | 'input'>): string =>
  `${tool}\n${sortedJson(input)}`;

export function sortedJson(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, item) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

/** Why a call does not run. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** What a call that ran and failed is remembered by. */
export class Failed extends Error {
  override readonly name = 'Failed';
}

export const deniedText = (reason?: string): string =>
  `The user denied this call${reason === undefined || reason === '' ? '' : ` (${reason})`}. The tool was not run.`;

export const PASSED_OVER = 'The user went on without deciding this call. The tool was not run.';
