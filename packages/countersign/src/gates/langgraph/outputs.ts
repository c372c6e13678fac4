// Outputs of tools as they are recorded. A message or a command of LangGraph is recorded as JSON and made again from it.
import { ToolMessage } from '@langchain/core/messages';
import { Command, isCommand } from '@langchain/langgraph';

const MESSAGE = 'langchain:ToolMessage';
const COMMAND = 'langgraph:Command';

export function writeOutput(output: unknown): unknown {
  if (ToolMessage.isInstance(output)) {
    const { content, artifact, status } = output;
    return { [MESSAGE]: { content, artifact, status } };
  }
  if (!isCommand(output)) return output ?? null;
  const { graph, update, goto, resume } = output as Command;
  return { [COMMAND]: JSON.parse(JSON.stringify({ graph, update, goto, resume })) };
}

/** The recorded output, for the call with this id. */
export function readOutput(recorded: unknown, name: string, callId: string): unknown {
  if (typeof recorded !== 'object' || recorded === null) return recorded;
  if (MESSAGE in recorded)
    return new ToolMessage({ ...(recorded[MESSAGE] as object), name, tool_call_id: callId } as never);
  return COMMAND in recorded ? new Command(recorded[COMMAND] as object) : recorded;
}
