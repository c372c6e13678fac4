// The hook of coding agents: one event in, one answer out.
import { answerHook } from '../../src/coding-agents/hook.ts';
import { MAIN } from '../cli/workplace.ts';
import { type AskedAgent, agentDoor } from './call-agent.ts';
import { type Door, MALFORMED } from './door.ts';
import { openProcess } from './rpc-process.ts';

export const hook: Door<AskedAgent> = {
  name: 'hook',
  open: async (world) => {
    const options = { ai: world.ai, by: 'carl', rules: {}, waitMs: 50, leaseMs: 60_000, defer: false };
    const event = (name: string, call: Parameters<Parameters<typeof agentDoor>[1]['bodyOf']>[0]) =>
      JSON.stringify({
        session_id: 'session-1',
        cwd: '/project',
        hook_event_name: name,
        tool_name: call.tool ?? 'Pay',
        tool_input: { to: call.to, amount: call.amount },
        tool_use_id: call.callId,
      });
    const bodyOf = (call: Parameters<typeof event>[1]) => event('PreToolUse', call);
    const send = async (body: string) => {
      try {
        const answer = (await answerHook(body, options)) as any;
        const {
          permissionDecision,
          permissionDecisionReason = '',
          updatedInput,
          decision,
        } = answer?.hookSpecificOutput ?? {};
        const isEnd = body.includes('"PostToolUse');
        // No answer to a question leaves the call to the agent.
        const accepted =
          !isEnd && (answer === undefined || permissionDecision === 'allow' || decision?.behavior === 'allow');
        return { accepted, text: String(permissionDecisionReason), ...(updatedInput && { input: updatedInput }) };
      } catch (error) {
        // The command ends with exit code 2, which blocks the call.
        return { accepted: false, text: String(error) };
      }
    };
    return agentDoor(world, {
      bodyOf,
      send,
      oversized: send,
      malformed: [
        ...MALFORMED,
        '{"hook_event_name":"PreToolUse","session_id":"s"}',
        '{"hook_event_name":"pretooluse","session_id":"s","tool_name":"Pay"}',
      ],
      forged: (asked) => [event('PostToolUse', asked), event('PostToolUseFailure', asked), event('Approved', asked)],
      killed: async (body, isWaiting) => {
        const child = openProcess([MAIN, 'hook', '--store', `sqlite:${world.file}`, '--by', 'carl', '--wait', '60']);
        child.end(body);
        await isWaiting();
        await child.kill();
      },
    });
  },
};
