// Checks of ids, and the errors for ids that do not exist.
import { ConflictError, UsageError } from '../../core/errors.ts';
import { LONGEST_NAME } from '../../loop/tool/ask-options.ts';

/** Checks a run id, which the ids of its requests begin with. */
export function checkRunId(runId: string): string {
  if (/^[\w.-]{1,128}$/.test(runId)) return runId;
  throw new UsageError(
    'invalid-options',
    { runId },
    `A run's id must be letters, digits, "_", "." or "-", not ${JSON.stringify(runId)}.`,
  );
}

/** Checks the name of the person who starts a run. */
export function checkStarter(by: string | null = null): string | null {
  if (by === null || by.length <= LONGEST_NAME) return by;
  const message = `\`by\` can have at most ${LONGEST_NAME} characters, not ${by.length}, because runs are looked up by it.`;
  throw new UsageError('invalid-options', { field: 'by' }, message);
}

export const unknownRun = (runId: string): UsageError =>
  new UsageError('unknown-run', { runId }, `Run ${runId} not found in the store. Check the id.`);

export const runNotEnded = (runId: string): ConflictError =>
  new ConflictError(
    'run-not-ended',
    { runId },
    `Run ${runId} has not ended, or a worker drives it. Cancel it, or wait until it ends.`,
  );

export const unknownRequest = (requestId: string): UsageError =>
  new UsageError(
    'unknown-request',
    { requestId },
    // The id of the run, or of the call in the messages, is only a part of it.
    `Interrupt ${requestId} not found in the store.${requestId.includes(':') ? '' : ' Its id begins with the id of its run, as in run_1:call_1.'}`,
  );
