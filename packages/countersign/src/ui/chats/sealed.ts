// A chat without a store: the browser keeps the conversation, with seals that it can neither forge nor change.
// A seal can be used again: only a store makes a decision single-use.
import { type DecisionPart, readResume } from '../../core/decide.ts';
import { CountersignError, UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { Message } from '../../core/message.ts';
import { loadMessages } from '../../core/messages/load-messages.ts';
import type { State } from '../../core/state.ts';
import type { Agent } from '../../loop/agent.ts';
import { checkResume } from '../../loop/resume.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import { type PendingCard, pendingCards } from '../../runs/questions/card.ts';
import { decisionPart } from '../../runs/questions/decision.ts';
import { inputThatRuns } from '../../runs/questions/policy.ts';
import type { Person } from '../chat-options.ts';
import { type Post, postedParts } from '../http/post.ts';
import { postedDecisions, problemsOf } from '../http/posted-decisions.ts';
import type { InterruptCard, Problem } from '../picture/card.ts';
import { cardOf, misfitOf } from '../picture/cards.ts';
import { Picture, sinceUserSpoke } from '../picture/picture.ts';
import type { ChatChunk } from '../picture/ui-message.ts';
import { ChatWriter, type WriterOptions } from '../picture/writer.ts';
import type { Sealer } from '../seal.ts';
import { generationChunks } from './generation.ts';
import { type Claims, closedLength, type Proven, proveHistory, withoutCutOff } from './sealed-history.ts';

export type SealedChatOptions = {
  readonly agent: Agent;
  readonly tools: () => ReadonlyMap<string, ToolDefinition>;
  /** All defined tools, also those the agent does not have. */
  readonly definedTools: () => ReadonlyMap<string, ToolDefinition>;
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

  /** Checks the whole post before anything runs. */
  async take(received: Post, signal: AbortSignal): Promise<AsyncGenerator<ChatChunk>> {
    const { sealer } = this.#options;
    const messages = withoutCutOff(received.messages);
    const post = { ...received, messages, parts: postedParts(messages) };
    const proven = proveHistory(messages, sealer, { chatId: this.#chatId, personId: this.#person.id });
    if (!proven.last && proven.newMessages.length === 0)
      throw new UsageError('invalid-request', { status: 400 }, 'The post has no message and no decision.');
    return this.#stream(post, proven, await this.#decide(post, proven), signal);
  }

  async #decide(post: Post, { history, last }: Proven): Promise<Decided> {
    const { state } = loadMessages(history);
    const pending = pendingCards(this.#chatId, state);
    const { decisions, problems: found } = postedDecisions(post, pending);
    const problems = new Map(found);
    const resume: DecisionPart[] = [];
    const keys = new Map<string, string>();
    const cards: InterruptCard[] = [];
    for (const { interruptId, decision, digest, note } of decisions) {
      const question = pending.get(interruptId);
      if (!question || !last) throw unknownInterrupt(interruptId);
      if (!(last.expiresAt > this.#options.clock())) throw sealExpired(interruptId, last);
      const card = this.#card(interruptId, question);
      cards.push(card);
      const isOutdated = digest !== undefined && digest !== card.digest;
      const problem = isOutdated ? OUTDATED : misfitOf(card, decision);
      if (problem !== undefined) {
        problems.set(interruptId, [{ path: [], message: problem }]);
        continue;
      }
      const signed = { by: this.#person.id, channel: 'chat', ...(note !== undefined && { note }) };
      keys.set(`resume[${resume.length}]`, interruptId);
      resume.push(decisionPart(question.part, decision, signed));
    }
    const inputs = await this.#inputsThatRun(state, resume, pending, keys);
    for (const card of cards) await this.#refuseUnlessAllowed({ ...card, input: inputs.get(card.id) ?? card.input });
    return { resume, keys, problems };
  }

  /** The inputs that run with these decisions, by question. Empty if the decisions are invalid: then nothing runs. */
  async #inputsThatRun(
    state: State,
    resume: readonly DecisionPart[],
    pending: ReadonlyMap<string, PendingCard>,
    keys: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, Json>> {
    const inputs = new Map<string, Json>();
    const { tools, definedTools } = this.#options;
    try {
      const known = { tools: tools(), defined: definedTools() };
      const { leaves } = await checkResume(state, readResume(resume), known);
      for (const leaf of leaves) {
        const key = keys.get(leaf.where);
        const question = key === undefined ? undefined : pending.get(key);
        if (key !== undefined && question) inputs.set(key, inputThatRuns(leaf, question.part));
      }
    } catch (error) {
      // The generation finds the same fault, and the stream shows it on the cards.
      if (!(error instanceof CountersignError)) throw error;
    }
    return inputs;
  }

  async #refuseUnlessAllowed(card: InterruptCard): Promise<void> {
    if (await this.#mayDecide(card)) return;
    throw new UsageError(
      'not-allowed',
      { status: 403, interruptId: card.id },
      `${this.#person.id} is not allowed to make this decision on ${card.id}.`,
    );
  }

  async *#stream(post: Post, proven: Proven, decided: Decided, signal: AbortSignal): AsyncGenerator<ChatChunk> {
    const { writer: writerOptions, newId } = this.#options;
    const { history, newMessages } = proven;
    const continued = newMessages.length === 0 ? proven.last : undefined;
    const messageId = continued?.messageId ?? `msg_${newId()}`;
    const picture = new Picture({
      chatId: this.#chatId,
      state: loadMessages([...history, ...newMessages]).state,
      messageId: () => messageId,
      card: (key, pending, at) => this.#card(key, pending, at),
      mayDecide: (card) => this.#mayDecide(card),
    });
    if (continued) picture.restore(sinceUserSpoke(history));
    picture.refuse(decided.problems);
    const writer = new ChatWriter(picture, writerOptions, post.known?.id === messageId ? post.known : undefined);
    const { agent, whilePending } = this.#options;
    const { context } = this.#person;
    // Nothing new was posted, and the last reply is complete.
    const isOver = continued !== undefined && history.at(-1)?.role === 'model' && !picture.state.turn;
    yield* generationChunks({
      picture,
      writer,
      signal,
      generate: isOver
        ? undefined
        : (listen) =>
            agent.generate({
              messages: [...history, ...newMessages],
              resume: decided.resume,
              whilePending,
              ...(context && { context }),
              ...listen,
            }),
      seal: (messages) => this.#seal(messages, messageId, proven),
      refused: (error) => problemsByKey(error, decided.keys),
      errorText: this.#options.errorText,
    });
  }

  #seal(
    messages: readonly Message[],
    messageId: string,
    { history, newMessages, last, beforeLast, lastToken }: Proven,
  ): ChatChunk {
    const { sealer, clock, expiresInMs } = this.#options;
    const continued = newMessages.length === 0 ? last : undefined;
    const keep = continued?.keep ?? closedLength(history);
    const issuedAt = clock();
    // The agent adds its system message again each time.
    const conversation = messages[0]?.role === 'system' ? messages.slice(1) : messages;
    const claims: Claims = {
      chat: this.#chatId,
      person: this.#person.id,
      issuedAt,
      expiresAt: issuedAt + expiresInMs,
      previous: continued ? beforeLast : lastToken,
      messageId,
      keep,
      messages: conversation.slice(keep),
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

const OUTDATED = 'The request has changed since you decided. Please review it again.';

type Decided = {
  readonly resume: readonly DecisionPart[];
  /** The key of the question that each entry of `resume` decides. */
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
  new UsageError(
    'unknown-interrupt',
    { status: 404, interruptId },
    `Request ${interruptId} is not pending in this chat.`,
  );

const sealExpired = (interruptId: string, { expiresAt }: Claims): UsageError =>
  new UsageError(
    'seal-expired',
    { status: 403, interruptId, expiresAt },
    `Request ${interruptId} expired at ${new Date(expiresAt).toISOString()}. Ask the model again.`,
  );
