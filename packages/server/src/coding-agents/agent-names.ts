/** The names of the coding agents, which are the names of their gates. */
export const CODING_AGENTS = ['claude-code', 'codex', 'cursor', 'gemini-cli', 'opencode', 'copilot-cli'] as const;
export type AgentName = (typeof CODING_AGENTS)[number];
