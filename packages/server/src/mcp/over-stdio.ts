// Serves an MCP server on standard input and output, until its client is gone or the command stops.
import type { McpServer, Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { StdioClient } from '../mcp-gate/stdio-client.ts';

export function overStdio(create: () => McpServer, stop: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const handle = serveStdio(create, { transport: strictTransport() });
    process.stdin.once('end', resolve).once('close', resolve);
    void stop.then(() => handle.close()).then(() => resolve());
  });
}

/** The transport of the SDK hides repeated keys, and stops reading for good at a message that is too long. */
function strictTransport(): Transport {
  const client = new StdioClient();
  const transport: Transport = {
    start: async () => client.start(),
    send: (message) => client.send(message),
    close: async () => client.close(),
  };
  client.onmessage = (read) => {
    if ('message' in read) transport.onmessage?.(read.message as Parameters<NonNullable<Transport['onmessage']>>[0]);
    // A client that is gone is reported by `onclose`.
    else void client.send(read.refused).catch(() => undefined);
  };
  client.onclose = () => transport.onclose?.();
  return transport;
}
