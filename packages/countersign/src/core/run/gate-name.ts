// The names of gates: the agents of runs that are one call of a program outside.

/** The gate of `ai.gate`, unless another name is given. */
export const GATE = 'gate';

/** The gates that every process with a store knows, so that its workers keep their deadlines: those of the adapters. */
export const GATES: readonly string[] = [
  GATE,
  'ai-sdk',
  'openai-agents',
  'langgraph',
  'mastra',
  'genkit',
  'mcp',
  'claude-code',
  'codex',
];
