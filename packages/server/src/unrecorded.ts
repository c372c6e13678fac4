// What whoever stopped a process has to know of a call whose result could not be recorded.
import type { UnrecordedCall } from 'countersign';

export function unrecordedText({ runId, path }: UnrecordedCall): string {
  return `The result of call ${path.join(', ')} of run ${runId} could not be recorded. Look at what it did before anybody says that it did not happen.`;
}
