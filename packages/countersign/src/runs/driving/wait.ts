// Waits until a run pauses or ends: reads new events while it runs, then the whole run once.
import { untilAborted } from '../../models/abort.ts';
import { readRun } from '../port/read-run.ts';
import { unknownRun } from '../port/run-id.ts';
import type { LoadedRun, RunRecord } from '../port/store.ts';
import type { WaitOptions } from '../run-options.ts';
import { changesOf } from './changes.ts';
import type { Drives } from './driving.ts';
import type { DriveOptions } from './open-run.ts';

/** The statuses of a run that has ended or failed. */
export const ENDED: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled']);

/** With `driving`, this process drives a run that no worker drives, for example after a crash. */
export async function untilPaused(
  drives: Drives,
  runId: string,
  { until = 'pause', signal }: Omit<WaitOptions, 'timeoutMs'>,
  driving?: Pick<DriveOptions, 'context'>,
): Promise<LoadedRun> {
  const { store } = drives;
  const changes = changesOf(store, runId, signal);
  try {
    for (let after = 0; ; ) {
      const reading = readRun(store, runId, after);
      // If the signal was aborted before, a paused run is still returned; an abort now does not wait for a silent store.
      const loaded = await (signal?.aborted ? reading : untilAborted(reading, signal));
      if (!loaded) throw unknownRun(runId);
      const { status, version } = loaded.run;
      const drivenOn = status === 'failed' ? drives.driven(runId) : undefined;
      const rests = !drivenOn && (ENDED.has(status) || (until === 'pause' && status === 'waiting'));
      if (rests && after === 0) return loaded;
      signal?.throwIfAborted();
      if (driving && (after === 0 || loaded.events.length === 0))
        await takeAbandoned(drives, loaded.run, driving, signal);
      if (!rests) await untilAborted<unknown>(drivenOn ?? changes.next(), signal);
      after = rests ? 0 : version;
    }
  } finally {
    changes.stop();
  }
}

/** Drives a running run that no worker drives. If nothing has happened to it for a while, none may. */
export async function takeAbandoned(
  drives: Drives,
  { id, status }: RunRecord,
  { context }: Pick<DriveOptions, 'context'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (status !== 'running' || drives.driven(id) || drives.isStopping) return;
  await untilAborted(drives.take(id, { ...(context && { context }) }), signal);
}
