// The systems, and the ways in which each is measured: alone, with an option of its own, and behind our gate.
export const SYSTEMS = {
  countersign: { ways: [''] },
  'ai-sdk': { ways: ['', 'secret', 'gated'] },
  langgraph: { ways: ['', 'gated'] },
  mastra: { ways: ['', 'gated'] },
  'openai-agents': { ways: ['', 'gated'] },
  genkit: { ways: ['', 'gated'] },
  restate: { ways: [''] },
  dbos: { ways: [''] },
  workflow: { ways: [''] },
  eve: { ways: ['', 'gated'] },
};
