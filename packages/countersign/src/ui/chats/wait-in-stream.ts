// Waits for a slow post inside the response stream, whose keep-alives stop proxies from dropping the request.
// A message, for example, waits until a tool that another tab started has finished.
import { forAtMost, untilAborted } from '../../models/abort.ts';
import { problemOf } from '../http/problem.ts';
import type { ChatChunk } from '../picture/ui-message.ts';

type Chunks = AsyncGenerator<ChatChunk>;

export type WaitOptions = {
  /** How long to wait before the response starts without a known outcome. */
  readonly patienceMs: number;
  readonly errorText: (error: { readonly code: string; readonly message: string }) => string;
  readonly signal: AbortSignal;
  /** Receives errors that are not the client's fault. */
  readonly onFault: (error: unknown) => void;
};

/** Rejects if the post is refused soon enough for an HTTP status. After that, the stream reports the error. */
export async function waitInStream(posting: Promise<Chunks>, options: WaitOptions): Promise<Chunks> {
  return (await forAtMost(options.patienceMs, posting)) ?? inStream(posting, options);
}

async function* inStream(posting: Promise<Chunks>, { errorText, signal, onFault }: WaitOptions): Chunks {
  let chunks: Chunks;
  try {
    chunks = await untilAborted(posting, signal);
  } catch (error) {
    // The late stream already listens to the run; its first step makes it stop.
    if (signal.aborted) return void posting.then((late) => late.next()).catch(() => undefined);
    const { status, code, detail: message } = problemOf(error);
    if (status >= 500) onFault(error);
    yield { type: 'error', errorText: status >= 500 ? errorText({ code, message }) : message };
    return;
  }
  yield* chunks;
}
