// A chat whose run is in a store: the record is the truth, and the browser says only what it says and decides.
import { ConflictError, CountersignError, UsageError } from '../../core/errors.ts';
import type { FinishReason } from '../../core/event.ts';
import { isObject, sameJson } from '../../core/json.ts';
import type { Message, Part } from '../../core/message.ts';
import { newState } from '../../core/messages/load-messages.ts';
import type { State } from '../../core/state.ts';
import type { Agent } from '../../loop/agent.ts';
import { hear } from '../../loop/generate.ts';
import type { Context, ToolDefinition } from '../../loop/tool/definition.ts';
import { unlessAborted } from '../../models/abort.ts';
import type { LiveChunk } from '../../runs/driving/live-chunks.ts';
import type { LoadedRun, RunRecord } from '../../runs/port/store.ts';
import { pendingCards, runIdOf } from '../../runs/questions/card.ts';
import { readFrom, stateOfRun } from '../../runs/questions/view.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Person } from '../chat-options.ts';
import type { Post, PostedDecision, PostedMessage } from '../http/post.ts';
import { canHaveSeen, postedDecisions, problemsOf } from '../http/posted-decisions.ts';
import type { InterruptCard, Problem } from '../picture/card.ts';
import { cardOf, interruptCard, misfitOf } from '../picture/cards.ts';
import { finishReason } from '../picture/finish-reason.ts';
import { MESSAGE_ID, Picture, REGENERATES } from '../picture/picture.ts';
import type { ChatChunk, ChatMessage } from '../picture/ui-message.ts';
import { ChatWriter, type WriterOptions } from '../picture/writer.ts';
import { chatMessage } from './chat-messages.ts';
import { AT_REST, type ChatStanding, standingsOf } from './chat-watch.ts';
import { Mailbox } from './mailbox.ts';

export type StoredChatOptions = {
  readonly agent: Agent;
  readonly runs: Runs;
  readonly tools: () => ReadonlyMap<string, ToolDefinition>;
  readonly writer: WriterOptions;
  readonly mayRead: (run: RunRecord, person: Person) => Promise<boolean>;
  readonly mayDecide: (card: InterruptCard, person: Person) => Promise<boolean>;
  readonly whilePending: 'cancel' | 'refuse';
  readonly errorText: (error: { readonly code: string; readonly message: string }) => string;
};

/** A whole chat, to begin `useChat` with. */
export type LoadedChat = Pick<ChatStanding, 'status' | 'version'> & {
  readonly id: string;
  readonly messages: readonly ChatMessage[];
};

/** Beyond every event: only the record of the run is read. */
const NO_EVENTS = 2_147_483_647;

/** How many pieces of a reply wait for a slow client before they are dropped; the record brings them later. */
const LIVE_ROOM = 1_000;

export class StoredChat {
  readonly #options: StoredChatOptions;
  readonly #chatId: string;
  readonly #person: Person;

  constructor(options: StoredChatOptions, chatId: string, person: Person) {
    this.#options = options;
    this.#chatId = chatId;
    this.#person = person;
  }

  /** Takes what was posted; durable once this resolves. The stream tells what comes of it. */
  async take(post: Post, signal: AbortSignal): Promise<AsyncGenerator<ChatChunk>> {
    // Whoever drives the run streams its model only if somebody listens when it starts.
    const { live, stop } = this.#listen();
    try {
      const problems = await this.#take(post, signal);
      const { context } = this.#person;
      // Whoever drove it may have died, and there may be no worker.
      const driving = context ? { context } : {};
      return this.#stream(live, stop, { known: post.known, problems, signal, driving });
    } catch (error) {
      stop();
      throw error;
    }
  }

  /** The current message of the model from its beginning, and what happens until it rests; undefined if there is none. */
  async replay(signal: AbortSignal): Promise<AsyncGenerator<ChatChunk> | undefined> {
    const loaded = await this.#find();
    if (!loaded) return undefined;
    const picture = this.#picture(loaded);
    if (!picture.current && AT_REST.has(loaded.run.status)) return undefined;
    const { live, stop } = this.#listen();
    return this.#stream(live, stop, { signal });
  }

  /** Throws `unknown-run` if there is none that this person may read. */
  async load(): Promise<LoadedChat> {
    const loaded = await this.#existing();
    const picture = this.#picture(loaded);
    await picture.admit();
    const { status, version } = loaded.run;
    const { writer } = this.#options;
    return {
      id: this.#chatId,
      status,
      version,
      messages: picture.messages.map((message) => chatMessage(message, writer)),
    };
  }

  /** How the chat stands: now, and whenever it comes to rest. Throws as `load` does. */
  async watch(signal: AbortSignal): Promise<AsyncGenerator<ChatStanding>> {
    await this.#existing(NO_EVENTS);
    const { runs, tools } = this.#options;
    return standingsOf(runs).follow(this.#chatId, tools, signal);
  }

  #listen(): { readonly live: Mailbox<News>; readonly stop: () => void } {
    const live = new Mailbox<News>(LIVE_ROOM);
    let gapIn: number | undefined;
    const stop = this.#options.runs.listen(this.#chatId, (heard) => {
      // After a gap, the rest of a reply comes with the record.
      if (heard.reply !== gapIn && !live.offer({ type: 'heard', ...heard })) gapIn = heard.reply;
    });
    return { live, stop };
  }

  async #take(post: Post, signal: AbortSignal): Promise<ReadonlyMap<string, readonly Problem[]>> {
    const loaded = await this.#find();
    if (!loaded) {
      if (!post.userMessage) throw unknownChat(this.#chatId);
      if (await this.#begin(post.userMessage)) return new Map();
    }
    const existing = loaded ?? (await this.#existing());
    const { run } = existing;
    const state = stateOfRun(existing);
    const pending = pendingCards(this.#chatId, state);
    const { decisions, problems } = postedDecisions(post, pending);
    const refused = new Map(problems);
    let isNew = false;
    for (const decision of decisions) {
      const found = await this.#decide(decision);
      if (found) refused.set(decision.interruptId, found);
      isNew ||= found !== undefined || pending.has(decision.interruptId);
    }
    // Who edits a message or wants another answer posts nothing of what came after it.
    const isCut = post.userMessage !== undefined && lastUnder(post.userMessage.id, state) !== undefined;
    const seen = decisions.length === 0 && !isCut && canHaveSeen(post, pending) ? run.version : 0;
    if (post.userMessage) await this.#say(post.userMessage, post.regenerate, seen, signal);
    // Nothing was said, and nothing decided that was not before: somebody tries again after a failure.
    else if (!isNew && run.status === 'failed') await this.#again();
    return refused;
  }

  /** False if somebody else began the chat just now. */
  async #begin(said: PostedMessage): Promise<boolean> {
    const { agent } = this.#options;
    const { id: by, context } = this.#person;
    const start = { runId: this.#chatId, by, ...(context && { context }) };
    try {
      await agent.start({ messages: [userMessage(said)] }, start);
      return true;
    } catch (error) {
      if (error instanceof CountersignError && error.code === 'run-exists') return false;
      throw error;
    }
  }

  /** Why the decision was refused, where it can be mended or came too late. */
  async #decide({ interruptId, decision, digest, note }: PostedDecision): Promise<readonly Problem[] | undefined> {
    const { runs, agent, mayDecide } = this.#options;
    const { id: by, context } = this.#person;
    if (runIdOf(interruptId) !== this.#chatId) throw unknownInterrupt(interruptId);
    // It may have been asked after the chat was loaded, such as by what this very post decided before.
    const card = interruptCard(await runs.interrupt(interruptId), agent, true);
    if (card.status === 'pending' && !(await mayDecide(card, this.#person)))
      throw new UsageError(
        'not-allowed',
        { status: 403, interruptId, runId: this.#chatId },
        `${by} may not decide ${interruptId}.`,
      );
    const misfit = card.status === 'pending' ? misfitOf(card, decision) : undefined;
    if (misfit !== undefined) return [{ path: [], message: misfit }];
    try {
      await runs.decide(interruptId, decision, {
        by,
        channel: 'chat',
        ...(note !== undefined && { note }),
        ...(digest !== undefined && { digest }),
        ...(context && { context }),
      });
      return undefined;
    } catch (error) {
      // The card that the stream brings says by whom, and how.
      if (error instanceof ConflictError && error.code === 'already-decided')
        return [{ path: [], message: 'This was decided before; your decision was not taken.' }];
      if (error instanceof ConflictError && error.code === 'outdated-card')
        return [{ path: [], message: 'This was decided on an older card. Look at it again.' }];
      if (error instanceof UsageError && MENDABLE.has(error.code)) return problemsOf(error);
      throw error;
    }
  }

  /** The same words posted again are said once. Other words under their id are an edit, which is said like anything else. */
  async #say(said: PostedMessage, regenerate: boolean, seen: number, signal: AbortSignal): Promise<void> {
    const { runs, whilePending } = this.#options;
    const { id: by, context } = this.#person;
    const view = await runs.get(this.#chatId);
    if (view.status === 'failed' && (regenerate || isLastSaid(view.messages, said))) return this.#again();
    const message = userMessage(said, regenerate);
    await runs.speak(
      this.#chatId,
      (run, kept) => {
        if (!regenerate && wasSaid(run.state, said)) return;
        // Nothing waits in a run that was ended.
        hear(run, [message], run.state.ended ? 'cancel' : whilePending, kept, by);
      },
      { signal, seen, by, ...(context && { context }) },
    );
  }

  async #again(): Promise<void> {
    const { context } = this.#person;
    await this.#options.runs.drive(this.#chatId, context ? { context } : {});
  }

  async *#stream(
    live: Mailbox<News>,
    stop: () => void,
    { known, problems, signal, driving }: StreamOptions,
  ): AsyncGenerator<ChatChunk> {
    const { writer: how, errorText } = this.#options;
    const done = new AbortController();
    const until = AbortSignal.any([signal, done.signal]);
    const following = this.#follow(live, until, driving);
    // Nobody reads any more: what comes is waited for in vain.
    const close = () => live.close();
    signal.addEventListener('abort', close, { once: true });
    if (signal.aborted) close();
    try {
      let picture: Picture | undefined;
      let writer: ChatWriter | undefined;
      let heard: LiveChunk[] = [];
      for (;;) {
        const news = await live.take();
        if (!news || signal.aborted) return;
        let run: RunRecord | undefined;
        for (const item of news) {
          if (item.type === 'heard') heard.push(item);
          if (item.type === 'failed') throw item.error;
          if (item.type !== 'loaded') continue;
          run = item.loaded.run;
          picture ??= this.#picture(item.loaded, { events: [] });
          for (const event of item.loaded.events) picture.apply(event);
        }
        if (!picture) continue;
        heard = takeIn(picture, heard);
        await picture.admit();
        if (!writer) {
          picture.refuse(problems ?? new Map());
          writer = new ChatWriter(picture, how, known?.id === picture.messageId ? known : undefined);
          yield writer.begin();
        }
        yield* writer.news();
        const rested = run && (await unlessAborted(this.#restedAs(run), signal));
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
      live.close();
      await following;
    }
  }

  /** The run, if it rests and nobody here is about to go on with it. */
  async #restedAs(run: RunRecord): Promise<RunRecord | undefined> {
    if (!AT_REST.has(run.status)) return undefined;
    const { runs } = this.#options;
    await runs.left(this.#chatId);
    const now = await runs.find(this.#chatId, { after: run.version });
    return now && now.events.length === 0 && AT_REST.has(now.run.status) ? now.run : undefined;
  }

  /** Brings the record into the mailbox, as it grows. */
  async #follow(mailbox: Mailbox<News>, signal: AbortSignal, driving: StreamOptions['driving']): Promise<void> {
    try {
      for await (const loaded of this.#options.runs.follow(this.#chatId, { signal }, driving))
        mailbox.post({ type: 'loaded', loaded });
    } catch (error) {
      mailbox.post({ type: 'failed', error });
    }
  }

  #picture(loaded: LoadedRun, { events = loaded.events }: { events?: LoadedRun['events'] } = {}): Picture {
    const { tools, mayDecide } = this.#options;
    const picture = new Picture({
      chatId: this.#chatId,
      state: newState(),
      messageId: (seq) => `${this.#chatId}.${seq}`,
      card: (key, pending, at) => cardOf(key, pending, at, tools()),
      mayDecide: (card) => mayDecide(card, this.#person),
    });
    readFrom(loaded, () => {
      for (const event of events) picture.apply(event);
    });
    return picture;
  }

  async #find(after = 0): Promise<LoadedRun | undefined> {
    const { runs, agent, mayRead } = this.#options;
    const loaded = await runs.find(this.#chatId, { after });
    if (!loaded) return undefined;
    // Whether there is such a chat is nobody else's business.
    if (loaded.run.agent !== agent.name || !(await mayRead(loaded.run, this.#person))) throw unknownChat(this.#chatId);
    return loaded;
  }

  async #existing(after = 0): Promise<LoadedRun> {
    const loaded = await this.#find(after);
    if (!loaded) throw unknownChat(this.#chatId);
    return loaded;
  }
}

type News =
  | ({ readonly type: 'heard' } & LiveChunk)
  | { readonly type: 'loaded'; readonly loaded: LoadedRun }
  | { readonly type: 'failed'; readonly error: unknown };

type StreamOptions = {
  readonly known?: ChatMessage | undefined;
  readonly problems?: ReadonlyMap<string, readonly Problem[]>;
  readonly signal: AbortSignal;
  /** For who said or decided something: a run that nobody drives is driven here. */
  readonly driving?: { readonly context?: Context };
};

/** Decisions that can be mended and made again. */
const MENDABLE: ReadonlySet<string> = new Set(['invalid-resume', 'invalid-decision', 'not-json']);

/** Takes in what belongs to the reply that comes next; what is on record already is dropped, what comes later kept. */
function takeIn(picture: Picture, heard: readonly LiveChunk[]): LiveChunk[] {
  const later: LiveChunk[] = [];
  for (const item of heard)
    if (item.reply === picture.nextReply) picture.say(item.chunk);
    else if (item.reply > picture.nextReply) later.push(item);
  return later;
}

function userMessage({ id, content }: PostedMessage, regenerate = false): Message {
  return { role: 'user', content, metadata: { [MESSAGE_ID]: id, ...(regenerate && { [REGENERATES]: true }) } };
}

function isLastSaid(messages: readonly Message[], { id, content }: PostedMessage): boolean {
  const last = messages.findLast(({ role }) => role === 'user');
  return last?.metadata?.[MESSAGE_ID] === id && isSame(last.content, content);
}

function wasSaid(state: State, said: PostedMessage): boolean {
  const last = lastUnder(said.id, state);
  return last !== undefined && isSame(last.content, said.content);
}

function lastUnder(id: string, { history, queued }: State): Message | undefined {
  const isUnderId = ({ role, metadata }: Message): boolean => role === 'user' && metadata?.[MESSAGE_ID] === id;
  return queued.findLast(isUnderId) ?? history.toArray().findLast(isUnderId);
}

/** As a page knows them: which type a file has it is told also where it had not said so. */
function isSame(one: PostedMessage['content'], other: PostedMessage['content']): boolean {
  const known = (part: Part) => ('media' in part ? { url: part.media.url } : part);
  return sameJson(one.map(known), other.map(known));
}

function finishReasonOf({ status, outcome }: RunRecord): string {
  if (status === 'waiting') return finishReason('interrupted');
  const reason = isObject(outcome) ? outcome.finishReason : undefined;
  return finishReason(typeof reason === 'string' ? (reason as FinishReason) : 'other');
}

const unknownChat = (chatId: string): UsageError =>
  new UsageError('unknown-run', { status: 404, runId: chatId }, `There is no chat ${chatId} here for you.`);

const unknownInterrupt = (interruptId: string): UsageError =>
  new UsageError(
    'unknown-interrupt',
    { status: 404, interruptId },
    `There is no interrupt ${interruptId} in this chat.`,
  );
