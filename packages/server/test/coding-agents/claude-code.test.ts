// Claude Code from npm, with a scripted model. The other agents have the same cases in `npm run compat`.
import { describeAgent } from './agent-cases.ts';
import { claudeCode } from './installed-agent.ts';

describeAgent(claudeCode);
