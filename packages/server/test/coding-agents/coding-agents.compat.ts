// The coding agents that npm has, with a scripted model.
import { describeAgent } from './agent-cases.ts';
import { claudeCode, codex, copilot, opencode } from './installed-agent.ts';

for (const agent of [claudeCode, codex, copilot, opencode]) describeAgent(agent);
