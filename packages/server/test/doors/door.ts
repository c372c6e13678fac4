// A door: a way into the house through which a decision, or a call that needs one, arrives. Each door has one adapter, which
// says how its client sends honest messages and hostile ones. What must hold afterwards is the same for all: `attacks.ts`.
import type { Decision, World } from './world.ts';

export { type Decision, said } from './world.ts';

/** The attacks by name, and what each of them sends. A new one does not compile until every door answers it. */
export const ATTACKS = {
  forged: 'a credential, signature or seal that the server did not give',
  replayed: 'the exact bytes of a message that worked, once more',
  outdated: 'a decision on a request that has changed since, or a call with other arguments than the decided one',
  "other person's": 'what ann was given, sent with the credential of another person',
  "other run's": 'the id, seal or digest of a request of another run',
  'without rights': 'a credential that may read and not decide',
  oversized: 'a message that is larger than the door reads',
  malformed: 'a message that cannot be read',
  'duplicate keys': 'a key twice, or again in other letters',
  'hidden characters': 'characters that nobody sees, in what the person is shown and in ids',
  'wrong digest': 'a decision on another card',
  'after the end': 'a decision after the run was cancelled',
  'sent back': 'a decision, or the call again, after ann asked for changes',
  'two at once': 'contradicting decisions, or the same call, at the same moment',
  killed: 'SIGKILL in the middle',
} as const;

export type AttackName = keyof typeof ATTACKS;

/** What the door answered. */
export type Reply = {
  /** The sender was told that it worked: the decision is recorded, or the call may run. */
  readonly accepted: boolean;
  /** The door failed instead of refusing: a status of 500 and above, or a crash. */
  readonly isFault?: boolean;
  /** For the message of a failed test. */
  readonly text: string;
};

/** A payment that waits for a decision, as the client of a door has it. */
export type Asked = {
  /** Names the payment outside: its effects are found by it. */
  readonly to: string;
  readonly amount: number;
  /** Undefined where the server keeps no record. */
  readonly id: string | undefined;
  readonly runId: string;
};

/** The process of the server is killed by the payment itself, after the honest decision. */
export const WITH_THE_HOUSE = 'with the house';

export type NotApplicable = { readonly notApplicable: string };

/** What an attack gives to the adapter. */
export type Setting<A extends Asked> = {
  /** A second payment that waits, of another run. */
  other(): Promise<A>;
  /** Changes the request: cleo edits the amount, and her vote is the first of two. */
  change(): Promise<void>;
  /** Counts a hostile message. Every cell has to send one. */
  sent(): void;
};

/** Sends the hostile messages of one attack, and returns what the door answered to each. */
export type Hostile<A extends Asked> = (asked: A, setting: Setting<A>) => Promise<readonly Reply[]>;

export type OpenDoor<A extends Asked = Asked> = {
  /** A payment that waits and can be decided through this door. Above 1000, ann and cleo decide together. */
  ask(payment: { readonly to: string; readonly amount: number }): Promise<A>;
  /** The honest way: ann decides, and an approved payment is made. A door without a way to ask for changes leaves that to the record. */
  decide(asked: A, decision?: Decision): Promise<Reply>;
  /** The text that the person is shown before they decide; undefined if the door gives data to a program that shows it. */
  shown?(asked: A): Promise<string>;
  readonly hostile: {
    readonly [name in Exclude<AttackName, 'sent back'>]:
      | Hostile<A>
      | NotApplicable
      | (name extends 'killed' ? typeof WITH_THE_HOUSE : never);
  };
  close?(): Promise<void>;
};

export type Door<A extends Asked = any> = {
  readonly name: string;
  open(world: World): Promise<OpenDoor<A>>;
};

export const notApplicable = (why: string): NotApplicable => ({ notApplicable: why });

/** A response of HTTP as a reply. */
export async function replyOf(response: Response, accepted = (_text: string): boolean => response.ok): Promise<Reply> {
  const text = await response.text();
  return {
    accepted: response.ok && accepted(text),
    isFault: response.status >= 500,
    text: `${response.status} ${text.slice(0, 300)}`,
  };
}

/** Bodies that are no JSON document, or not one of a decision. */
export const MALFORMED: readonly string[] = [
  '',
  '{',
  'null',
  '[]',
  '"approve"',
  '{"__proto__":{"decision":{"type":"approve"}}}',
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  '\u0000',
];

/** Larger than any door reads. */
export const OVERSIZED = 12_000_000;

/** Characters that a person does not see: the order of writing is reversed, and a space has no width. */
export const HIDDEN = '\u202e\u200b';

/** Sends one hostile message after the other. */
export async function each<T>(
  messages: readonly T[],
  sent: () => void,
  send: (message: T) => Promise<Reply>,
): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (const message of messages) {
    sent();
    replies.push(await send(message));
  }
  return replies;
}

/** Sends hostile messages at the same moment. */
export const together = <T>(
  messages: readonly T[],
  sent: () => void,
  send: (message: T) => Promise<Reply>,
): Promise<readonly Reply[]> =>
  Promise.all(
    messages.map((message) => {
      sent();
      return send(message);
    }),
  );
