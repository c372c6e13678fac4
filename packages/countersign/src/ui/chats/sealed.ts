// A chat without a store: the browser carries the conversation, under seals that it can neither make nor change.
// A seal cannot tell whether it was used before: only a store makes a decision single-use.
import type { DecisionPart } from '../../core/decide.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Message } from '../../core/message.ts';
import { loadMessages } from '../../core/messages/load-messages.ts';
import type { Agent } from '../../loop/agent.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import { type PendingCard, pendingCards } from '../../runs/questions/card.ts';
import { decisionPart } from '../../runs/questions/decision.ts';
import type { Person } from '../chat-options.ts';
import { type Post, type PostedDecision, postedParts } from '../http/post.ts';
import { postedDecisions, problemsOf } from '../http/posted-decisions.ts';
import type { InterruptCard, Problem } from '../picture/card.ts';
import { cardOf, misfitOf } from '../picture/cards.ts';
import { Picture, sinceSpoken } from '../picture/picture.ts';
import type { ChatChunk } from '../picture/ui-message.ts';
import { ChatWriter, type WriterOptions } from '../picture/writer.ts';
import { generationChunks } from './generation.ts';
import type { Sealer } from './seal.ts';
import { type Claims, closedLength, type Proven, proveHistory, withoutCutOff } from './sealed-history.ts';

export type SealedChatOptions = {
  readonly agent: Agent;
  readonly tools: () => ReadonlyMap<string, ToolDefinition>;
  readonly sealer: Sealer;
  readonly expiresInMs: number;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly writer: WriterOptions;
  readonly mayDecide: (card: InterruptCard, person: Person) => Promise<boolean>;
  readonly whilePending: 'cancel' | 'refuse';
  readonly errorText: (error: { readonly code: string; readonly message: string }) => string;
};

export class SealedChat {
  readonly #options: SealedChatOptions;
  readonly #chatId: string;
  readonly #person: Person;

  constructor(options: SealedChatOptions, chatId: string, person: Person) {
    this.#options = options;
    this.#chatId = chatId;
    this.#person = person;
  }

  /** Checks everything that was posted before anything runs. */
  async take(given: Post, signal: AbortSignal): Promise<AsyncGenerator<ChatChunk>> {
    const { sealer } = this.#options;
    const messages = withoutCutOff(given.messages);
    const post = { ...given, messages, parts: postedParts(messages) };
    const proven = proveHistory(messages, sealer, { chatId: this.#chatId, personId: this.#person.id });
    if (!proven.last && proven.said.length === 0)
      throw new UsageError('invalid-request', { status: 400 }, 'Nothing was said and nothing decided.');
    const pending = pendingCards(this.#chatId, loadMessages(proven.history).state);
    const posted = postedDecisions(post, pending);
    const problems = new Map(posted.problems);
    const { resume, keys } = await this.#resume(posted.decisions, pending, proven, problems);
    return this.#stream(post, proven, { resume, keys, problems }, signal);
  }

  async #resume(
    decisions: readonly PostedDecision[],
    pending: ReadonlyMap<string, PendingCard>,
    { last }: Proven,
    problems: Map<string, readonly Problem[]>,
  ): Promise<Pick<Decided, 'resume' | 'keys'>> {
    const resume: DecisionPart[] = [];
    const keys = new Map<string, string>();
    for (const { interruptId, decision, digest, note } of decisions) {
      const card = pending.get(interruptId);
      if (!card || !last) throw unknownInterrupt(interruptId);
      if (!(last.expiresAt > this.#options.clock())) throw sealExpired(interruptId, last);
      const shown = this.#card(interruptId, card);
      if (!(await this.#mayDecide(shown)))
        throw new UsageError(
          'not-allowed',
          { status: 403, interruptId },
          `${this.#person.id} may not decide ${interruptId}.`,
        );
      const isOutdated = digest !== undefined && digest !== shown.digest;
      const problem = isOutdated ? 'This was decided on another card. Look at it again.' : misfitOf(shown, decision);
      if (problem !== undefined) {
        problems.set(interruptId, [{ path: [], message: problem }]);
        continue;
      }
      const signed = { by: this.#person.id, channel: 'chat', ...(note !== undefined && { note }) };
      keys.set(`resume[${resume.length}]`, interruptId);
      resume.push(decisionPart(card.part, decision, signed));
    }
    return { resume, keys };
  }

  async *#stream(post: Post, proven: Proven, decided: Decided, signal: AbortSignal): AsyncGenerator<ChatChunk> {
    const { writer: how, newId } = this.#options;
    const { history, said } = proven;
    const goesOn = said.length === 0 ? proven.last : undefined;
    const messageId = goesOn?.messageId ?? `msg_${newId()}`;
    const picture = new Picture({
      chatId: this.#chatId,
      state: loadMessages([...history, ...said]).state,
      messageId: () => messageId,
      card: (key, pending, at) => this.#card(key, pending, at),
      mayDecide: (card) => this.#mayDecide(card),
    });
    if (goesOn) picture.restore(sinceSpoken(history));
    picture.refuse(decided.problems);
    const writer = new ChatWriter(picture, how, post.known?.id === messageId ? post.known : undefined);
    const { agent, whilePending } = this.#options;
    const { context } = this.#person;
    // Nothing was said, nothing decided, and nothing is left to do.
    const isOver = goesOn !== undefined && history.at(-1)?.role === 'model' && !picture.state.turn;
    yield* generationChunks({
      picture,
      writer,
      signal,
      generate: isOver
        ? undefined
        : (listen) =>
            agent.generate({
              messages: [...history, ...said],
              resume: decided.resume,
              whilePending,
              ...(context && { context }),
              ...listen,
            }),
      leave: (messages) => this.#seal(messages, messageId, proven),
      refused: (error) => problemsByKey(error, decided.keys),
      errorText: this.#options.errorText,
    });
  }

  #seal(
    messages: readonly Message[],
    messageId: string,
    { history, said, last, beforeLast, lastToken }: Proven,
  ): ChatChunk {
    const { sealer, clock, expiresInMs } = this.#options;
    const goesOn = said.length === 0 ? last : undefined;
    const keep = goesOn?.keep ?? closedLength(history);
    const issuedAt = clock();
    // The system message is the agent's, and comes anew each time.
    const spoken = messages[0]?.role === 'system' ? messages.slice(1) : messages;
    const claims: Claims = {
      chat: this.#chatId,
      person: this.#person.id,
      issuedAt,
      expiresAt: issuedAt + expiresInMs,
      previous: goesOn ? beforeLast : lastToken,
      messageId,
      keep,
      messages: spoken.slice(keep),
    };
    return { type: 'data-seal', id: 'seal', data: { token: sealer.seal(claims) } };
  }

  #card(key: string, pending: PendingCard, at?: number): InterruptCard {
    return cardOf(key, pending, at, this.#options.tools());
  }

  #mayDecide(card: InterruptCard): Promise<boolean> {
    return this.#options.mayDecide(card, this.#person);
  }
}

type Decided = {
  readonly resume: readonly DecisionPart[];
  /** Which question each entry of the resumption decides. */
  readonly keys: ReadonlyMap<string, string>;
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
};

function problemsByKey(error: UsageError, keys: ReadonlyMap<string, string>): ReadonlyMap<string, readonly Problem[]> {
  const faults: unknown = error.details.faults;
  const found = new Map<string, readonly Problem[]>();
  for (const fault of Array.isArray(faults) ? faults : []) {
    const key = isObject(fault) ? keys.get(String(fault.where)) : undefined;
    if (key !== undefined) found.set(key, problemsOf(new UsageError(error.code, { faults: [fault] }, error.message)));
  }
  return found;
}

const unknownInterrupt = (interruptId: string): UsageError =>
  new UsageError('unknown-interrupt', { status: 404, interruptId }, `No interrupt ${interruptId} waits in this chat.`);

const sealExpired = (interruptId: string, { expiresAt }: Claims): UsageError =>
  new UsageError(
    'seal-expired',
    { status: 403, interruptId, expiresAt },
    `The question ${interruptId} could be decided until ${new Date(expiresAt).toISOString()}. Ask again.`,
  );
