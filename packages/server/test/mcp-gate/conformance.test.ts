// The conformance suite of MCP against a server, directly and through the gateway: every check ends in the same way.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { McpGate } from '../../src/mcp-gate/mcp-gate.ts';
import type { McpRules } from '../../src/mcp-gate/rules.ts';
import { serveProxy } from '../../src/mcp-gate/serve-proxy.ts';
import { conformanceServer } from './conformance-server.ts';
import { type Gateway, openGateway } from './gateway.ts';

const SUITE = join(import.meta.dirname, '../../../../node_modules/@modelcontextprotocol/conformance/dist/index.js');
const run = promisify(execFile);

let place: Gateway;
let upstream: Server;
let url: string;
let direct: readonly string[];

beforeAll(async () => {
  place = openGateway();
  upstream = conformanceServer();
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  direct = await checksAt(url, 'direct');
}, 120_000);
afterAll(async () => {
  upstream.closeAllConnections();
  upstream.close();
  await place.close();
});

/** Each check of each scenario with its status. */
async function checksAt(address: string, name: string): Promise<readonly string[]> {
  const folder = place.path(name);
  await run(process.execPath, [SUITE, 'server', '--suite', 'all', '--url', address, '-o', folder]).catch(
    () => undefined,
  );
  return readdirSync(folder)
    .flatMap((scenario) => {
      const checks: { id: string; status: string }[] = JSON.parse(
        readFileSync(join(folder, scenario, 'checks.json'), 'utf8'),
      );
      const title = scenario.replace(/-\d{4}-\d\d-\d\dT.*$/, '');
      return checks.filter(({ status }) => status !== 'INFO').map(({ id, status }) => `${title}: ${id}: ${status}`);
    })
    .sort();
}

async function throughGateway(name: string, rules: McpRules): Promise<readonly string[]> {
  const gate = await McpGate.open({ ai: place.ai, name, rules });
  const served = await serveProxy({ url, gate, by: 'ada', host: '127.0.0.1', port: 0 });
  try {
    return await checksAt(served.url, name);
  } finally {
    await served.close();
    await gate.close();
  }
}

test('the server passes every check directly', () => {
  expect(direct.filter((check) => !check.endsWith('SUCCESS'))).toEqual([]);
  expect(new Set(direct.map((check) => check.split(':')[0])).size).toBe(32);
});

test('through the gateway, with rules that allow, every check ends in the same way', async () => {
  expect(await throughGateway('allow', { otherwise: 'allow' })).toEqual(direct);
}, 120_000);

test('through the gateway, with a person who approves each call, every check ends in the same way', async () => {
  const stop = new AbortController();
  const approving = (async () => {
    while (!stop.signal.aborted) {
      for (const { id } of (await place.ai.runs.requests()).items)
        await place.ai.runs.decide(id, 'approve', { by: 'bea' });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  expect(await throughGateway('ask', {})).toEqual(direct);
  stop.abort();
  await approving;
  expect((await place.ai.runs.requests({ settled: true, limit: 100 })).items.length).toBeGreaterThan(10);
}, 120_000);
