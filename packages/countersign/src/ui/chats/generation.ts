// Streams one generation as the chunks of a message.
import { CountersignError, messageOf, UsageError } from '../../core/errors.ts';
import type { Message } from '../../core/messages/message.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { GenerateResponse } from '../../loop/response.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';
import type { Problem } from '../picture/card.ts';
import { FINISH_REASONS } from '../picture/finish-reason.ts';
import type { Picture } from '../picture/picture.ts';
import type { ChatChunk } from '../picture/ui-message.ts';
import type { ChatWriter } from '../picture/writer.ts';
import { Mailbox } from './mailbox.ts';

/** Options to pass on to a generation, so that it can be streamed. */
export type Listeners = {
  readonly onChunk: (chunk: Chunk) => void;
  readonly onEvent: (event: RunEvent) => void;
  readonly abortSignal: AbortSignal;
};

export type GenerationOptions = {
  readonly picture: Picture;
  readonly writer: ChatWriter;
  readonly signal: AbortSignal;
  /** Undefined if there is nothing to generate: only the picture is sent. */
  readonly generate: ((listen: Listeners) => Promise<GenerateResponse>) | undefined;
  /** Seals the messages, at the end and after a failure. */
  readonly seal?: (messages: readonly Message[]) => ChatChunk;
  readonly refused: (error: UsageError) => ReadonlyMap<string, readonly Problem[]>;
  readonly errorText: (error: { readonly code: string; readonly message: string }) => string;
};

type Update =
  | { readonly type: 'chunk'; readonly chunk: Chunk }
  | { readonly type: 'event'; readonly event: RunEvent }
  | { readonly type: 'response'; readonly response: GenerateResponse }
  | { readonly type: 'failed'; readonly error: unknown };

/** Stops the generation when the reader leaves. */
export async function* generationChunks(options: GenerationOptions): AsyncGenerator<ChatChunk> {
  const { picture, writer, generate, signal } = options;
  const left = new AbortController();
  const updates = generate && follow(generate, AbortSignal.any([signal, left.signal]));
  try {
    await picture.askPolicy();
    yield writer.begin();
    yield* writer.changes();
    if (!updates) yield* writer.end('stop');
    while (updates) {
      const batch = await updates.take();
      if (!batch) return;
      for (const update of batch) {
        if (update.type === 'chunk') picture.addLive(update.chunk);
        else if (update.type === 'event') picture.apply(update.event);
        else {
          await picture.askPolicy();
          yield* writer.changes();
          yield* end(update, options);
          return;
        }
      }
      const asking = picture.askPolicy();
      if (asking instanceof Promise) await asking;
      yield* writer.changes();
    }
  } finally {
    left.abort();
    updates?.close();
  }
}

function follow(generate: NonNullable<GenerationOptions['generate']>, abortSignal: AbortSignal): Mailbox<Update> {
  const updates = new Mailbox<Update>();
  const generation = generate({
    abortSignal,
    onChunk: (chunk) => {
      if (chunk.path === undefined) updates.post({ type: 'chunk', chunk });
    },
    onEvent: (event) => updates.post({ type: 'event', event }),
  });
  generation.then(
    (response) => updates.post({ type: 'response', response }),
    (error: unknown) => updates.post({ type: 'failed', error }),
  );
  return updates;
}

function* end(
  result: Extract<Update, { type: 'response' | 'failed' }>,
  { picture, writer, seal, refused, errorText }: GenerationOptions,
): Generator<ChatChunk> {
  if (result.type === 'response') {
    if (seal) yield seal(result.response.messages);
    yield* writer.end(FINISH_REASONS[result.response.finishReason]);
    return;
  }
  const { error } = result;
  if (error instanceof UsageError && error.code === 'invalid-resume') {
    picture.refuse(refused(error));
    yield* writer.changes();
    yield* writer.end('tool-calls');
    return;
  }
  const known = error instanceof CountersignError ? error : undefined;
  if (seal && known?.messages) yield seal(known.messages);
  yield { type: 'error', errorText: errorText({ code: known?.code ?? 'invariant', message: messageOf(error) }) };
}
