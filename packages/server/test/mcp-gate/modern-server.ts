// An MCP server of the protocol 2026-07-28: a tool that writes a line per call, one that asks its client first, a slow one.
import { appendFileSync } from 'node:fs';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

export function createServer(ledger: string): McpServer {
  const server = new McpServer({ name: 'bank', version: '1.0.0' }, { capabilities: { tools: {} } });
  const inputSchema = z.object({ to: z.string() });
  const write = (line: string) => {
    appendFileSync(ledger, `${line}\n`);
    return { content: [{ type: 'text' as const, text: `paid ${line}` }] };
  };
  server.registerTool('pay', { description: 'Pays.', inputSchema }, async ({ to }) => write(to));
  // It has acted, but never answers.
  server.registerTool('hang', { description: 'Hangs.', inputSchema }, async ({ to }) => {
    write(to);
    return new Promise<never>(() => {});
  });
  server.registerTool('confirm', { description: 'Asks first.', inputSchema }, async ({ to }, context) => {
    const answer = acceptedContent<{ code: string }>(context.mcpReq.inputResponses, 'code');
    if (answer) return write(`${to} with ${answer.code}`);
    const requestedSchema = {
      type: 'object' as const,
      properties: { code: { type: 'string' as const } },
      required: ['code'],
    };
    const code = inputRequired.elicit({ message: 'Which code?', requestedSchema });
    return inputRequired({ inputRequests: { code }, requestState: 'the state of the server' });
  });
  return server;
}

const [, program, file = ''] = process.argv;
if (program === import.meta.filename) serveStdio(() => createServer(file));
