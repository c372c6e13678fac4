// Waiting until a run rests: while it runs, only what is new is read; then everything, once.
import { untilAborted } from '../../models/abort.ts';
import { unknownRun } from '../port/run-id.ts';
import type { LoadedRun, Store } from '../port/store.ts';
import type { WaitOptions } from '../run-options.ts';
import { changesOf } from './changes.ts';
import type { DriveOptions, Drives } from './driving.ts';

/** How a run stands when it does not go on by itself. */
export const ENDED: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled']);

/** With `driving`, a run that nobody drives, such as after a crash, is driven here. */
export async function untilRests(
  store: Store,
  drives: Drives,
  runId: string,
  { until = 'pause', signal }: WaitOptions,
  driving?: Pick<DriveOptions, 'context'>,
): Promise<LoadedRun> {
  const changes = changesOf(store, runId, signal);
  try {
    for (let after = 0; ; ) {
      const reading = store.read(runId, { after });
      // Whoever had given up before gets a run that rests; who does so now does not wait for a store that is silent.
      const loaded = await (signal?.aborted ? reading : untilAborted(reading, signal));
      if (!loaded) throw unknownRun(runId);
      const { status, version } = loaded.run;
      const drivenOn = status === 'failed' ? drives.driven(runId) : undefined;
      const rests = !drivenOn && (ENDED.has(status) || (until === 'pause' && status === 'waiting'));
      if (rests && after === 0) return loaded;
      signal?.throwIfAborted();
      if (driving) await takeLeft(drives, loaded, driving, signal);
      if (!rests) await untilAborted<unknown>(drivenOn ?? changes.next(), signal);
      after = rests ? 0 : version;
    }
  } finally {
    changes.stop();
  }
}

/**
 * Drives a run that runs and that nobody drives. Only where nothing has happened since the last look: whoever drives it
 * writes, or keeps its claim.
 */
export async function takeLeft(
  drives: Drives,
  { run: { id, status }, events }: LoadedRun,
  { context }: Pick<DriveOptions, 'context'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (status !== 'running' || events.length > 0 || drives.driven(id) || drives.isStopping) return;
  await untilAborted(drives.take(id, context), signal);
}
