// Serves an MCP server on standard input and output, until its client is gone or the command stops.
import type { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

export function overStdio(create: () => McpServer, stop: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const handle = serveStdio(create);
    process.stdin.once('end', resolve).once('close', resolve);
    void stop.then(() => handle.close()).then(() => resolve());
  });
}
