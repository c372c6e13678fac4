// How large a stored run may grow. Only new input is refused: what a run has begun can always be recorded.
import { UsageError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { RunRecord } from './store.ts';

/** `size`: the length of the JSON of all events, in characters. `events`: their number. */
export type RunLimit = { readonly size: number; readonly events: number };

/** A run that was read, with the length of the JSON of its events. */
type Measured = { readonly run: Pick<RunRecord, 'id' | 'version'>; readonly size: number };

/** Decisions of up to this size are always recorded, so that the requests of a full run can still be settled. */
const SMALL_DECISION = 16_384;

/** Throws `run-too-large` if the run is too large for a message, or for a decision that carries much, such as an edit. */
export function refuseLarge(
  limit: RunLimit,
  { run, size }: Measured,
  added: readonly RunEvent[],
  what: 'message' | 'decision',
): void {
  const own = added.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
  if (what === 'decision' && own <= SMALL_DECISION) return;
  const total = size + own;
  if (total > limit.size) throw tooLarge(run.id, `${total} characters of JSON`, limit.size, 'maxRunSize');
  const events = run.version + added.length;
  if (what === 'message' && events > limit.events)
    throw tooLarge(run.id, `${events} events`, limit.events, 'maxRunEvents');
}

function tooLarge(runId: string, size: string, limit: number, option: string): UsageError {
  const message = `Run ${runId} would grow to ${size}, and the limit is ${limit} (\`${option}\`). Nothing was recorded. Start a new run, or send less.`;
  return new UsageError('run-too-large', { status: 413, runId, limit }, message);
}
