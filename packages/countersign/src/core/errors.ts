// The errors that callers see. Each names the problem, the id and the next step; its code is stable.
import type { Message } from './messages/message.ts';

/** Every error code and what to do about it. `docs/reference/errors.md` is made from this list. */
export const ERROR_CODES = {
  'invalid-options': 'The options of the call do not fit together, or one has the wrong shape. Fix the call.',
  'no-model': 'No model was given. Pass `model` to the call or to `countersign()`.',
  'unknown-model': 'A model was named whose provider is not in `providers`. Add the provider or pass a model object.',
  'unsupported-model':
    'The object given as a model is not supported. Pass an AI SDK provider model (V2, V3 or V4) or a model of the port.',
  'unknown-tool': 'A tool was named that is neither given nor defined. Define it, or correct the name.',
  'duplicate-tool': 'Two tools of one call have the same name. Rename one: the model tells them apart by name only.',
  'unusable-schema':
    'A schema cannot be turned into JSON Schema or cannot validate. Use zod, a Standard Schema with JSON Schema, or JSON Schema.',
  'circular-agents': 'An agent is, through its tools, a sub-agent of itself. Break the circle.',
  'invalid-history':
    'The messages are not a valid conversation. The error lists every fault with the index of its message.',
  'invalid-resume': 'The decisions do not match the pending interrupts. The error lists every fault; nothing ran.',
  'invalid-decision': 'The decision is not on a pending interrupt of this tool, or its value does not fit the schema.',
  'already-decided': 'The interrupt was decided before. Reload the conversation to see the pending ones.',
  'decision-pending': 'A decision is pending and `whilePending` is `refuse`. Decide it first.',
  'not-json': 'A value that must be saved is not JSON. Pass plain JSON.',
  'tool-failed':
    'A tool threw and `onToolError` is `throw`. `cause` is the error of the tool; continue from `messages`.',
  'invalid-output': 'The final reply does not fit the output schema. `messages` holds the reply; ask the model again.',
  'unknown-prompt': 'No prompt of this name is defined or in `promptDir`. Correct the name or the folder.',
  'invalid-prompt': 'A prompt cannot be read or rendered. The error names the file and line where it can.',
  'unknown-agent': 'No agent of this name is defined.',
  'provider-failed':
    'The model or the network failed. If `retryable`, try again from `messages`: no finished tool runs twice.',
  'stream-cut-off':
    "The model's stream ended in the middle. `details.partial` holds the part that arrived; continue from `messages`.",
  'unknown-run': 'The store has no run with this id. Correct the id, or look in the store that the run was started in.',
  'unknown-request': 'The store has no interrupt with this id. Correct the id.',
  'no-store': 'The call needs a store. Pass `store` to `countersign()`.',
  'run-exists': 'A run with this id exists. Get it by its id, or start another with a new id.',
  'run-deleted': 'The run with this id was deleted, and ids are not reused. Start another run with a new id.',
  'gate-conflict':
    'The key was used for a call with another input. Use a new key for a new call, or the same input to continue the first.',
  'not-granted':
    'No start of the call was granted with this token. Ask for the start first, and report with its token.',
  'start-refused':
    'The start of the call was not granted: it is not approved, or another program has it. `gate` says how the call is.',
  'call-started':
    'A program outside has started the call, so its run cannot be cancelled. Wait for its result, or answer the request about its outcome.',
  'not-undoable': 'The call did nothing, so there is nothing to undo. Look at what came of it.',
  'not-recallable':
    'The call does not wait to start: it has no `recallFor`, is not approved yet, or ran before. Reject its request, or cancel its run.',
  'run-not-ended': 'The run has not ended, or a worker is driving it. Cancel it, or wait until it ends.',
  'wait-timeout':
    'The run neither paused nor ended within `timeoutMs`. `details.pending` and `details.driver` say what it waits for; decide, start a worker, or wait longer.',
  'run-too-large':
    'The run has reached its size limit and takes no new input. Start a new run, send less, or raise `maxRunSize`.',
  'stale-version': 'The run was changed at the same time. Reload it and try again.',
  'freezes-changed':
    'Someone froze or unfroze calls while a call was about to start. Nothing was written; read the freezes again.',
  'claim-lost': 'Another worker has taken over the run. Nothing more was written; leave the run to that worker.',
  'outdated-card': 'The card has changed since the decision was made. Reload the interrupt and decide again.',
  'tampered-run':
    'The events of the run, or the row of its interrupt, were changed in the store. Nothing runs; find out who changed them.',
  'invalid-grant':
    'The grant cannot be given: it is wider than its policy allows, or does not fit the question. Fix it.',
  'unknown-grant': 'The store has no grant with this id. Correct the id.',
  'grant-exists':
    'A grant with other limits was given with this decision. Revoke it, or give another on a new request.',
  'tampered-grant': 'The record of the grant was changed in the store. No call uses it; find out who changed it.',
  'unknown-freeze': 'The store has no freeze with this id. Correct the id.',
  'tampered-freeze': 'The record of a freeze was changed in the store. No call starts; find out who changed it.',
  'notice-failed':
    'A channel could not deliver a notice. `cause` is its error. It is tried again, or was given up: see `ai.notices.dead()`.',
  'people-failed':
    'A hook of `people` failed, so a request could not be escalated. Fix the cause in the message; a worker tries it again.',
  'context-failed':
    '`contextFor` failed, so the run could not continue. Fix the cause in the message, then drive the run again.',
  'store-failed':
    'The store could not be read or written. If `retryable`, try again when it is back; nothing was half written.',
  'not-authorized': 'Not signed in. Sign in, or pass `authorize` to the route.',
  'not-allowed': 'The person is not allowed to do this. Ask a person with that right.',
  'out-of-reach':
    'After this edit, the people who are known could not give the votes that its policy asks for. Ask someone else to edit it, or repeat the decision with `evenIfOutOfReach`.',
  'signature-required':
    'The policy of the request asks for a decision that is signed with a passkey. Sign it and send it again.',
  'invalid-signature':
    'The signature of a decision does not verify, its passkey is revoked or not enrolled, or @simplewebauthn/server is missing.',
  'invalid-request': 'The request is invalid. The error says where.',
  'too-large': 'The request is larger or more deeply nested than allowed. Send less.',
  'not-found': 'The server has nothing at this address. Correct the address.',
  'method-not-allowed': 'The address does not support this method; the header `Allow` lists those that it does.',
  claimed:
    'The request is assigned to another person, or they are reviewing it. `assignee` says who and until when; wait, or ask them.',
  'key-reused': 'The Idempotency-Key was used for another request. Use a new key for a new request.',
  'too-many-streams':
    'The server, or this person, has as many open streams as allowed. Close some or try again later, or raise `maxStreams` or `maxStreamsPerPerson`.',
  'too-many-sign-ins':
    'More sign-ins than allowed were begun, or codes tried, from this network or at this server. Try again after the time in `Retry-After`.',
  'server-stopping': 'The server is stopping and takes no new work. Send the request again in a moment.',
  'bad-seal': 'The request was changed after it was sealed, or was sealed with another key. Reload the conversation.',
  'seal-expired': 'The question was sealed too long ago to be decided. Ask the model again.',
  invariant: 'A bug in Countersign. Please report it with the message.',
} as const;

/** The stable code of an error. `docs/reference/errors.md` lists them all with what to do. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Ids and faults as data; `messages`, if present, is the conversation to continue from. */
export type ErrorDetails = { readonly messages?: readonly Message[]; readonly [key: string]: unknown };

/** The base of every error that Countersign throws. */
export class CountersignError extends Error {
  /** Stable: match on it, not on the message. */
  readonly code: ErrorCode;
  /** Ids and faults as data; never live objects. */
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.details = details;
  }

  /** The conversation to continue from, if the error came in the middle of one. */
  get messages(): readonly Message[] | undefined {
    return this.details.messages;
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message || error.name : error);
  } catch {
    // An object without a prototype has no text.
    return 'something that cannot be read was thrown';
  }
}

/** The call was wrong, or a tool of the caller failed: fix it. */
export class UsageError extends CountersignError {}

/** Another writer was first: reload. */
export class ConflictError extends CountersignError {}

/** The model or the network failed. */
export class ProviderError extends CountersignError {
  /** Trying again may help. */
  readonly retryable: boolean;

  constructor(
    code: ErrorCode,
    details: ErrorDetails,
    message: string,
    options: { cause?: unknown; retryable: boolean },
  ) {
    super(code, details, message, options);
    this.retryable = options.retryable;
  }
}

/** A bug of ours. */
export class InvariantError extends CountersignError {}

/** Adds the conversation to continue from. */
export function withMessages(error: CountersignError, messages: readonly Message[]): CountersignError {
  const details = { ...error.details, messages };
  const { code, message, cause = error } = error;
  if (error instanceof ProviderError)
    return new ProviderError(code, details, message, { cause, retryable: error.retryable });
  const Class = [UsageError, ConflictError, InvariantError].find((known) => error instanceof known) ?? CountersignError;
  return new Class(code, details, message, { cause });
}

/**
 * Thrown by a tool that knows it did nothing: a refusal before the irreversible request. Any other error of a gated
 * tool means that it may have acted; the model and the next card say so.
 */
export class NotPerformed extends Error {
  override readonly name = 'NotPerformed';
}

/**
 * Thrown by a tool that cannot know whether it acted, such as after a timeout. The call is in doubt, as after a crash: `verify`
 * or a person says what happened. A tool that is `idempotent` fails instead, because the model may call it again.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/** Bundlers load this package more than once in a process, so each copy recognizes the errors of the others. */
function knownToAllCopies(Class: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`countersign.${name}`);
  Object.defineProperty(Class.prototype, mark, { value: true });
  Object.defineProperty(Class, Symbol.hasInstance, {
    value(this: unknown, thrown: unknown): boolean {
      if (Function.prototype[Symbol.hasInstance].call(this as object, thrown)) return true;
      // Subclasses of users inherit this, but must not match every error of ours.
      return this === Class && typeof thrown === 'object' && thrown !== null && mark in thrown;
    },
  });
}

for (const [name, Class] of Object.entries({
  CountersignError,
  UsageError,
  ConflictError,
  ProviderError,
  InvariantError,
  NotPerformed,
  OutcomeUnknown,
}))
  knownToAllCopies(Class, name);
