// The prompt of a conversation: each message is converted once, and the result lives as long as the conversation.
import { sameJson, toJson } from '../core/json.ts';
import type { Message, Role } from '../core/messages/message.ts';
import type { PromptMessage } from './specification.ts';

type Convert = (message: Message) => PromptMessage;

/**
 * Makes the prompt of a conversation. Many conversations come once, from a file or a request, so nothing is kept the first time.
 * From the second time on each message is converted once: a message that was replaced or changed is converted again, and no other.
 */
export function conversations(convert: Convert): (messages: readonly Message[]) => PromptMessage[] {
  // The array of the loop grows during a generation, and becomes the messages of its response.
  const byArray = new WeakMap<readonly Message[], Conversation>();
  // The next generation has another array. Callers may share user messages, but a reply belongs to one conversation.
  const byReply = new WeakMap<Message, Conversation>();
  return (messages) => {
    if (messages.length < MANY) return promptOnce(messages, convert);
    const reply = messages.find(({ role }) => role === 'model');
    const known = byArray.get(messages) ?? (reply && byReply.get(reply));
    const conversation = known ?? new Conversation(convert);
    if (!known) byArray.set(messages, conversation);
    if (reply && byReply.get(reply) !== conversation) byReply.set(reply, conversation);
    if (known) known.follow(messages);
    return known ? known.prompt() : promptOnce(messages, convert);
  };
}

/** Fewer messages are converted faster than they are remembered. */
const MANY = 8;

function promptOnce(messages: readonly Message[], convert: Convert): PromptMessage[] {
  const prompt: PromptMessage[] = [];
  for (const message of messages) append(prompt, convert(ownCopy(message) ?? message));
  return prompt;
}

/** A conversation with its prompt. The prompt is frozen and shares nothing with the messages, so a provider can change neither. */
class Conversation {
  readonly #convert: Convert;
  /** The array that it followed last. */
  #array: readonly Message[] | undefined;
  readonly #messages: Message[] = [];
  /** Each message at the time of its conversion. */
  readonly #copies: Copy[] = [];
  /** Undefined for a message whose prompt form cannot be kept. */
  readonly #said: (PromptMessage | undefined)[] = [];
  /** `#said` is the whole prompt: no message is missing, empty or to be joined. */
  #isPrompt = true;

  constructor(convert: Convert) {
    this.#convert = convert;
  }

  /** Converts new and changed messages. */
  follow(messages: readonly Message[]): void {
    const known = this.#messages;
    const last = known.length - 1;
    // The loop adds to its array and changes nothing in it.
    const isSame = this.#array === messages && last < messages.length && known[last] === messages[last];
    this.#array = undefined;
    if (!isSame) {
      if (known.length > messages.length) known.length = messages.length;
      this.#copies.length = known.length;
      this.#said.length = known.length;
      for (let index = 0; index < known.length; index++) {
        const message = messages[index] as Message;
        const isKnown = known[index] === message && isUnchanged(message, this.#copies[index] as Copy);
        if (!isKnown) this.#convertAt(messages, index);
      }
    }
    while (known.length < messages.length) this.#convertAt(messages, known.length);
    this.#array = messages;
  }

  /** A new array each time, which the provider may change. */
  prompt(): PromptMessage[] {
    if (this.#isPrompt) return this.#said.slice() as PromptMessage[];
    const prompt: PromptMessage[] = [];
    for (const [index, said] of this.#said.entries())
      append(prompt, said ?? this.#convert(this.#messages[index] as Message));
    return prompt;
  }

  #convertAt(messages: readonly Message[], index: number): void {
    const message = messages[index] as Message;
    const copy = ownCopy(message);
    const form = this.#convert(copy ?? message);
    const said = copy && freeze(form) ? form : undefined;
    const follows = message.role === 'tool' && messages[index - 1]?.role === 'tool';
    if (!said || said.content.length === 0 || follows) this.#isPrompt = false;
    this.#messages[index] = message;
    this.#said[index] = said;
    this.#copies[index] =
      textOf(message) === undefined ? (copy ?? message) : { role: message.role, text: textOf(message) };
  }
}

/** A copy of a message, or of the one text that it consists of. */
type Copy = Message | { readonly role: Role; readonly text: string | undefined };

/** The text of a message that is nothing but one text. */
export function textOf({ content, metadata }: Message): string | undefined {
  const part = content[0];
  const isText =
    content.length === 1 && part && 'text' in part && part.metadata === undefined && metadata === undefined;
  return isText ? part.text : undefined;
}

/** A message that shares nothing but strings with this one; undefined if it is not JSON. */
function ownCopy(message: Message): Message | undefined {
  if (textOf(message) !== undefined) return message;
  const copy = toJson(message);
  return copy.ok ? (copy.value as Message) : undefined;
}

/** Whether a message is still the same as its copy. */
function isUnchanged(message: Message, copy: Copy): boolean {
  if (message.role !== copy.role) return false;
  if ('text' in copy) return textOf(message) === copy.text;
  const { content, metadata } = message;
  const isAsLong = content.length === copy.content.length && sameJson(metadata, copy.metadata);
  return isAsLong && content.every((part, index) => sameJson(part, copy.content[index]));
}

/** Adds a message that says something. Consecutive tool messages become one. */
function append(prompt: PromptMessage[], message: PromptMessage): void {
  if (message.content.length === 0) return;
  const last = prompt.at(-1);
  if (message.role === 'tool' && last?.role === 'tool')
    prompt[prompt.length - 1] = { ...last, ...message, content: [...last.content, ...message.content] };
  else prompt.push(message);
}

/** Freezes JSON in depth. Returns false if the value holds anything else. */
function freeze(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false;
  Object.freeze(value);
  for (const key in value) if (!freeze((value as { readonly [key: string]: unknown })[key])) return false;
  return true;
}
