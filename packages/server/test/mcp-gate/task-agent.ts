// An agent whose only tool is behind a gateway. As a program it starts one run, and waits for its end.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { countersign } from 'countersign';
import { mcpTools } from 'countersign/mcp';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';

const CALL = { calls: [{ name: 'pay', input: { to: 'ACME' } }] };

/** `isFirst`: its model makes the call. */
export async function clerkOf(file: string, url: string, token: string, isFirst = false) {
  const client = new Client({ name: 'clerk', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const store = sqliteStore(file);
  const ai = countersign({
    model: scriptedModel([...(isFirst ? [CALL] : []), 'done']),
    store,
  });
  const tools = await mcpTools(client, { needsApproval: false, annotations: 'ignore' });
  const clerk = ai.defineAgent({ name: 'clerk', description: 'Pays.', tools });
  const close = async () => {
    await client.close();
    await store.close();
  };
  return { ai, clerk, close };
}

const [, program, file = '', url = '', token = ''] = process.argv;
if (program === import.meta.filename) {
  const { ai, clerk } = await clerkOf(file, url, token, true);
  await ai.runs.wait((await clerk.start({ prompt: 'go' })).id);
}
