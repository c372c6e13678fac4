// Everything of a request but its messages, as options of a provider call.
import type { ModelRequest, ToolChoice, ToolSpec } from './model.ts';

export function settingsOf({ tools, toolChoice, outputSchema, config, signal }: ModelRequest): object {
  return {
    ...config,
    // Providers refuse a choice among no tools.
    ...(tools.length > 0 && { tools: tools.map(functionTool), toolChoice: choiceOf(toolChoice) }),
    ...(outputSchema && { responseFormat: { type: 'json', schema: outputSchema } }),
    ...(signal && { abortSignal: signal }),
  };
}

const functionTool = ({ name, description, inputSchema }: ToolSpec): object => ({
  type: 'function',
  name,
  description,
  inputSchema,
});

function choiceOf(choice: ToolChoice): object {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool };
}
