// Everything of a request but its messages, as options of a provider call.
import type { ModelRequest, ToolChoice, ToolSpec } from './model.ts';

/** Gives a function from a request to its settings. The tools are the same array in every turn: converted once. */
export function settingsFor(): (request: ModelRequest) => object {
  const known = new WeakMap<readonly ToolSpec[], readonly object[]>();
  return ({ tools, toolChoice, outputSchema, config, signal }) => {
    let converted = known.get(tools);
    if (!converted) {
      converted = tools.map((tool) => ({ type: 'function', ...tool }));
      known.set(tools, converted);
    }
    return {
      ...config,
      // Providers refuse a choice among no tools.
      ...(tools.length > 0 && { tools: converted.slice(), toolChoice: choiceOf(toolChoice) }),
      ...(outputSchema && { responseFormat: { type: 'json', schema: outputSchema } }),
      ...(signal && { abortSignal: signal }),
    };
  };
}

function choiceOf(choice: ToolChoice): object {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool };
}
