// The prompt of a conversation: each message is converted once, and the result lives as long as the conversation.
import { sameJson, toJson } from '../core/json.ts';
import type { Message, Part } from '../core/message.ts';
import type { PromptMessage } from './specification.ts';

type Convert = (message: Message) => PromptMessage;

/**
 * Finds what is kept of a conversation, and adds its new messages. A message that was replaced or changed since an earlier
 * generation is converted again, and no other. What is kept is frozen and shares nothing with the messages, so a provider can
 * change neither.
 */
export function conversations(convert: Convert): (messages: readonly Message[]) => Conversation {
  // The array of the loop grows during a generation, and becomes the messages of its response.
  const byArray = new WeakMap<readonly Message[], Conversation>();
  // The next generation has an array of its own. The reference is weak, because a first message may be shared by many.
  const byStart = new WeakMap<Message, WeakRef<Conversation>>();
  return (messages) => {
    const known = byArray.get(messages);
    if (known?.isStartOf(messages)) return known.extend(messages);
    const first = messages.find(({ role }) => role !== 'system');
    const begun = new Conversation(convert, messages, first && byStart.get(first)?.deref());
    byArray.set(messages, begun);
    if (first) byStart.set(first, new WeakRef(begun));
    return begun;
  };
}

export class Conversation {
  readonly #convert: Convert;
  readonly #messages: Message[];
  /** What each message said when it was converted. */
  readonly #copies: Message[];
  /** Undefined for a message whose prompt form cannot be kept. */
  readonly #said: (PromptMessage | undefined)[];
  /** What is kept is the prompt as it is: nothing is missing, empty or to be joined. */
  #isPrompt: boolean;

  /** Takes the messages that `earlier` has in the same place from there. */
  constructor(convert: Convert, messages: readonly Message[], earlier: Conversation | undefined) {
    this.#convert = convert;
    this.#messages = earlier ? messages.slice(0, earlier.#messages.length) : [];
    this.#copies = earlier ? earlier.#copies.slice(0, messages.length) : [];
    this.#said = earlier ? earlier.#said.slice(0, messages.length) : [];
    this.#isPrompt = earlier ? earlier.#isPrompt : true;
    for (let index = 0; earlier && index < this.#messages.length; index++) {
      const message = messages[index] as Message;
      const isKnown = earlier.#messages[index] === message && isUnchanged(message, this.#copies[index] as Message);
      if (!isKnown) this.#convertAt(messages, index);
    }
    this.extend(messages);
  }

  /** Looks only at the end: the loop adds to its array and changes nothing in it. */
  isStartOf(messages: readonly Message[]): boolean {
    const count = this.#messages.length;
    return count <= messages.length && this.#messages[count - 1] === messages[count - 1];
  }

  /** Adds the messages that are new. */
  extend(messages: readonly Message[]): this {
    for (let index = this.#messages.length; index < messages.length; index++) {
      this.#convertAt(messages, index);
      this.#messages.push(messages[index] as Message);
    }
    return this;
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
    const copy = toJson(message);
    const form = this.#convert(copy.ok ? (copy.value as Message) : message);
    const said = copy.ok && freeze(form) ? form : undefined;
    const follows = message.role === 'tool' && messages[index - 1]?.role === 'tool';
    if (!said || said.content.length === 0 || follows) this.#isPrompt = false;
    this.#said[index] = said;
    this.#copies[index] = copy.ok ? (copy.value as Message) : message;
  }
}

/** Adds a message that says something. Consecutive tool messages become one. */
function append(prompt: PromptMessage[], message: PromptMessage): void {
  if (message.content.length === 0) return;
  const last = prompt.at(-1);
  if (last?.role === 'tool' && message.role === 'tool')
    prompt[prompt.length - 1] = { ...last, ...message, content: [...last.content, ...message.content] };
  else prompt.push(message);
}

/** Whether a message says what it said when this copy was made. Most messages are text, for which two strings are compared. */
function isUnchanged(message: Message, copy: Message): boolean {
  const { role, content, metadata } = message;
  if (role !== copy.role || content.length !== copy.content.length || !sameJson(metadata, copy.metadata)) return false;
  for (let index = 0; index < content.length; index++) {
    const part = content[index] as Part;
    const before = copy.content[index] as Part;
    const areTexts = 'text' in part && 'text' in before && part.metadata === undefined && before.metadata === undefined;
    if (areTexts ? part.text !== before.text : !sameJson(part, before)) return false;
  }
  return true;
}

/** Freezes JSON in depth. Returns false if the value holds anything else. */
function freeze(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false;
  Object.freeze(value);
  for (const key in value) if (!freeze((value as { readonly [key: string]: unknown })[key])) return false;
  return true;
}
