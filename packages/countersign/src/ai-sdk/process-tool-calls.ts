// The recipe's `processToolCalls`: runs what the user confirmed on the page, and puts the result in place of the answer.
import { convertToModelMessages, type ModelMessage, type Tool, type ToolSet, type UIMessage } from 'ai';
import { messageOf, NotPerformed } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { APPROVAL } from './approval.ts';
import type { Gated } from './gate.ts';
import { checkInput } from './input.ts';
import { type DataChunk, INSIDE, type Inside } from './inside.ts';
import { Failed, type Outcome, Refused } from './ledger.ts';
import { toolNameOf, toolPartOf } from './tool-part.ts';

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
      | { type: 'tool-output-error'; toolCallId: string; errorText: string }
      | DataChunk,
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
 * these tools, and what runs is what the model asked for, and with a store once.
 */
export async function processToolCalls<Tools extends ToolSet, Message extends UIMessage>(
  {
    tools,
    writer,
    messages,
    gate,
  }: {
    tools: Tools;
    writer: ToolOutputWriter;
    messages: Message[];
    /** From `gate(tools, …)`; then give `gate.tools` to `streamText`, so that it knows what is asked. */
    gate?: Pick<Gated<ToolSet>, 'receive' | typeof INSIDE>;
  },
  executeFunctions: ExecuteFunctions<Tools>,
): Promise<Message[]> {
  const inside = gate?.[INSIDE];
  let received: Message[] = [];
  let history: Promise<ModelMessage[]> | undefined;
  const bodies = bodiesOf(tools, executeFunctions, () => {
    history ??= (async () => convertToModelMessages(received))();
    return history;
  });
  inside?.confirm(bodies);
  received = gate ? await gate.receive(messages) : messages;
  const last = received.at(-1);
  if (last?.role !== 'assistant' || !Array.isArray(last.parts)) return received;

  const seen = new Set<string>();
  const parts = last.parts.map(async (part): Promise<typeof part | undefined> => {
    const call = answeredCall(part, bodies);
    if (!call) return part;
    const { toolCallId, output: _answer, ...rest } = call.part;
    // A call has one result: what stands there a second time is left out, or providers refuse the conversation.
    if (seen.has(toolCallId)) return undefined;
    seen.add(toolCallId);

    const outcome = await outcomeOf(call, inside);
    const written = write(writer, toolCallId, outcome);
    for (const chunk of inside?.chunksFor(toolCallId, written) ?? []) writer.write(chunk);
    const result =
      outcome.type === 'output' ? { output: outcome.output } : { state: 'output-error', errorText: outcome.text };
    return { toolCallId, ...rest, ...result } as unknown as typeof part;
  });
  const processed = (await Promise.all(parts)).filter((part) => part !== undefined);
  return [...received.slice(0, -1), { ...last, parts: processed }];
}

const DENIED = 'Error: The user denied this call. The tool was not run.';

/** What a confirmed call does, from the input as it came. */
type Body = (input: unknown, toolCallId: string) => Promise<unknown>;

/** By the names of the tools. A tool with `execute` has none: it has run already, and there is nothing to confirm. */
function bodiesOf(
  tools: ToolSet,
  executeFunctions: object,
  history: () => Promise<ModelMessage[]>,
): ReadonlyMap<string, Body> {
  const bodies = new Map<string, Body>();
  for (const [name, execute] of Object.entries(executeFunctions)) {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (!tool || typeof tool.execute === 'function') continue;
    bodies.set(name, async (input, toolCallId) => {
      if (typeof execute !== 'function') throw new NotRun(`No execute function was found for the tool ${name}.`);
      const checked = await checkInput(name, tool, input);
      if (!checked.ok) throw new NotRun(`The input of ${name} does not fit: ${checked.problems.join('; ')}.`);
      return execute(checked.value, { toolCallId, messages: await history() } satisfies ConfirmedOptions);
    });
  }
  return bodies;
}

class NotRun extends NotPerformed {
  constructor(why: string) {
    super(`${why} The tool was not run.`);
  }
}

type AnsweredPart = { type: string; toolCallId: string; state: 'output-available'; input: unknown; output: unknown };

type AnsweredCall = {
  readonly part: AnsweredPart;
  readonly name: string;
  readonly body: Body;
  readonly confirmed: boolean;
};

/** The part as a call that the user said yes or no to, if it is one. */
function answeredCall(part: object, bodies: ReadonlyMap<string, Body>): AnsweredCall | undefined {
  const toolPart = toolPartOf(part);
  if (toolPart?.state !== 'output-available') return undefined;
  const answered = toolPart as AnsweredPart;
  if (answered.output !== APPROVAL.YES && answered.output !== APPROVAL.NO) return undefined;
  const name = toolNameOf(toolPart);
  const body = bodies.get(name);
  return body && { part: answered, name, body, confirmed: answered.output === APPROVAL.YES };
}

/** `cause` is there when the function failed: what it says is not for the page, unless the app says so. */
type CallOutcome = Outcome & { readonly cause?: unknown };

async function outcomeOf({ name, part, body, confirmed }: AnsweredCall, inside?: Inside): Promise<CallOutcome> {
  if (!confirmed) return { type: 'output', output: DENIED };
  const { toolCallId: id, input } = part;
  const run = (input: unknown) => body(input, id);
  try {
    const output = inside ? await inside.run({ id, tool: name, input: input as Json }, run) : await run(input);
    return { type: 'output', output };
  } catch (cause) {
    if (cause instanceof Refused || cause instanceof NotRun) return { type: 'error', text: cause.message };
    return { type: 'error', text: failureText(name, cause), cause };
  }
}

function failureText(name: string, cause: unknown): string {
  if (cause instanceof Failed) return cause.message;
  if (cause instanceof NotPerformed) return `The tool ${name} did nothing: ${messageOf(cause)}`;
  return `The tool ${name} failed, and may have taken effect: ${messageOf(cause)}`;
}

/** Tells the page, and gives back what it was told. */
function write(writer: ToolOutputWriter, toolCallId: string, outcome: CallOutcome): Outcome {
  if (outcome.type === 'output') {
    writer.write({ type: 'tool-output-available', toolCallId, output: outcome.output });
    return outcome;
  }
  const errorText = shownText(writer, outcome);
  writer.write({ type: 'tool-output-error', toolCallId, errorText });
  return { type: 'error', text: errorText };
}

function shownText(writer: ToolOutputWriter, outcome: CallOutcome & { type: 'error' }): string {
  if (!('cause' in outcome) || writer.onError === undefined) return outcome.text;
  const text = writer.onError(outcome.cause);
  return typeof text === 'string' ? text : 'An error occurred.';
}
