// Withdraws the requests about calls that a conversation went on without, and gives those calls a result.
import { AIMessage, type BaseMessage, RemoveMessage, ToolMessage } from '@langchain/core/messages';
import { REMOVE_ALL_MESSAGES } from '@langchain/langgraph';
import { CountersignError } from '../../core/errors.ts';
import { outputOrText } from '../gated-calls.ts';
import { type GraphConfig, gateOf } from './gate-tools.ts';
import { readOutput } from './outputs.ts';

type Tools = readonly { readonly name: string }[];
type OpenCall = { readonly id: string; readonly name: string };

const REASON = 'the conversation went on without it';

/**
 * For the node that calls the model, in a graph of your own: whatever has no result by then was left behind, because the user wrote a
 * message while the graph was paused. Withdraws those requests and returns the messages with a result for each call.
 */
export async function withdrawAbandoned(
  tools: Tools,
  messages: readonly BaseMessage[],
  config: GraphConfig,
): Promise<BaseMessage[]> {
  const answered = new Set(
    messages.flatMap((message) => (ToolMessage.isInstance(message) ? message.tool_call_id : [])),
  );
  const complete: BaseMessage[] = [];
  let late: ToolMessage[] = [];
  for (const message of messages) {
    // The results of a message follow it at once.
    if (!ToolMessage.isInstance(message)) complete.push(...late.splice(0));
    complete.push(message);
    if (AIMessage.isInstance(message))
      late = await Promise.all(openCalls(message, answered).map((call) => withdrawn(tools, call, config)));
  }
  return [...complete, ...late];
}

/** For `createMiddleware` of LangChain: does what `withdrawAbandoned` does before each call of the model. */
export function withdrawMiddleware(tools: Tools): {
  readonly name: string;
  readonly beforeModel: (
    state: { messages: BaseMessage[] },
    runtime: GraphConfig,
  ) => Promise<{ messages: BaseMessage[] } | undefined>;
} {
  return {
    name: 'countersign',
    async beforeModel({ messages }, runtime) {
      const complete = await withdrawAbandoned(tools, messages, runtime);
      if (complete.length === messages.length) return undefined;
      return { messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...complete] };
    },
  };
}

function openCalls({ tool_calls: calls = [] }: AIMessage, answered: ReadonlySet<string>): readonly OpenCall[] {
  return calls.flatMap(({ id, name }) => (id === undefined || answered.has(id) ? [] : { id, name }));
}

async function withdrawn(tools: Tools, { id, name }: OpenCall, config: GraphConfig): Promise<ToolMessage> {
  const output = await outputAfter(tools, { id, name }, config);
  if (ToolMessage.isInstance(output)) return output;
  const content = typeof output === 'string' ? output : JSON.stringify(output);
  return new ToolMessage({ tool_call_id: id, name, content });
}

async function outputAfter(tools: Tools, { id, name }: OpenCall, config: GraphConfig): Promise<unknown> {
  const tool = tools.find((given) => given.name === name);
  const gate = tool && gateOf(tool);
  if (!gate) return `${name} has no result: ${REASON}.`;
  try {
    const result = await gate.calls.withdraw(name, id, REASON, gate.keyOf(config));
    return result.status === 'done' ? readOutput(result.output, name, id) : outputOrText(name, result);
  } catch (error) {
    // The process ended before the request was asked.
    if (error instanceof CountersignError && error.code === 'unknown-run') return `${name} was not run: ${REASON}.`;
    throw error;
  }
}
