// What stores answer when they refuse an append, and the mistakes in an append that every store finds before it writes.
import { ConflictError, InvariantError, UsageError } from '../../core/errors.ts';
import type { Append } from '../../runs/port/store.ts';

export function runExists(runId: string): ConflictError {
  return new ConflictError('run-exists', { runId }, `Run ${runId} was started before; get it by its id.`);
}

/** Whoever asks for it again meant a run that was done with: to start anew could do everything a second time. */
export function runDeleted(runId: string): ConflictError {
  return new ConflictError(
    'run-deleted',
    { runId },
    `Run ${runId} was deleted, and its id is not given again. Start another run with a new id.`,
  );
}

/** `version` is what the run is at now; undefined if there is no such run. */
export function staleVersion(append: Append, version: number | undefined): ConflictError {
  const { runId, expectedVersion } = append;
  const now = version === undefined ? 'there is no such run' : `it is at version ${version}`;
  return new ConflictError(
    'stale-version',
    { runId, expectedVersion, ...(version === undefined ? {} : { version }) },
    `Run ${runId} is not at version ${expectedVersion}: ${now}. Load it again and look.`,
  );
}

export function claimLost(runId: string, token: string): ConflictError {
  return new ConflictError(
    'claim-lost',
    { runId, token },
    `Run ${runId} is no longer held by ${token}. Nothing was written; leave it to the worker that has it.`,
  );
}

/** Whether an append that needs the claim is refused, given whose it is now. */
export function isLost(
  { how, token }: NonNullable<Append['claim']>,
  held: { readonly token: string; readonly until: number } | undefined,
  now: number,
): boolean {
  if (how === 'take' || held?.token === token) return false;
  const isFree = held === undefined || held.until <= now;
  return !(isFree && (how === 'enter' || how === 'pass'));
}

export function notWaiting(runId: string, interruptId: string): InvariantError {
  return new InvariantError(
    'invariant',
    { runId, interruptId },
    `Interrupt ${interruptId} of run ${runId} was to be settled, but it does not wait. Nothing was written.`,
  );
}

export function openedTwice(runId: string, interruptId: string): InvariantError {
  return new InvariantError(
    'invariant',
    { runId, interruptId },
    `Interrupt ${interruptId} of run ${runId} was to be opened, but there is one with this id. Nothing was written.`,
  );
}

/** Throws if no store could keep this append as it is. */
export function checkAppend(append: Append): void {
  const { create, runId, claim } = append;
  if (create !== undefined && (append.expectedVersion !== 0 || create.id !== runId)) {
    throw new UsageError('invalid-options', { runId }, `A run is created at version 0 under its own id, ${runId}.`);
  }
  if (create !== undefined && (claim?.how === 'hold' || claim?.how === 'release')) throw claimLost(runId, claim.token);
  if (!Number.isSafeInteger(append.expectedVersion) || append.expectedVersion < 0) {
    throw new UsageError(
      'invalid-options',
      { runId },
      `A version is a count of events, not ${append.expectedVersion}.`,
    );
  }
  const [unknown] = create === undefined ? [] : append.settled;
  if (unknown !== undefined) throw notWaiting(runId, unknown.id);
  if (runId === '' || append.events.length === 0) {
    throw new UsageError('invalid-options', { runId }, 'An append is to a run with an id, and has at least one event.');
  }
  checkNames('run', [runId, append.hash], [create?.agent, create?.startedBy, claim?.token]);
  checkTimes('run', [append.wakeAt]);
  for (const { id } of append.settled) if (!canBeKept(id)) throw notWaiting(runId, id);
  for (const interrupt of append.opened) {
    const { id, agent, tool, kind, risk, digest, labels, createdAt, expiresAt, remindAt } = interrupt;
    if (interrupt.runId !== runId) {
      throw new UsageError(
        'invalid-options',
        { runId, interruptId: id },
        `Interrupt ${id} is not one of run ${runId}.`,
      );
    }
    checkNames('interrupt', [id, agent, tool, kind, digest, ...labels], [risk]);
    checkTimes('interrupt', [createdAt, expiresAt, remindAt]);
  }
}

function checkTimes(of: string, times: readonly (number | null)[]): void {
  for (const time of times) {
    if (time === null || Number.isSafeInteger(time)) continue;
    throw new UsageError('invalid-options', { time }, `A time of the ${of} is not in whole milliseconds: ${time}.`);
  }
}

/** Names are compared and searched as they are, so no store may have to change one: JSON values have no such limit. */
function checkNames(of: string, names: readonly unknown[], ifAny: readonly unknown[]): void {
  for (const name of [...names, ...ifAny.filter((given) => given !== null && given !== undefined)]) {
    if (typeof name === 'string' && canBeKept(name)) continue;
    const shown = typeof name === 'string' ? JSON.stringify(name) : `something of the type ${typeof name}`;
    throw new UsageError(
      'invalid-options',
      { name: shown },
      `A name of the ${of} is no text that can be kept: ${shown}.`,
    );
  }
}

/** Not every database keeps a zero character, or half of a surrogate pair: there is nothing under such a name. */
export function canBeKept(name: string): boolean {
  return name.isWellFormed() && !name.includes('\0');
}
