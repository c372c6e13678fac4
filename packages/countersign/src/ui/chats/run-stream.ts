// Streams a stored run, live and from the record, until it pauses or ends.

import { internalsOf } from '../../core/internals.ts';
import { isObject } from '../../core/json.ts';
import type { FinishReason } from '../../core/run/event.ts';
import type { Context } from '../../loop/tool/definition.ts';
import { unlessAborted } from '../../models/abort.ts';
import type { LiveChunk } from '../../runs/driving/live-chunks.ts';
import type { LoadedRun, RunRecord } from '../../runs/port/store.ts';
import { FINISH_REASONS } from '../picture/finish-reason.ts';
import type { Picture } from '../picture/picture.ts';
import type { ChatChunk, ChatMessage } from '../picture/ui-message.ts';
import { ChatWriter } from '../picture/writer.ts';
import { RESTING } from './chat-watch.ts';
import { Mailbox } from './mailbox.ts';
import type { PersonalChat } from './personal-chat.ts';
import type { Problems } from './record-post.ts';

type Update =
  | ({ readonly type: 'live' } & LiveChunk)
  | { readonly type: 'loaded'; readonly loaded: LoadedRun }
  | { readonly type: 'failed'; readonly error: unknown };

export type LiveUpdates = { readonly updates: Mailbox<Update>; readonly stop: () => void };

/** How many live chunks are buffered for a slow client. The rest is dropped; the recorded reply brings it later. */
const LIVE_BUFFER = 1_000;

export function listenToRun({ runs, chatId }: PersonalChat): LiveUpdates {
  const updates = new Mailbox<Update>(LIVE_BUFFER);
  let replyWithGap: number | undefined;
  const stop = internalsOf(runs).listen(chatId, (chunk) => {
    // After a gap the rest of a reply is useless until it is recorded.
    if (chunk.reply !== replyWithGap && !updates.offer({ type: 'live', ...chunk })) replyWithGap = chunk.reply;
  });
  return { updates, stop };
}

export type RunStreamOptions = {
  /** The chat as last read. Later events are added to it. */
  readonly picture: Picture;
  readonly known?: ChatMessage | undefined;
  readonly problems?: Problems;
  readonly signal: AbortSignal;
  /** After a post: a run that no process drives is driven here. */
  readonly driving?: { readonly context?: Context };
};

export async function* streamRun(
  chat: PersonalChat,
  { updates, stop }: LiveUpdates,
  { picture, known, problems, signal, driving }: RunStreamOptions,
): AsyncGenerator<ChatChunk> {
  const { writer: options, errorText } = chat;
  const done = new AbortController();
  const following = followRun(chat, updates, picture.seq, AbortSignal.any([signal, done.signal]), driving);
  const close = () => updates.close();
  signal.addEventListener('abort', close, { once: true });
  if (signal.aborted) close();
  try {
    let writer: ChatWriter | undefined;
    let live: LiveChunk[] = [];
    for (;;) {
      const batch = await updates.take();
      if (!batch || signal.aborted) return;
      let run: RunRecord | undefined;
      for (const update of batch) {
        if (update.type === 'live') live.push(update);
        if (update.type === 'failed') throw update.error;
        if (update.type !== 'loaded') continue;
        run = update.loaded.run;
        for (const event of update.loaded.events) picture.apply(event);
      }
      // The picture may be older than the post: nothing is sent before the run was read once more.
      if (!writer && !run) continue;
      live = addLive(picture, live);
      await picture.askPolicy();
      if (!writer) {
        picture.refuse(problems ?? new Map());
        writer = new ChatWriter(picture, options, known?.id === picture.messageId ? known : undefined);
        yield writer.begin();
      }
      yield* writer.changes();
      const rested = run && (await unlessAborted(restedRun(chat, run), signal));
      if (!rested) continue;
      const error = isObject(rested.outcome) && isObject(rested.outcome.error) ? rested.outcome.error : undefined;
      if (rested.status === 'failed')
        yield { type: 'error', errorText: errorText({ code: String(error?.code), message: String(error?.message) }) };
      else yield* writer.end(finishReasonOf(rested));
      return;
    }
  } finally {
    stop();
    signal.removeEventListener('abort', close);
    done.abort();
    updates.close();
    await following;
  }
}

/** Adds the chunks of the next reply to the picture. Drops those that are recorded, returns those of later replies. */
function addLive(picture: Picture, chunks: readonly LiveChunk[]): LiveChunk[] {
  const later: LiveChunk[] = [];
  for (const chunk of chunks)
    if (chunk.reply === picture.nextReply) picture.addLive(chunk.chunk);
    else if (chunk.reply > picture.nextReply) later.push(chunk);
  return later;
}

async function followRun(
  { runs, chatId }: PersonalChat,
  updates: Mailbox<Update>,
  after: number,
  signal: AbortSignal,
  driving: RunStreamOptions['driving'],
): Promise<void> {
  try {
    for await (const loaded of internalsOf(runs).follow(chatId, { after, signal }, driving))
      updates.post({ type: 'loaded', loaded });
  } catch (error) {
    updates.post({ type: 'failed', error });
  }
}

/** The run, if it has paused or ended and this process is not about to continue it. */
async function restedRun({ runs, chatId }: PersonalChat, run: RunRecord): Promise<RunRecord | undefined> {
  if (!RESTING.has(run.status)) return undefined;
  await internalsOf(runs).left(chatId);
  const now = await internalsOf(runs).find(chatId, { after: run.version });
  return now && now.events.length === 0 && RESTING.has(now.run.status) ? now.run : undefined;
}

function finishReasonOf({ status, outcome }: RunRecord): string {
  if (status === 'waiting') return FINISH_REASONS.interrupted;
  const reason = isObject(outcome) ? outcome.finishReason : undefined;
  return FINISH_REASONS[reason as FinishReason] ?? 'other';
}
