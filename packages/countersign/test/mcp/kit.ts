// Shared by the tests of MCP: clients of 2.4 connected to real servers of both protocols.
import { fileURLToPath } from 'node:url';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { type Countersign, countersign, memoryStore, type Tool } from 'countersign';
import { type ScriptStep, scriptedModel } from 'countersign/testing';

export type AnyServer = McpServer | LegacyServer;

export function newClient(era: 'legacy' | 'modern' = 'legacy'): Client {
  const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
  const versionNegotiation = { mode } as const;
  return new Client({ name: 'tests', version: '1.0.0' }, { capabilities: { elicitation: {} }, versionNegotiation });
}

/** A client connected to this server of the older protocol, in memory. */
export async function legacyClient(server: AnyServer): Promise<Client> {
  const client = newClient();
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs as never), client.connect(ours)]);
  return client;
}

/** A client connected to a server process. */
export async function processClient(
  script: string,
  args: readonly string[],
  era?: 'legacy' | 'modern',
): Promise<Client> {
  const client = newClient(era);
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [script, ...args], stderr: 'ignore' }),
  );
  return client;
}

export const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

export const newServer = (): McpServer => new McpServer({ name: 'server', version: '1.0.0' });
export const newLegacyServer = (): LegacyServer => new LegacyServer({ name: 'older', version: '1.0.0' });

/** An agent with these tools whose model makes one call and ends. */
export function agentWith(
  tools: readonly Tool[],
  call: { name: string; input?: object } | 'none',
  store = memoryStore(),
): { readonly ai: Countersign; start(): Promise<string> } {
  const script: ScriptStep[] = [...(call === 'none' ? [] : [{ calls: [{ input: {}, ...call }] }]), 'done'];
  const ai = countersign({ model: scriptedModel(script), store });
  const agent = ai.defineAgent({ name: 'clerk', description: 'Works.', tools });
  return {
    ai,
    start: async () => {
      const { id } = await agent.start({ prompt: 'go' });
      await ai.runs.wait(id);
      return id;
    },
  };
}

/** The only pending request of the run. */
export async function pending(ai: Countersign, runId: string) {
  const { items } = await ai.runs.requests({ runId });
  if (items.length !== 1 || !items[0]) throw new Error(`Expected one request, not ${items.length}`);
  return items[0];
}

export async function decide(ai: Countersign, runId: string, decision: Parameters<Countersign['runs']['decide']>[1]) {
  await ai.runs.decide((await pending(ai, runId)).id, decision, { by: 'ann' });
  await ai.runs.wait(runId);
}

/** The results of the calls of a run, as the model reads them. */
export async function results(ai: Countersign, runId: string): Promise<readonly unknown[]> {
  const { messages } = await ai.runs.get(runId);
  return messages.flatMap(({ content }) =>
    content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : [])),
  );
}
