// Why stores refuse an append: mistakes that every store finds before it writes, and conflicts with stored runs.

import type { Deciders } from '../../core/authority/deciders.ts';
import { ConflictError, InvariantError, UsageError } from '../../core/errors.ts';
import type { Append } from '../../runs/port/store.ts';
import { type Claim, isLost } from './claim.ts';

/** What a store has when an append arrives. */
export type Stored = {
  readonly run: { readonly version: number; readonly claim: Claim | undefined } | 'deleted' | undefined;
  readonly isInterrupt: (id: string) => boolean;
  /** Whether the request is pending in this run. */
  readonly isPending: (id: string) => boolean;
  /** The version of the note with what is frozen; 0 if there is none. Needed for an append with `freezes`. */
  readonly freezes?: number | undefined;
};

/** Why the append is refused; undefined if it is not. */
export function refusalOf(
  append: Append,
  { run, isInterrupt, isPending, freezes }: Stored,
  now: number,
): Error | undefined {
  const { runId, create, claim, opened, settled, progressed = [] } = append;
  if (create !== undefined) {
    if (run !== undefined) return run === 'deleted' ? runDeleted(runId) : runExists(runId);
  } else {
    if (run === undefined || run === 'deleted') return staleVersion(append, undefined);
    if (claim !== undefined && isLost(claim, run.claim, now)) return claimLost(runId, claim.token);
    if (run.version !== append.expectedVersion) return staleVersion(append, run.version);
  }
  const taken = firstWrong(opened, isInterrupt);
  if (taken !== undefined) return openedTwice(runId, taken);
  const gone = firstWrong([...settled, ...progressed], (id) => !isPending(id));
  if (gone !== undefined) return notPending(runId, gone);
  return append.freezes === undefined || append.freezes === freezes ? undefined : freezesChanged(runId);
}

/** The first id that is wrong, or was named before. */
function firstWrong(items: readonly { readonly id: string }[], isWrong: (id: string) => boolean): string | undefined {
  const named = new Set<string>();
  return items.find(({ id }) => named.size === named.add(id).size || isWrong(id))?.id;
}

function runExists(runId: string): ConflictError {
  return new ConflictError('run-exists', { runId }, `Run ${runId} already exists. Get it by its id.`);
}

/** Starting a deleted run again could do all its work a second time. */
function runDeleted(runId: string): ConflictError {
  const message = `Run ${runId} was deleted, and its id cannot be used again. Start a run with a new id.`;
  return new ConflictError('run-deleted', { runId }, message);
}

/** `version` is the run's current one; undefined if the run does not exist. */
function staleVersion({ runId, expectedVersion }: Append, version: number | undefined): ConflictError {
  const now = version === undefined ? 'it does not exist' : `it is at version ${version}`;
  return new ConflictError(
    'stale-version',
    { runId, expectedVersion, ...(version !== undefined && { version }) },
    `Run ${runId} is not at version ${expectedVersion}: ${now}. Reload it.`,
  );
}

export function freezesChanged(runId: string): ConflictError {
  const message = `Someone froze or unfroze calls while a call of run ${runId} was about to start. Nothing was written; read the freezes again.`;
  return new ConflictError('freezes-changed', { runId }, message);
}

function claimLost(runId: string, token: string): ConflictError {
  const message = `Run ${runId} is no longer claimed by ${token}. Nothing was written; leave it to the worker that holds it.`;
  return new ConflictError('claim-lost', { runId, token }, message);
}

function notPending(runId: string, requestId: string): InvariantError {
  const message = `Interrupt ${requestId} of run ${runId} cannot be settled or changed: it is not pending, or is named twice. Nothing was written.`;
  return new InvariantError('invariant', { runId, requestId }, message);
}

export function openedTwice(runId: string, requestId: string): InvariantError {
  const message = `Interrupt ${requestId} of run ${runId} cannot be opened: its id is in use. Nothing was written.`;
  return new InvariantError('invariant', { runId, requestId }, message);
}

/** Throws if no store could keep this append. */
export function checkAppend(append: Append): void {
  const { create, runId, claim, expectedVersion } = append;
  const changed = [...append.settled, ...(append.progressed ?? [])];
  if (create !== undefined && (expectedVersion !== 0 || create.id !== runId))
    throw mistake({ runId }, `A new run must have version 0 and its own id, ${runId}.`);
  if (create !== undefined && (claim?.how === 'hold' || claim?.how === 'release')) throw claimLost(runId, claim.token);
  if (!Number.isSafeInteger(expectedVersion) || expectedVersion < 0)
    throw mistake({ runId }, `\`expectedVersion\` must be a number of events, not ${expectedVersion}.`);
  const [unknown] = create === undefined ? [] : changed;
  if (unknown !== undefined) throw notPending(runId, unknown.id);
  if (runId === '' || append.events.length === 0)
    throw mistake({ runId }, 'An append needs the id of a run and at least one event.');
  checkNames('run', [runId, append.hash], [create?.agent, create?.startedBy, claim?.token]);
  checkTimes('run', [append.wakeAt, append.at ?? null]);
  for (const { id } of changed) if (!isStorable(id)) throw notPending(runId, id);
  for (const { deciders = null } of append.progressed ?? []) checkNames('request', namesIn(deciders), []);
  for (const request of append.opened) {
    const { id, agent, tool, kind, risk, digest, labels, createdAt, expiresAt } = request;
    if (request.runId !== runId)
      throw mistake({ runId, requestId: id }, `Interrupt ${id} does not belong to run ${runId}.`);
    checkNames('request', [id, agent, tool, kind, digest, ...labels], [risk]);
    checkNames('request', namesIn(request.deciders), []);
    checkTimes('request', [createdAt, expiresAt]);
  }
}

const namesIn = (deciders: Deciders | null): readonly string[] => [
  ...(deciders?.people ?? []),
  ...(deciders?.roles ?? []),
];

function mistake(details: { readonly [name: string]: string | number }, message: string): UsageError {
  return new UsageError('invalid-options', details, message);
}

function checkTimes(of: string, times: readonly (number | null)[]): void {
  for (const time of times) {
    if (time === null || Number.isSafeInteger(time)) continue;
    throw mistake({ time }, `The times of a ${of} must be whole milliseconds, not ${time}.`);
  }
}

/** Names are compared byte for byte, so every store must be able to keep them unchanged. JSON values have no such limit. */
function checkNames(of: string, names: readonly unknown[], optional: readonly unknown[]): void {
  for (const name of [...names, ...optional.filter((value) => value !== null && value !== undefined)]) {
    if (typeof name === 'string' && isStorable(name)) continue;
    const shown = typeof name === 'string' ? JSON.stringify(name) : typeof name;
    throw mistake({ name: shown }, `A name of the ${of} cannot be stored: ${shown}.`);
  }
}

/** Not every database can store a zero character or half of a surrogate pair. */
export function isStorable(name: string): boolean {
  return name.isWellFormed() && !name.includes('\0');
}
