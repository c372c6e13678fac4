// The recipe's `processToolCalls`: runs what the user confirmed on the page, and puts the result in place of the answer.
import { convertToModelMessages, type ModelMessage, type Tool, type ToolSet, type UIMessage } from 'ai';
import { messageOf, NotPerformed } from '../core/errors.ts';
import { APPROVAL } from './approval.ts';
import { checkInput } from './input.ts';

/** What a confirmed function gets beside its input; the same with version 6 and 7 of the AI SDK. */
export type ConfirmedOptions = {
  readonly toolCallId: string;
  readonly messages: ModelMessage[];
  readonly abortSignal?: AbortSignal;
  /** The recipe has none to give; it is here so that an `execute` of a tool fits. */
  readonly context?: any;
  readonly experimental_context?: unknown;
};

/** A function for each tool without `execute`: what is done once a person has confirmed. */
export type ExecuteFunctions<Tools extends ToolSet> = {
  [Name in keyof Tools as Tools[Name] extends { execute: (...given: any[]) => unknown } ? never : Name]?: (
    input: Tools[Name] extends Tool<infer Input, any> ? Input : never,
    options: ConfirmedOptions,
  ) => any;
};

/** What is written to the page: of the AI SDK's stream writer, the part that is needed. */
export type ToolOutputWriter = {
  write(
    chunk:
      | { type: 'tool-output-available'; toolCallId: string; output: unknown }
      | { type: 'tool-output-error'; toolCallId: string; errorText: string },
  ): void;
  /** What the page is told of an error. Its type in the AI SDK says nothing of the text that it returns. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
};

/**
 * Runs the calls that the user confirmed in the last message with `APPROVAL.YES`, and tells of those that the user denied
 * with `APPROVAL.NO`. The results go to the page through `writer`, and stand in the messages that are returned, ready for
 * `convertToModelMessages`. The messages passed in stay as they are.
 *
 * It believes the messages: whoever can post to your route can make up a call, and send one again. Give it a `gate` of
 * these tools, and what runs is what the model asked for, once.
 */
export async function processToolCalls<Tools extends ToolSet, Message extends UIMessage>(
  {
    tools,
    writer,
    messages,
  }: {
    tools: Tools;
    writer: ToolOutputWriter;
    messages: Message[];
  },
  executeFunctions: ExecuteFunctions<Tools>,
): Promise<Message[]> {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || !Array.isArray(last.parts)) return messages;

  const seen = new Set<string>();
  let history: Promise<ModelMessage[]> | undefined;
  const parts = last.parts.map(async (part): Promise<typeof part | undefined> => {
    const call = answeredCall(part, tools, executeFunctions);
    if (!call) return part;
    const { toolCallId } = call.part;
    // A call has one result: what stands there a second time is left out, or providers refuse the conversation.
    if (seen.has(toolCallId)) return undefined;
    seen.add(toolCallId);

    const outcome = call.confirmed
      ? await run(call, async () => {
          history ??= Promise.resolve(convertToModelMessages(messages));
          return { toolCallId, messages: await history };
        })
      : { type: 'output' as const, output: DENIED };
    if (outcome.type === 'output') {
      writer.write({ type: 'tool-output-available', toolCallId, output: outcome.output });
      return { ...part, output: outcome.output } as typeof part;
    }
    writer.write({ type: 'tool-output-error', toolCallId, errorText: shownText(writer, outcome) });
    const { output: _answer, ...rest } = call.part;
    return { ...rest, state: 'output-error', errorText: outcome.text } as unknown as typeof part;
  });
  const processed = (await Promise.all(parts)).filter((part) => part !== undefined);
  return [...messages.slice(0, -1), { ...last, parts: processed }];
}

const DENIED = 'Error: The user denied this call. The tool was not run.';

type AnsweredPart = { type: string; toolCallId: string; state: 'output-available'; input: unknown; output: unknown };

type AnsweredCall = {
  readonly part: AnsweredPart;
  readonly name: string;
  readonly tool: ToolSet[string];
  readonly execute: ((input: any, options: ConfirmedOptions) => unknown) | undefined;
  readonly confirmed: boolean;
};

/** The part as a call that the user said yes or no to, if it is one. Names are looked up among own properties only. */
function answeredCall(part: object, tools: ToolSet, executeFunctions: object): AnsweredCall | undefined {
  const answered = part as AnsweredPart;
  if (typeof answered.type !== 'string' || !answered.type.startsWith('tool-')) return undefined;
  if (answered.state !== 'output-available' || typeof answered.toolCallId !== 'string') return undefined;
  if (answered.output !== APPROVAL.YES && answered.output !== APPROVAL.NO) return undefined;
  const name = answered.type.slice('tool-'.length);
  if (!Object.hasOwn(tools, name) || !Object.hasOwn(executeFunctions, name)) return undefined;
  const tool = tools[name];
  // A tool with `execute` has run already; what the page says about it is no confirmation.
  if (!tool || typeof tool.execute === 'function') return undefined;
  const execute = (executeFunctions as Record<string, AnsweredCall['execute']>)[name];
  return { part: answered, name, tool, execute, confirmed: answered.output === APPROVAL.YES };
}

type Outcome =
  | { readonly type: 'output'; readonly output: unknown }
  /** `cause` is there when the function failed: what it says is not for the page, unless the app says so. */
  | { readonly type: 'error'; readonly text: string; readonly cause?: unknown };

async function run(
  { name, tool, part, execute }: AnsweredCall,
  options: () => Promise<ConfirmedOptions>,
): Promise<Outcome> {
  if (typeof execute !== 'function')
    return { type: 'error', text: `No execute function was found for the tool ${name}. It was not run.` };
  const checked = await checkInput(name, tool, part.input);
  if (!checked.ok)
    return {
      type: 'error',
      text: `The input of ${name} does not fit: ${checked.problems.join('; ')}. The tool was not run.`,
    };
  const given = await options();
  try {
    return { type: 'output', output: await execute(checked.value, given) };
  } catch (cause) {
    if (cause instanceof NotPerformed)
      return { type: 'error', text: `The tool ${name} did nothing: ${messageOf(cause)}`, cause };
    return { type: 'error', text: `The tool ${name} failed, and may have taken effect: ${messageOf(cause)}`, cause };
  }
}

function shownText(writer: ToolOutputWriter, outcome: Outcome & { type: 'error' }): string {
  if (!('cause' in outcome) || writer.onError === undefined) return outcome.text;
  const text = writer.onError(outcome.cause);
  return typeof text === 'string' ? text : 'An error occurred.';
}
