// The message about a call whose result could not be recorded at a stop.
import type { Stopped } from 'countersign/store';

export function unrecordedText({ runId, path }: Stopped['unrecorded'][number]): string {
  return `Could not record the result of call ${path.join(', ')} of run ${runId}. Check whether it happened before you decide its request.`;
}
