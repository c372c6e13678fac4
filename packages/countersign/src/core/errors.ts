// The errors that callers see. Each says what happened, to which id, and what to do now; its code is stable.
import type { Message } from './message.ts';

/** Every error code and what to do about it. `docs/reference/errors.md` is made from this list. */
export const ERROR_CODES = {
  'invalid-options': 'The options of the call do not fit together, or one has the wrong shape. Fix the call.',
  'no-model': 'No model was given. Pass `model` to the call or to `countersign()`.',
  'unknown-model': 'A model was named whose provider is not in `providers`. Add the provider or pass a model object.',
  'unsupported-model':
    'The object given as a model is none that can be driven. Pass an AI SDK provider model (V2, V3 or V4) or a model of the port.',
  'unknown-tool': 'A tool was named that is neither given nor defined. Define it, or correct the name.',
  'duplicate-tool': 'Two tools of one call have the same name. Rename one: the model tells them apart by name only.',
  'unusable-schema':
    'A schema cannot be turned into JSON Schema or cannot validate. Use zod, a Standard Schema with JSON Schema, or JSON Schema.',
  'circular-agents': 'An agent is, through its tools, a sub-agent of itself. Break the circle.',
  'invalid-history':
    'The messages are no valid conversation. The error lists every fault with the index of its message.',
  'invalid-resume': 'The decisions do not fit what is pending. The error lists every fault; nothing ran.',
  'invalid-decision':
    'A decision was made on something that is no pending interrupt of this tool, or with a value that does not fit its schema.',
  'already-decided': 'The interrupt was decided before. Reload the conversation and look at what is pending now.',
  'decision-pending': 'A decision is pending and `whilePending` is `refuse`. Decide it first.',
  'not-json': 'A value that must be saved is not JSON. Pass plain JSON.',
  'tool-failed': 'A tool threw and `onToolError` is `throw`. `cause` is the error of the tool; go on from `messages`.',
  'invalid-output': 'The final reply does not fit the output schema. `messages` holds the reply; ask the model again.',
  'unknown-prompt': 'No prompt of this name is defined or in `promptDir`. Correct the name or the folder.',
  'invalid-prompt': 'A prompt cannot be read or rendered. The error names the file and line where it can.',
  'unknown-agent': 'No agent of this name is defined.',
  'provider-failed':
    'The model or the network failed. If `retryable`, try again from `messages`: no finished tool runs twice.',
  'stream-cut-off':
    "The model's stream ended in the middle. `details.partial` holds what arrived; go on from `messages`.",
  'unknown-run': 'The store has no run with this id. Correct the id, or look in the store that the run was started in.',
  'unknown-interrupt': 'The store has no interrupt with this id. Correct the id.',
  'no-store': 'The call needs a store. Pass `store` to `countersign()`.',
  'run-exists': 'A run with this id was started before. Get it by its id, or start another with a new one.',
  'run-deleted': 'The run with this id was deleted, and its id is not given again. Start another with a new one.',
  'run-not-ended': 'The run has not ended, or somebody works on it. Cancel it, or wait until it rests.',
  'run-too-large':
    'The run has reached its size limit and takes no new input. Start a new run, send less, or raise `maxRunSize`.',
  'stale-version': 'Somebody changed the run at the same time. Load it again and look.',
  'claim-lost': 'Another worker has taken the run over. Nothing more was written; leave it to the other.',
  'outdated-card': 'The decision was made on something else than what is pending now. Load the interrupt again.',
  'tampered-run':
    'The events of the run, or the row of its question, are not what was recorded: somebody changed the store. Nothing is run; look into it.',
  'reminder-failed':
    'The hook `onReminder` threw or took too long. `cause` is its error; it is called again after a pause.',
  'context-failed':
    '`contextFor` failed when a run was to be driven. Its message says why; drive the run again when it can be had.',
  'store-failed':
    'The store could not be read or written. If `retryable`, try again when it is back; nothing was half written.',
  'not-authorized': 'Nobody is known who asks this. Sign in, or pass `authorize` to the route.',
  'not-allowed': 'The person may not do this. Ask the one who may.',
  'invalid-request': 'The request cannot be read, or is not what the route takes. The error says where.',
  'too-large': 'The request is larger or more deeply nested than the route takes. Send less.',
  'not-found': 'The server has nothing at this address. Correct the address.',
  'method-not-allowed': 'The address takes other methods than this one; the header `Allow` says which.',
  claimed: 'Another person is reviewing this request. `hold` says who and until when; wait, or ask them.',
  'key-reused': 'The Idempotency-Key was used for another request. Use a new key for a new request.',
  'too-many-streams':
    'The server, or this person, has as many open streams as allowed. Close some or try again later, or raise `maxStreams` or `maxStreamsPerPerson`.',
  'server-stopping': 'The server is stopping and takes no new work. Send the request again in a moment.',
  'bad-seal': 'What came back is not what was sent out, or was sealed with another key. Load the conversation again.',
  'seal-expired': 'The question was sealed too long ago to be decided. Ask the model again.',
  invariant: 'A bug in Countersign. Please report it with the message.',
} as const;

/** The stable code of an error. `docs/reference/errors.md` lists them all with what to do. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Ids and faults as data; `messages` is the conversation to go on from, where there is one. */
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

  /** The conversation to go on from, where the error came in the middle of one. */
  get messages(): readonly Message[] | undefined {
    return this.details.messages;
  }
}

/** What can be said of anything that was thrown, even if it cannot be read. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message || error.name : error);
  } catch {
    // It refuses to be read; that is all there is to say.
    return 'something that cannot be read was thrown';
  }
}

/** What was thrown, or an error in place of what cannot even be looked at. */
export function readableError(error: unknown): unknown {
  try {
    // A proxy may throw at this.
    Object.getPrototypeOf(Object(error));
    return error;
  } catch {
    return new Error(messageOf(error));
  }
}

/** The call was wrong, or a tool of the caller failed: fix it. */
export class UsageError extends CountersignError {}

/** Someone was first: reload. */
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

/** The same error with the conversation to go on from. */
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
 * tool means that it may have acted, and the model and the next person asked are told so.
 */
export class NotPerformed extends Error {
  override readonly name = 'NotPerformed';
}

/**
 * Bundlers and reloading servers load this package more than once in a process, and a store of one copy may serve another.
 * So each copy takes the errors of the others for its own.
 */
function knownToAllCopies(Class: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`countersign.${name}`);
  Object.defineProperty(Class.prototype, mark, { value: true });
  Object.defineProperty(Class, Symbol.hasInstance, {
    value(this: unknown, thrown: unknown): boolean {
      // Classes that others derive from ours inherit this, and are no more than they are.
      return (
        Function.prototype[Symbol.hasInstance].call(this as object, thrown) || (this === Class && has(thrown, mark))
      );
    },
  });
}

function has(thrown: unknown, mark: symbol): boolean {
  try {
    return typeof thrown === 'object' && thrown !== null && mark in thrown;
  } catch {
    // A proxy that refuses to be looked at is none of ours.
    return false;
  }
}

for (const [name, Class] of Object.entries({
  CountersignError,
  UsageError,
  ConflictError,
  ProviderError,
  InvariantError,
  NotPerformed,
}))
  knownToAllCopies(Class, name);
