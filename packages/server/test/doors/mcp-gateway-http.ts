// The MCP gateway before a server on the network: every message is a request of HTTP, with the credentials of its client.
import type { AddressInfo } from 'node:net';
import { MAIN } from '../cli/workplace.ts';
import type { Door } from './door.ts';
import { serveBank } from './lenient-bank.ts';
import { type AskedCall, gatewayDoor } from './mcp-gateway.ts';
import { openProcess, type RpcAnswer } from './rpc-process.ts';

export const mcpGatewayHttp: Door<AskedCall> = {
  name: 'MCP gateway (HTTP)',
  open: async (world) => {
    const hang = world.path('hang-http');
    const bank = serveBank(world.ledger, hang);
    await new Promise<void>((resolve) => bank.listen(0, '127.0.0.1', resolve));
    const upstream = `http://127.0.0.1:${(bank.address() as AddressInfo).port}/mcp`;
    const gate = ['mcp', 'gate', '--store', `sqlite:${world.file}`, '--by', 'carl', '--name', 'netbank', '--hold', '1'];
    const door = await gatewayDoor(world, {
      hang,
      otherPerson: (asked, send) => send(asked.call, 'eve'),
      start: async () => {
        const child = openProcess([MAIN, ...gate, '--url', upstream, '--listen', '0']);
        const [, url = ''] = await child.says(/ at (http:\S+?\/mcp)/);
        return {
          kill: () => child.kill(),
          send: async (message, _id, { credential = 'carl' } = {}) => {
            const response = await fetch(url, {
              method: 'POST',
              headers: {
                authorization: `Bearer ${credential}`,
                'content-type': 'application/json',
                accept: 'application/json, text/event-stream',
              },
              body: message,
            }).catch((error: unknown) => ({ status: 0, text: async () => String(error) }));
            return answerIn(await response.text(), response.status);
          },
        };
      },
    });
    return {
      ...door,
      close: async () => {
        await door.close?.();
        bank.closeAllConnections();
        bank.close();
      },
    };
  },
};

/** The last message of a response: JSON, or the events of a stream. */
function answerIn(text: string, status: number): RpcAnswer {
  const data = [...text.matchAll(/^data: (.*)$/gm)].at(-1)?.[1] ?? text;
  try {
    return JSON.parse(data) as RpcAnswer;
  } catch {
    return { error: { message: `${status} ${text.slice(0, 200)}` } };
  }
}
