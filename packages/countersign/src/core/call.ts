// What is known of a run: its history, the turn that is open, and where each of its calls stands.
import type { CallIds, Decision, FinishReason, Interrupt, InterruptKind, Result } from './event.ts';
import type { GrowList, GrowSet } from './grow.ts';
import type { Json } from './json.ts';
import type { Message, Metadata, Part } from './message.ts';

/** Where a call stands. */
export type Phase =
  /** Not looked at yet, or safe to look at again; with `inner`, it goes on in its own conversation. */
  | { readonly at: 'open'; readonly inner?: readonly Message[] }
  /** A person decided that the body runs. */
  | { readonly at: 'cleared' }
  /**
   * The body was started, at `since`. Seen by `next`, it means that nobody knows how it ended; with `inside`, the record
   * of the conversation inside says how far it came, and with `commits`, `committed` says whether it may have acted.
   */
  | {
      readonly at: 'started';
      readonly since?: number;
      readonly commits?: true;
      readonly committed?: true;
      readonly inside?: true;
    }
  | { readonly at: 'waiting'; readonly interrupt: Interrupt; readonly inner?: readonly Message[] }
  | { readonly at: 'settled'; readonly result: Result };

export type Call = CallIds & {
  readonly name: string;
  /** What the model or its provider said beside the request. */
  readonly metadata?: Metadata;
  /** What runs: what the model proposed, or what a person made of it. */
  readonly input: Json;
  /** What the model proposed, where a person edited it. */
  readonly proposed?: Json;
  /** Who made the last edit, where they said who they are. */
  readonly editedBy?: string;
  readonly phase: Phase;
  /** What a person gave the body to go on with; absent when it runs for the first time. */
  readonly resumed?: { readonly value: Json };
  /** What a person let run: the input as it was on their card, or what the schema of the tool had made of it. */
  readonly runsWith?: Json;
  /** How often the call has asked; the next interrupt gets the next number. */
  readonly pauses: number;
  /** How often its body was started. */
  readonly starts?: number;
  /** What a start of its body came to that was given up by then. It settles nothing. */
  readonly endedLate?: Result;
  /** The last interrupt that was decided, and how. */
  readonly decided?: { readonly interrupt: Interrupt; readonly decision: Decision };
  /**
   * What was decided about the conversation inside since it last waited: what it goes on with now, and what was decided
   * while it went on, which it takes up when it next waits.
   */
  readonly decidedInside?: { readonly now?: Json; readonly later: readonly Json[] };
  /** What is kept of the decisions before that. */
  readonly earlierDecisions?: readonly Metadata[];
  /** The kinds of the questions after which a person let the body run. */
  readonly passed?: readonly InterruptKind[];
  /** It was an agent when it was last started, whether or not anything inside is on record. */
  readonly startedInside?: true;
  /**
   * The conversation inside, where it is on record as it happens. Once it has `begun`, what it was to begin or go on with
   * is part of it.
   */
  readonly inside?: { readonly state: State; readonly begun: boolean };
  /** Results of the steps inside the body that are done. */
  readonly steps: ReadonlyMap<string, Json>;
  /** Finished while a sibling waited; set when the turn was read back from messages. */
  readonly pending?: true;
};

/** A reply of the model while some of its calls are open. */
export type Turn = {
  readonly content: readonly Part[];
  /** In the order of the model's calls. */
  readonly calls: readonly Call[];
  readonly metadata?: Message['metadata'];
  /** Present once a person decided something in this turn. */
  readonly resumed?: Json;
};

/** A call that failed and may have taken effect all the same. */
export type MayHaveActed = { readonly name: string; readonly ref: string; readonly text: string };

export type State = {
  /** Everything before the open turn. */
  readonly history: GrowList<Message>;
  /** Every `ref` used in the run. */
  readonly refs: GrowSet<string>;
  readonly mayHaveActed: readonly MayHaveActed[];
  readonly turn?: Turn;
  /** What the user said while a decision was pending, kept until it is made. */
  readonly queued: readonly Message[];
  /** Replies of the model since the user last spoke. */
  readonly turnsUsed: number;
  /** How the last reply ended, while nothing came after it. */
  readonly reply?: { readonly finishReason: FinishReason; readonly finishMessage?: string };
  readonly ended?: { readonly reason: FinishReason; readonly message?: string };
};

/** The call of the open turn that has this id. */
export function callOf({ turn }: State, callId: string): Call | undefined {
  return turn?.calls.find(({ id }) => id === callId);
}

/** The call has its result, or is of a turn that is over: nothing more can be said of it. */
export function isOver(state: State, callId: string): boolean {
  const { phase } = callOf(state, callId) ?? {};
  return phase === undefined || phase.at === 'settled';
}

export const NO_STEPS: ReadonlyMap<string, Json> = new Map();

/** The number of the pause is part of an interrupt's id: a decision on the first question never fits the second. */
export function interruptId(callId: string, pause: number): string {
  return pause > 1 ? `${callId}/${pause}` : callId;
}

/** The conversation inside does not wait as a whole; what waits in it can be decided meanwhile. */
export function goesOnInside({ phase, decidedInside, inside }: Call): boolean {
  if ((!decidedInside && !inside) || phase.at === 'settled') return false;
  return phase.at !== 'waiting' || phase.interrupt.kind !== 'inside';
}

/** The conversation inside as it was when it last waited. */
export function innerMessages({ phase, resumed }: Call): readonly Message[] {
  if (phase.at === 'waiting' && phase.interrupt.kind === 'inside') return phase.inner ?? [];
  if (phase.at === 'open' && phase.inner) return phase.inner;
  return (resumed?.value as { readonly messages?: readonly Message[] } | undefined)?.messages ?? [];
}
