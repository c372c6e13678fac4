// The `processToolCalls` of the AI SDK's recipe: runs the calls that the user confirmed, and replaces the answers by results.
import { convertToModelMessages, type ModelMessage, type Tool, type ToolSet, type UIMessage } from 'ai';
import { messageOf, NotPerformed } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { APPROVAL } from './approval.ts';
import { type DataChunk, type GateInternals, INTERNALS } from './gate-internals.ts';
import type { Gated } from './gate-tools.ts';
import { checkInput } from './input.ts';
import { Failed, type Outcome, Refused } from './ledger.ts';
import { toolNameOf, toolPartOf } from './tool-part.ts';

/** The second argument of a confirmed function; the same for version 6 and 7 of the AI SDK. */
export type ConfirmedOptions = {
  readonly toolCallId: string;
  readonly messages: ModelMessage[];
  readonly abortSignal?: AbortSignal;
  /** Never set; declared so that a tool's `execute` can be used. */
  readonly context?: any;
  readonly experimental_context?: unknown;
};

/** A function for each tool without `execute`, which runs once a person has confirmed the call. */
export type ExecuteFunctions<Tools extends ToolSet> = {
  [Name in keyof Tools as Tools[Name] extends { execute: (...given: any[]) => unknown } ? never : Name]?: (
    input: Tools[Name] extends Tool<infer Input, any> ? Input : never,
    options: ConfirmedOptions,
  ) => any;
};

/** The methods of the AI SDK's stream writer that are used. */
export type ToolOutputWriter = {
  write(
    chunk:
      | { type: 'tool-output-available'; toolCallId: string; output: unknown }
      | { type: 'tool-output-error'; toolCallId: string; errorText: string }
      | DataChunk,
  ): void;
  /** Returns the error text for the page. The AI SDK's type does not say that it is a string. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
};

/**
 * Runs the calls that the user confirmed in the last message with `APPROVAL.YES`, and reports those that the user denied with
 * `APPROVAL.NO`. It writes the results to `writer` and returns messages with them, ready for `convertToModelMessages`. The
 * given messages are not changed.
 *
 * On its own it trusts the messages: a client can make up a call, or send one again. With a gate of these tools, only
 * calls that the model asked for run, and with a store each at most once.
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
    /** From `gateTools(tools, …)`. Pass its `tools` to `streamText`, so that the gate sees new calls. */
    gate?: Pick<Gated<ToolSet>, 'receive' | typeof INTERNALS>;
  },
  executeFunctions: ExecuteFunctions<Tools>,
): Promise<Message[]> {
  const internals = gate?.[INTERNALS];
  let received: Message[] = [];
  let history: Promise<ModelMessage[]> | undefined;
  const bodies = bodiesOf(tools, executeFunctions, () => {
    history ??= (async () => convertToModelMessages(received))();
    return history;
  });
  internals?.confirm(bodies);
  received = gate ? await gate.receive(messages) : messages;
  const last = received.at(-1);
  if (last?.role !== 'assistant' || !Array.isArray(last.parts)) return received;

  const seen = new Set<string>();
  const parts = last.parts.map(async (part): Promise<typeof part | undefined> => {
    const call = answeredCall(part, bodies);
    if (!call) return part;
    const { toolCallId, output: _answer, ...rest } = call.part;
    // Providers reject a conversation with two results for one call, so a second part is dropped.
    if (seen.has(toolCallId)) return undefined;
    seen.add(toolCallId);

    const outcome = await outcomeOf(call, internals);
    const written = write(writer, toolCallId, outcome);
    for (const chunk of internals?.chunksFor(toolCallId, written) ?? []) writer.write(chunk);
    const result =
      outcome.type === 'output' ? { output: outcome.output } : { state: 'output-error', errorText: outcome.text };
    return { toolCallId, ...rest, ...result } as unknown as typeof part;
  });
  const processed = (await Promise.all(parts)).filter((part) => part !== undefined);
  return [...received.slice(0, -1), { ...last, parts: processed }];
}

const DENIED = 'Error: The user denied this call. The tool was not run.';

/** What a confirmed call does with its unchecked input. */
type Body = (input: unknown, toolCallId: string) => Promise<unknown>;

/** By tool name. A tool with `execute` has none: it has already run, and needs no confirmation. */
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
      if (!checked.ok) throw new NotRun(`The input of ${name} is invalid: ${checked.problems.join('; ')}.`);
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

/** The call that the user confirmed or denied with this part, if it is one. */
function answeredCall(part: object, bodies: ReadonlyMap<string, Body>): AnsweredCall | undefined {
  const toolPart = toolPartOf(part);
  if (toolPart?.state !== 'output-available') return undefined;
  const answered = toolPart as AnsweredPart;
  if (answered.output !== APPROVAL.YES && answered.output !== APPROVAL.NO) return undefined;
  const name = toolNameOf(toolPart);
  const body = bodies.get(name);
  return body && { part: answered, name, body, confirmed: answered.output === APPROVAL.YES };
}

/** `cause` is set if the function failed. The page sees its message only if the app allows it. */
type CallOutcome = Outcome & { readonly cause?: unknown };

async function outcomeOf(
  { name, part, body, confirmed }: AnsweredCall,
  internals?: GateInternals,
): Promise<CallOutcome> {
  if (!confirmed) return { type: 'output', output: DENIED };
  const { toolCallId: id, input } = part;
  const run = (input: unknown) => body(input, id);
  try {
    const output = internals ? await internals.run({ id, tool: name, input: input as Json }, run) : await run(input);
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

/** Writes the outcome to the page, and returns it as it was written. */
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
