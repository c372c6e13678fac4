// The prompt of a conversation: each message is converted once, and the result lives as long as the conversation.
import { toJson } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { PromptMessage } from './specification.ts';

type Convert = (message: Message) => PromptMessage;

/**
 * Finds what is kept of a conversation, and adds its new messages. Messages are immutable: one that was replaced since an earlier
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
  /** Undefined for a message whose prompt form cannot be kept. */
  readonly #said: (PromptMessage | undefined)[];
  /** What is kept is the prompt as it is: nothing is missing, empty or to be joined. */
  #isPrompt: boolean;

  /** Takes the messages that `earlier` has in the same place from there, without looking at them. */
  constructor(convert: Convert, messages: readonly Message[], earlier: Conversation | undefined) {
    this.#convert = convert;
    this.#messages = earlier ? messages.slice(0, earlier.#messages.length) : [];
    this.#said = earlier ? earlier.#said.slice(0, messages.length) : [];
    this.#isPrompt = earlier ? earlier.#isPrompt : true;
    for (let index = 0; earlier && index < this.#messages.length; index++)
      if (earlier.#messages[index] !== messages[index]) this.#said[index] = this.#form(messages, index);
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
      this.#said.push(this.#form(messages, index));
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

  #form(messages: readonly Message[], index: number): PromptMessage | undefined {
    const message = messages[index] as Message;
    const said = kept(message, this.#convert);
    const follows = message.role === 'tool' && messages[index - 1]?.role === 'tool';
    if (!said || said.content.length === 0 || follows) this.#isPrompt = false;
    return said;
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

/** Undefined if a provider could change the prompt form, as it could change a URL. */
function kept(message: Message, convert: Convert): PromptMessage | undefined {
  const copy = isText(message) ? { ok: true, value: message } : toJson(message);
  const said = convert(copy.ok ? (copy.value as Message) : message);
  return copy.ok && freeze(said) ? said : undefined;
}

/** Its prompt form then shares only strings with it. */
function isText({ content, metadata }: Message): boolean {
  return metadata === undefined && content.every((part) => 'text' in part && part.metadata === undefined);
}

/** Freezes JSON in depth. Returns false if the value holds anything else. */
function freeze(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false;
  Object.freeze(value);
  for (const key in value) if (!freeze((value as { readonly [key: string]: unknown })[key])) return false;
  return true;
}
