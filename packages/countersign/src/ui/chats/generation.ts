// One generation as chunks of a message: what it says while it says it, what it does, and how it ends.
import { CountersignError, messageOf, UsageError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/event.ts';
import type { Message } from '../../core/message.ts';
import type { GenerateResponse } from '../../loop/response.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';
import type { Problem } from '../picture/card.ts';
import { finishReason } from '../picture/finish-reason.ts';
import type { Picture } from '../picture/picture.ts';
import type { ChatChunk } from '../picture/ui-message.ts';
import type { ChatWriter } from '../picture/writer.ts';
import { Mailbox } from './mailbox.ts';

/** What a generation is to be called with, so that it can be followed. */
export type Listeners = {
  readonly onChunk: (chunk: Chunk) => void;
  readonly onEvent: (event: RunEvent) => void;
  readonly abortSignal: AbortSignal;
};

export type GenerationOptions = {
  readonly picture: Picture;
  readonly writer: ChatWriter;
  readonly signal: AbortSignal;
  /** Undefined if there is nothing to do but to show what there is. */
  readonly generate: ((listen: Listeners) => Promise<GenerateResponse>) | undefined;
  /** What leaves with the messages to go on from, at the end and where it breaks off. */
  readonly leave?: (messages: readonly Message[]) => ChatChunk;
  /** What decisions that do not fit are told. */
  readonly refused: (error: UsageError) => ReadonlyMap<string, readonly Problem[]>;
  readonly errorText: (error: { readonly code: string; readonly message: string }) => string;
};

type News =
  | { readonly type: 'heard'; readonly chunk: Chunk }
  | { readonly type: 'event'; readonly event: RunEvent }
  | { readonly type: 'response'; readonly response: GenerateResponse }
  | { readonly type: 'failed'; readonly error: unknown };

/** A reader that leaves stops the generation: nobody is there to take what would come. */
export async function* generationChunks(options: GenerationOptions): AsyncGenerator<ChatChunk> {
  const { picture, writer, generate, signal } = options;
  const left = new AbortController();
  const news = generate && follow(generate, AbortSignal.any([signal, left.signal]));
  try {
    await picture.admit();
    yield writer.begin();
    yield* writer.news();
    if (!news) yield* writer.end('stop');
    while (news) {
      const items = await news.take();
      if (!items) return;
      for (const item of items) {
        if (item.type === 'heard') picture.say(item.chunk);
        else if (item.type === 'event') picture.apply(item.event);
        else {
          await picture.admit();
          yield* writer.news();
          yield* end(item, options);
          return;
        }
      }
      await picture.admit();
      yield* writer.news();
    }
  } finally {
    left.abort();
    news?.close();
  }
}

function follow(generate: NonNullable<GenerationOptions['generate']>, abortSignal: AbortSignal): Mailbox<News> {
  const news = new Mailbox<News>();
  const generation = generate({
    abortSignal,
    onChunk: (chunk) => {
      if (chunk.path === undefined) news.post({ type: 'heard', chunk });
    },
    onEvent: (event) => news.post({ type: 'event', event }),
  });
  generation.then(
    (response) => news.post({ type: 'response', response }),
    (error: unknown) => news.post({ type: 'failed', error }),
  );
  return news;
}

function* end(
  item: Extract<News, { type: 'response' | 'failed' }>,
  { picture, writer, leave, refused, errorText }: GenerationOptions,
): Generator<ChatChunk> {
  if (item.type === 'response') {
    if (leave) yield leave(item.response.messages);
    yield* writer.end(finishReason(item.response.finishReason));
    return;
  }
  const { error } = item;
  if (error instanceof UsageError && error.code === 'invalid-resume') {
    picture.refuse(refused(error));
    yield* writer.news();
    yield* writer.end('tool-calls');
    return;
  }
  const known = error instanceof CountersignError ? error : undefined;
  if (leave && known?.messages) yield leave(known.messages);
  yield { type: 'error', errorText: errorText({ code: known?.code ?? 'invariant', message: messageOf(error) }) };
}
