// Both coding agents from npm, with a scripted model.
import { describeAgent } from './agent-cases.ts';
import { claudeCode, codex } from './installed-agent.ts';

describeAgent(claudeCode);
describeAgent(codex);
