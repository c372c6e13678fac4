// The MCP gateway over stdio: the client, the gateway and the server are processes, joined by lines.
import { join } from 'node:path';
import { MAIN } from '../cli/workplace.ts';
import { type Door, notApplicable } from './door.ts';
import { type AskedCall, gatewayDoor, UNANSWERED } from './mcp-gateway.ts';
import { HOSTILE_MS, openProcess } from './rpc-process.ts';

export const mcpGatewayStdio: Door<AskedCall> = {
  name: 'MCP gateway (stdio)',
  open: (world) => {
    const hang = world.path('hang-stdio');
    const bank = [process.execPath, join(import.meta.dirname, 'lenient-bank.ts'), world.ledger, hang];
    const gate = ['mcp', 'gate', '--store', `sqlite:${world.file}`, '--by', 'carl', '--name', 'bank', '--hold', '1'];
    return gatewayDoor(world, {
      hang,
      otherPerson: notApplicable('the gateway serves one client, which started it; there is no second person'),
      start: async () => {
        const child = openProcess([MAIN, ...gate, '--', ...bank]);
        await child.initialize();
        return {
          kill: () => child.kill(),
          send: (message, id, { isHostile = false } = {}) => {
            if (id === UNANSWERED) return child.sendUnanswered(message);
            child.send(message);
            return child.answer(id, isHostile ? HOSTILE_MS : undefined);
          },
        };
      },
    });
  },
};
