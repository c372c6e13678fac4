// One AG-UI run as a stream of events: what the chat streams, then how the run ended as the record says.
import type { RunFinishedOutcome } from '@ag-ui/core';
import { type ChatChunk, type ChatMessage, type LoadedChat, sseResponse, untilLeft } from 'countersign/ui';
import { readServerEvents } from '../client/server-events.ts';
import { problemOf } from '../http/problem.ts';
import { type AgUiEvent, PROTOCOL_VERSION } from './events.ts';
import type { RunInput } from './input.ts';
import { requestOf } from './interrupts.ts';
import { pendingCards } from './messages.ts';
import type { Refused } from './resume.ts';
import { Transcript } from './transcript.ts';

export type RunStreamOptions = {
  readonly input: RunInput;
  /** The run in the store. */
  readonly runId: string;
  /** The conversation before this run, with the new message of the user. */
  readonly before: readonly ChatMessage[];
  readonly refused: readonly Refused[];
  /** The answer of the chat, whose body is a UI message stream. */
  readonly streamed: Response;
  readonly load: () => Promise<LoadedChat>;
  /** Streams a run that continued after its stream had ended. */
  readonly again: () => Promise<Response>;
  /** The code of the error that the run failed with. */
  readonly errorCode: () => Promise<string | undefined>;
  readonly onFault: (error: unknown) => void;
  readonly keepAliveMs: number;
};

/** Each event of AG-UI as the JSON of one server-sent event. */
export function runStream(options: RunStreamOptions, request: Request): Response {
  const { signal, onLeft } = untilLeft(request);
  return sseResponse(runEvents(options, signal), { keepAliveMs: options.keepAliveMs, announced: true, onLeft });
}

async function* runEvents(options: RunStreamOptions, signal: AbortSignal): AsyncGenerator<AgUiEvent> {
  const { input, runId: countersignRun, refused, onFault } = options;
  const { threadId, runId } = input;
  const metadata = { countersign: { runId: countersignRun } };
  yield { type: 'RUN_STARTED', threadId, runId, protocolVersion: PROTOCOL_VERSION, metadata };
  for (const value of refused) yield { type: 'CUSTOM', name: 'countersign.refused', value };
  try {
    yield* conversation(options, signal);
  } catch (error) {
    if (signal.aborted) return;
    onFault(error);
    const { code, detail } = problemOf(error);
    yield { type: 'RUN_ERROR', code, message: detail };
  }
}

async function* conversation(options: RunStreamOptions, signal: AbortSignal): AsyncGenerator<AgUiEvent> {
  const { input, before } = options;
  const transcript = new Transcript(input.messages);
  yield* transcript.correct(before);
  // Only a message of the user ends requests that the stream does not show any more.
  const mayWithdraw = before.at(-1)?.role === 'user' && pendingCards(before).length > 0;
  let { streamed } = options;
  for (;;) {
    let failure: string | undefined;
    for await (const chunk of chunksOf(streamed, signal)) {
      if (chunk.type === 'error') failure = String(chunk.errorText);
      if (chunk.type !== 'start') yield* transcript.add(chunk);
      else {
        transcript.begin(String(chunk.messageId));
        if (mayWithdraw) yield* transcript.settle((await options.load()).messages);
      }
    }
    yield* transcript.close();
    const chat = await options.load();
    yield* transcript.settle(chat.messages);
    yield* transcript.correct(chat.messages);
    if (failure !== undefined || chat.status !== 'running') return yield await ending(options, chat, failure);
    // Someone else decided, or spoke, just after the stream had ended.
    streamed = await options.again();
  }
}

/** The chunks of a UI message stream; none for a response without a body. */
async function* chunksOf({ body }: Response, signal: AbortSignal): AsyncGenerator<ChatChunk> {
  if (!body) return;
  for await (const { data } of readServerEvents(body.pipeThrough(new TransformStream(), { signal })))
    if (data !== '[DONE]') yield JSON.parse(data) as ChatChunk;
}

async function ending(
  { input, errorCode }: RunStreamOptions,
  { status, messages }: LoadedChat,
  failure: string | undefined,
): Promise<AgUiEvent> {
  const { threadId, runId, protocolVersion } = input;
  const failed = (message: string, code: string | undefined): AgUiEvent => ({
    type: 'RUN_ERROR',
    message,
    ...(code !== undefined && { code }),
  });
  const finished = (outcome: RunFinishedOutcome): AgUiEvent => ({ type: 'RUN_FINISHED', threadId, runId, outcome });
  if (failure !== undefined) return failed(failure, await errorCode());
  const [first, ...others] = pendingCards(messages).map(requestOf);
  if (first) return finished({ type: 'interrupt', interrupts: [first, ...others] });
  switch (status) {
    case 'done':
      return finished({ type: 'success' });
    case 'cancelled':
      // Clients from before 1.0 send no version, and do not know this outcome.
      return protocolVersion ? finished({ type: 'cancelled' }) : failed('The run was cancelled.', 'cancelled');
    case 'failed':
      return failed('The run failed. Run it again to continue.', await errorCode());
    case 'running':
    case 'waiting':
      return failed('The requests of this run cannot be shown. Open it in the inbox.', 'unreadable');
  }
}
