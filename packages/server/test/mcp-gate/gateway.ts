// A folder with a store, the gateway in a child process, and real MCP clients before it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { type Countersign, countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { MAIN } from '../cli/workplace.ts';

const MODULES = join(import.meta.dirname, '../../../../node_modules');
export const FILESYSTEM = join(MODULES, '@modelcontextprotocol/server-filesystem/dist/index.js');
export const EVERYTHING = join(MODULES, '@modelcontextprotocol/server-everything/dist/index.js');
export const MODERN = join(import.meta.dirname, 'modern-server.ts');

export function openGateway() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'));
  const address = `sqlite:${join(folder, 'runs.sqlite')}`;
  const store = sqliteStore(join(folder, 'runs.sqlite'));
  const ai: Countersign = countersign({ store });
  const closing: (() => Promise<unknown>)[] = [];
  const command = (options: readonly string[], server: readonly string[]) => ({
    command: process.execPath,
    args: [MAIN, 'mcp', 'gate', '--store', address, '--by', 'ada', ...options, '--', process.execPath, ...server],
    env: { ...process.env, NO_COLOR: '1', SECRET_OF_SERVER: 'kept' } as Record<string, string>,
    stderr: 'ignore' as const,
  });
  return {
    folder,
    ai,
    path: (name: string) => join(folder, name),
    write: (name: string, value: unknown): string => {
      writeFileSync(join(folder, name), JSON.stringify(value));
      return join(folder, name);
    },
    /** A client of the SDK v2. It speaks the newest version that the server knows. */
    async client(server: readonly string[], options: readonly string[] = [], more: ClientOptions = {}) {
      const transport = new StdioClientTransport(command(options, server));
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' }, ...more });
      closing.push(() => client.close());
      await client.connect(transport);
      return { client, transport, pid: () => transport.pid ?? 0 };
    },
    /** A client of the SDK 1.x. */
    async legacy(server: readonly string[], options: readonly string[] = [], capabilities: object = {}) {
      const transport = new LegacyTransport(command(options, server));
      const client = new LegacyClient({ name: 'test', version: '1.0.0' }, { capabilities });
      closing.push(() => client.close());
      await client.connect(transport);
      return { client, transport };
    },
    /** The pending requests, once there are `count` of them. */
    async pending(count = 1) {
      for (let tries = 0; tries < 400; tries += 1) {
        const { items } = await ai.runs.requests();
        if (items.length >= count) return items;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      throw new Error(`${count} requests did not come.`);
    },
    async close() {
      await Promise.allSettled(closing.map((close) => close()));
      await store.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    },
  };
}

export type Gateway = ReturnType<typeof openGateway>;
