// A chat: a conversation that remembers its messages and resumes itself.

import { CountersignError, UsageError } from '../core/errors.ts';
import type { Message, ToolRequestPart } from '../core/messages/message.ts';
import { pendingParts } from '../core/messages/pending-parts.ts';
import { checkOptions, type OptionTable, without } from '../core/options.ts';
import type { Resume } from '../core/run/read-resume.ts';
import { type GenerateStream, streamed } from './generate.ts';
import { type Content, GENERATE_OPTIONS, type GenerateOptions, refuseMessages, withDefaults } from './options.ts';
import type { GenerateResponse } from './response.ts';
import type { Context } from './tool/definition.ts';
import type { ToolInput } from './tool/toolbox.ts';

/** Options for the whole chat; it starts with `messages`. */
export type ChatOptions<C extends Context = Context, T extends readonly ToolInput[] = readonly ToolInput[]> = Omit<
  GenerateOptions<any, T, C>,
  'prompt' | 'resume' | 'toolResponses' | 'onChunk' | 'abortSignal'
>;

/** What the user says or decides now; other options override the chat's once. */
export type SendOptions<C extends Context = Context> = Partial<
  Omit<GenerateOptions<any, readonly ToolInput[], C>, 'messages' | 'system'>
> & {
  readonly prompt?: Content;
  readonly resume?: Resume;
};

/** A conversation that keeps its messages and resumes itself; made by `ai.chat()` or `agent.chat()`. */
export class Chat<C extends Context = Context, Interrupt extends ToolRequestPart = ToolRequestPart> {
  #messages: Message[];
  readonly #options: ChatOptions;
  readonly #generate: (options: GenerateOptions) => Promise<GenerateResponse<any, any>>;
  /** One send at a time: the next begins when this has ended. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(generate: (options: GenerateOptions) => Promise<GenerateResponse<any, any>>, options: ChatOptions = {}) {
    checkOptions('a chat', options, CHAT_OPTIONS);
    refuseMessages(options);
    const { messages = [], ...rest } = options;
    this.#generate = generate;
    this.#options = rest;
    this.#messages = [...messages];
  }

  /**
   * The conversation so far. Save it, and start another chat with it to continue elsewhere.
   * For a stored chat, the messages of the last response; `ai.runs.get` reads the store.
   */
  get messages(): Message[] {
    return this.#messages;
  }

  /** The pending requests in these messages. */
  get interrupts(): readonly Interrupt[] {
    return pendingParts(this.#messages) as readonly Interrupt[];
  }

  /** Sends a message, or decisions with `resume`. Sends run one after the other. */
  send(given: Content | SendOptions<C>): Promise<GenerateResponse<any, Interrupt>> {
    const sending = this.#last.then(() => this.#send(sendOptions(given)));
    this.#last = sending.catch(() => undefined);
    return sending;
  }

  /** Like `send`, with a stream of chunks. */
  sendStream(given: Content | SendOptions<C>): GenerateStream<any, Interrupt> {
    return streamed(sendOptions(given), (options) => this.send(options as SendOptions<C>));
  }

  async #send(options: SendOptions): Promise<GenerateResponse<any, any>> {
    try {
      const asked = withDefaults(this.#options, options);
      // A stored conversation has its messages in the store.
      const from = asked.runId === undefined && { messages: this.#messages };
      const response = await this.#generate({ ...asked, ...from });
      this.#messages = response.messages;
      return response;
    } catch (error) {
      // Keep the messages up to the failure.
      if (error instanceof CountersignError && error.messages) this.#messages = [...error.messages];
      throw error;
    }
  }
}

const CHAT_OPTIONS: OptionTable<ChatOptions> = without(
  GENERATE_OPTIONS,
  'prompt',
  'resume',
  'toolResponses',
  'onChunk',
  'abortSignal',
);

function sendOptions(given: Content | SendOptions): SendOptions {
  if (typeof given !== 'string' && (typeof given !== 'object' || given === null)) {
    const message = '`send` takes a text, parts or an object of options.';
    throw new UsageError('invalid-options', { given: typeof given }, message);
  }
  const isContent = typeof given === 'string' || Array.isArray(given) || PART_KEYS.some((key) => key in given);
  return isContent ? { prompt: given as Content } : (given as SendOptions);
}

const PART_KEYS = ['text', 'media', 'data'] as const;
