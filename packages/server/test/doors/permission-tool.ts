// The permission tool of coding agents: an MCP server with one tool, in a process of its own.
import { MAIN } from '../cli/workplace.ts';
import { type AskedAgent, agentDoor } from './call-agent.ts';
import { type Door, MALFORMED, notApplicable } from './door.ts';
import { openProcess, type RpcAnswer, type RpcProcess } from './rpc-process.ts';

export const permissionTool: Door<AskedAgent> = {
  name: 'permission tool',
  open: async (world) => {
    const start = async (wait: string): Promise<RpcProcess> => {
      const child = openProcess([
        MAIN,
        'mcp',
        'permission',
        '--store',
        `sqlite:${world.file}`,
        '--by',
        'carl',
        '--wait',
        wait,
      ]);
      await child.initialize();
      return child;
    };
    const child = await start('1');
    let last = 0;
    const callOf = (id: number, input: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"approve","arguments":${input}}}`;
    const door = agentDoor(world, {
      bodyOf: ({ to, amount, callId, tool = 'Pay' }) =>
        JSON.stringify({ tool_name: tool, input: { to, amount }, tool_use_id: callId }),
      send: async (body) => {
        last += 1;
        if (!isJson(body)) return replyOf(await child.sendUnanswered(callOf(last, body)));
        child.send(callOf(last, body));
        return replyOf(await child.answer(last));
      },
      // The refusal names no id, because the message is not read to its end.
      oversized: async (body) => replyOf(await child.sendUnanswered(callOf(++last, body))),
      malformed: [
        ...MALFORMED.filter((body) => body !== ''),
        '{"tool_name":["Pay"],"input":{}}',
        '{"tool_name":"Pay"}',
        '{"tool_name":"Pay","input":"x"}',
      ],
      forged: notApplicable(
        'the agent has no credential here: it is a program on the machine of the person, joined by standard input',
      ),
      killed: async (body, isWaiting) => {
        const other = await start('60');
        other.send(callOf(1, body));
        await isWaiting();
        await other.kill();
      },
    });
    return { ...door, close: () => child.kill() };
  },
};

function replyOf({ result, error }: RpcAnswer) {
  const text = result?.content?.[0]?.text ?? error?.message ?? '';
  const answer = text.startsWith('{') ? JSON.parse(text) : {};
  const { behavior, message, updatedInput: input } = answer;
  return { accepted: behavior === 'allow', text: String(message ?? text), ...(input && { input }) };
}

/** Other messages get no answer. */
function isJson(body: string): boolean {
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
}
