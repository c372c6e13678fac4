// What takes long to be taken, such as words that wait until a tool of another tab is done, is waited for in the stream:
// without a sign of life, somebody on the way would give the post up, and the words with it.
import { forAtMost, untilAborted } from '../../models/abort.ts';
import { problemOf } from '../http/problem.ts';
import type { ChatChunk } from '../picture/ui-message.ts';

type Chunks = AsyncGenerator<ChatChunk>;

export type InStreamOptions = {
  /** For how long an answer without a status is waited for. */
  readonly patienceMs: number;
  readonly errorText: (error: { readonly code: string; readonly message: string }) => string;
  /** Aborted when whoever asked has left. */
  readonly signal: AbortSignal;
  /** Hears of what is no mistake of whoever asks. */
  readonly onFault: (error: unknown) => void;
};

/** Rejects if it is refused soon enough for a status of its own; later, the stream says so. */
export async function soonOrInStream(taking: Promise<Chunks>, options: InStreamOptions): Promise<Chunks> {
  return (await forAtMost(options.patienceMs, taking)) ?? inStream(taking, options);
}

async function* inStream(taking: Promise<Chunks>, { errorText, signal, onFault }: InStreamOptions): Chunks {
  let chunks: Chunks;
  try {
    chunks = await untilAborted(taking, signal);
  } catch (error) {
    // What is taken later listens already, and ends with its first step.
    if (signal.aborted) return void taking.then((late) => late.next()).catch(() => undefined);
    const { status, code, detail: message } = problemOf(error);
    if (status >= 500) onFault(error);
    yield { type: 'error', errorText: status >= 500 ? errorText({ code, message }) : message };
    return;
  }
  yield* chunks;
}
