// The ledger port: the truth about the calls that a person must decide, whatever a client claims.
import { canonicalJson, type Json, sameJson } from '../../core/json.ts';

/** A call that the model asked for, with the AI SDK's id. */
export type AskedCall = { readonly id: string; readonly tool: string; readonly input: Json };

/** How a call ended. The AI SDK turns it into a result or an error. */
export type Outcome =
  | { readonly type: 'output'; readonly output: unknown }
  | { readonly type: 'error'; readonly text: string };

/** A call as the client describes it. Nothing of it is verified. */
export type ClaimedCall = {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  readonly decision?: { readonly approved: boolean; readonly reason?: string };
  readonly outcome?: Outcome;
  /** The client shows the call as over: it ran, failed or was denied. */
  readonly isOver?: boolean;
  /** False if the conversation continued after it: the AI SDK will no longer run it. */
  readonly isLast: boolean;
  /** The user spoke after it. */
  readonly isPassedOver: boolean;
  /** Whether a person must decide it, if the description is true. */
  readonly isGated: () => Promise<boolean>;
  /** Whether it is a known tool and needs no approval, if the description is true. */
  readonly needsNoApproval: () => Promise<boolean>;
  /** The keys of all calls that the conversation has under this id, this one included. */
  readonly underId: ReadonlySet<string>;
  /** The seals that came with its message. */
  readonly seals: ReadonlyMap<string, string>;
};

/** An answer of the client to a request of the AI SDK. Nothing of it is verified. */
export type Answer = { readonly id: string; readonly approvalId: unknown; readonly seal: string | undefined };

/** The truth about a call. `call` is the requested call, or the person's edit of it; the client may claim otherwise. */
export type Known =
  /** It needs no approval, so the client is trusted as for the rest of the conversation. */
  | { readonly at: 'open-to-all' }
  /** It needs approval, and no proof shows that the model asked for it like this. */
  | { readonly at: 'unproved' }
  | { readonly at: 'waiting'; readonly call: AskedCall }
  | { readonly at: 'approved'; readonly call: AskedCall }
  | { readonly at: 'denied'; readonly call: AskedCall; readonly text: string }
  | { readonly at: 'done'; readonly call: AskedCall; readonly outcome: Outcome };

/** Where in a conversation a reply is generated: after which message of the user, and the ids of the calls since. */
export type Place = { readonly messageId: string; readonly calls: readonly string[] };

/** The ledger of one person in one chat. */
export interface Ledger {
  /**
   * A reply is about to be generated, in a conversation with these calls. Cancels the requests that an earlier reply at
   * this place asked about other calls. Without a place, earlier replies are unknown.
   */
  replyAt(place: Place | undefined, knownIds: ReadonlySet<string>): Promise<void>;
  /** Records that the model asks for this call. It waits for a person from now on. */
  ask(call: AskedCall): Promise<void>;
  /** The AI SDK asks about this call under this id. */
  asksUnder(id: string, approvalId: string): Promise<void>;
  /** Throws if an answer has another id than its request, which then keeps waiting. Called before any of them is recorded. */
  checkAnswers(answers: readonly Answer[]): Promise<void>;
  /** Records the client's decision, if it is valid, and returns the truth about the call. */
  settle(claimed: ClaimedCall): Promise<Known>;
  /**
   * Runs the call with the recorded input, if a person approved exactly this. A call that has run returns its outcome
   * again. Rejects with the text for the model if nothing runs or the body fails.
   */
  run(call: AskedCall, body: (input: Json) => unknown): Promise<unknown>;
}

export const isSameCall = (one: AskedCall, other: { readonly tool: string; readonly input: unknown }): boolean =>
  one.tool === other.tool && sameJson(one.input, other.input);

/** The same text for the same tool and input, whatever the order of the input's keys. */
export const callKey = ({ tool, input }: Pick<ClaimedCall, 'tool' | 'input'>): string =>
  `${tool}\n${canonicalJson(input)}`;

/** Why a call does not run. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** The recorded failure of a call that ran. */
export class Failed extends Error {
  override readonly name = 'Failed';
}

export const deniedText = (reason?: string): string =>
  `The user denied this call${reason === undefined || reason === '' ? '' : ` (${reason})`}. The tool was not run.`;

export const PASSED_OVER = 'The user continued without deciding this call. The tool was not run.';
