// Thousands of messages to the MCP gateway and to the MCP inbox, right and wrong: none gets a server error or hangs, and
// no call of a tool reaches the server behind the gateway, because nobody approves one.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { McpGate } from '../../src/mcp-gate/mcp-gate.ts';
import { serveProxy } from '../../src/mcp-gate/serve-proxy.ts';
import { openGateway } from '../mcp-gate/gateway.ts';
import { linesOf, recordingHttp } from '../mcp-gate/recording-server.ts';
import { begin, startServer } from '../server.ts';
import { messages } from './mcp-messages.ts';
import { pick, seeded } from './values.ts';

const MESSAGES = Number(process.env.FUZZ_REQUESTS ?? 1_200) / 2;
const SEED = Number(process.env.FUZZ_SEED ?? 20_261);
const timeout = Math.max(300_000, MESSAGES * 50);

test(
  'the MCP gateway handles arbitrary messages, and sends no call that nobody approved',
  async () => {
    const place = openGateway();
    const { server: upstream } = recordingHttp(place.path('seen'));
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
    const gate = await McpGate.open({ ai: place.ai, name: 'bank', holdMs: 5 });
    const served = await serveProxy({ url, gate, by: 'ada', host: '127.0.0.1', port: 0 });
    onTestFinished(async () => {
      await served.close();
      await gate.close();
      upstream.closeAllConnections();
      upstream.close();
      await place.close();
    });
    const tools = ['pay', 'wipe', 'slow', 'shot', 'pay ', 'PAY', 'p\u200bay', 'missing'];
    const seen = await fuzz(served.url, ['ada', 'eve', ''], tools);
    const reached = linesOf(place.path('seen')).filter((line) => line.includes('tools/call'));
    expect(reached).toEqual([]);
    // The test proves little if every message was refused at the door.
    expect((await place.ai.runs.requests({ limit: 20 })).items.length).toBe(20);
    expect(seen.get('result')).toBeGreaterThan(MESSAGES / 20);
    expect(seen.get('error')).toBeGreaterThan(MESSAGES / 20);
    expect(seen.get('task')).toBeGreaterThan(MESSAGES / 100);
  },
  timeout,
);

test(
  'the MCP inbox handles arbitrary messages, and decides nothing that no person confirmed',
  async () => {
    const server = await startServer();
    const { id } = await begin(await server.as('ann'), server.ai, 'pay bob 500');
    const [request] = (await server.ai.runs.requests({ runId: id })).items;
    const tokens = [
      await server.tokenFor('dora', { scopes: ['read', 'decide'], reach: 'all' }),
      await server.tokenFor('rita', { scopes: ['read'], reach: 'all' }),
      'cs_forged',
    ];
    const seen = await fuzz(
      `${server.url}/mcp`,
      tokens,
      ['list_requests', 'get_request', 'decide_request', 'missing'],
      {
        id: [request?.id, 'no-such', ''],
      },
    );
    expect((await server.ai.runs.request(request?.id ?? '')).settlement).toBeNull();
    expect(seen.get('result')).toBeGreaterThan(MESSAGES / 50);
  },
  timeout,
);

async function fuzz(
  url: string,
  tokens: readonly string[],
  tools: readonly string[],
  args: Readonly<Record<string, readonly unknown[]>> = {},
): Promise<ReadonlyMap<string, number>> {
  const random = seeded(SEED);
  const taskIds: string[] = [];
  const made = messages(random, { tools, args, taskIds });
  const seen = new Map<string, number>();
  const faults: string[] = [];
  let sent = 0;

  async function send(): Promise<void> {
    const { method, headers, body } = made.next().value;
    const token = pick(random, tokens);
    const what = `${method} ${String(body).slice(0, 300)}`;
    const asked = {
      method,
      headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) },
      ...(method !== 'GET' && { body }),
      signal: AbortSignal.timeout(15_000),
    };
    const response = await fetch(url, asked).catch((error) => {
      // The server may close an idle connection at the moment when fetch sends on it.
      if (/ECONNRESET|EPIPE|UND_ERR_SOCKET/.test(error.cause?.code ?? '')) return fetch(url, asked);
      faults.push(`${what} broke off: ${error}`);
      return undefined;
    });
    if (!response) return;
    if (response.status >= 500) faults.push(`${what} → ${response.status} ${(await response.text()).slice(0, 300)}`);
    else if (method === 'GET') await response.body?.cancel();
    else {
      const text = await response.text().catch((error) => {
        faults.push(`${what} hangs: ${error}`);
        return '';
      });
      const kind = text.includes('"result"') ? 'result' : text.includes('"error"') ? 'error' : 'other';
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
      const [, taskId] = /"taskId":"([^"]+)"/.exec(text) ?? [];
      if (taskId === undefined) return;
      taskIds.push(taskId);
      seen.set('task', (seen.get('task') ?? 0) + 1);
    }
  }
  const worker = async () => {
    while (sent++ < MESSAGES && faults.length < 10) await send();
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(faults).toEqual([]);
  return seen;
}
