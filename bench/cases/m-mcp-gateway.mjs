import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { openApproving } from '../lib/approving.mjs';
import { BESIDE, beside } from '../lib/beside.mjs';
import { REPO } from '../lib/node.mjs';

// Client, gateway and MCP server are one process, so the CPU time is that of all.
export default {
  ...BESIDE,
  id: 'M',
  title:
    'A `tools/call` through the MCP gateway (Streamable HTTP, SQLite in memory) beside a direct connection: allowed by a rule, or asked and approved',
  variants: [
    { key: 'allowed', tool: 'lookup' },
    { key: 'approved', tool: 'transfer', asks: true },
  ],
  async open() {
    const built = (file) => import(pathToFileURL(path.join(REPO, 'packages/server/dist/mcp-gate', file)).href);
    const [{ McpGate }, { serveProxy }] = await Promise.all([built('mcp-gate.js'), built('serve-proxy.js')]);
    const server = createServer(answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${server.address().port}/mcp`;
    const approving = openApproving();
    const rules = { otherwise: 'ask', rules: [{ tool: 'lookup', then: 'allow' }] };
    const gate = await McpGate.open({ ai: approving.ai, name: 'bank', rules });
    const proxy = await serveProxy({ url, gate, by: 'ann', host: '127.0.0.1', port: 0 });
    return {
      url,
      gateway: proxy.url,
      approving,
      async close() {
        await gate.close();
        await proxy.close();
        server.close();
      },
    };
  },
  round: ({ url, gateway, approving }, { tool, asks }, env) =>
    beside(
      {
        ours: async () => {
          const called = call(gateway, tool);
          if (asks) await approving.approve();
          await called;
        },
        bare: () => call(url, tool),
      },
      env,
    ),
  close: (c) => c?.close(),
};

let calls = 0;
async function call(url, name) {
  const id = ++calls;
  const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { number: id } } };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: 'Bearer ann',
  };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
  const text = await response.text();
  const { result } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  assert.deepEqual(result?.content, [{ type: 'text', text: String(id) }], text);
}

const TOOLS = ['lookup', 'transfer'].map((name) => ({
  name,
  inputSchema: { type: 'object', properties: { number: { type: 'number' } } },
}));

/** A plain MCP server without sessions. */
async function answer(request, response) {
  let body = '';
  for await (const chunk of request) body += chunk;
  const { id, method, params } = JSON.parse(body);
  const result =
    method === 'tools/call'
      ? { content: [{ type: 'text', text: String(params.arguments.number) }] }
      : method === 'tools/list'
        ? { tools: TOOLS }
        : { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'bank', version: '1' } };
  response.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json' });
  response.end(id === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', id, result }));
}
