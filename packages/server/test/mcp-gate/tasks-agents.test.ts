// An agent of ours waits for a task of the gateway, and is killed meanwhile: the next process goes on waiting for the same task.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { McpGate } from '../../src/mcp-gate/mcp-gate.ts';
import { serveProxy } from '../../src/mcp-gate/serve-proxy.ts';
import { openGateway } from './gateway.ts';
import { createServer } from './modern-server.ts';
import { linesOf } from './recording-server.ts';
import { clerkOf } from './task-agent.ts';

/** A run of the agent that waits for its task, whose process was killed. */
async function killedWhileItWaits() {
  const place = openGateway();
  const handler = createMcpHandler(() => createServer(place.path('ledger')));
  const upstream = createHttpServer(getRequestListener((request) => handler.fetch(request)));
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const gate = await McpGate.open({ ai: place.ai, name: 'bank' });
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  const served = await serveProxy({ url, gate, by: 'ada', host: '127.0.0.1', port: 0 });
  const file = place.path('agents.sqlite');
  const store = sqliteStore(file);
  onTestFinished(async () => {
    await store.close();
    await served.close();
    await gate.close();
    upstream.closeAllConnections();
    upstream.close();
    await place.close();
  });
  const program = spawn(process.execPath, [join(import.meta.dirname, 'task-agent.ts'), file, served.url, 'ada']);
  const { runs } = countersign({ store });
  const waits = async () => {
    const [run] = (await runs.list()).items;
    return run && (await runs.recorded(run.id)).some((event) => event.type === 'step-done') ? run.id : undefined;
  };
  await expect.poll(waits, { timeout: 30_000 }).toBeDefined();
  program.kill('SIGKILL');
  await once(program, 'exit');
  return { place, file, url: served.url, runId: (await waits()) ?? '' };
}

test('the run continues with its task once the request is approved', async () => {
  const { place, file, url, runId } = await killedWhileItWaits();
  const [request] = await place.pending();
  await place.ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });
  const { ai, close } = await clerkOf(file, url, 'ada');
  onTestFinished(close);
  const worker = ai.runs.work();
  await expect.poll(async () => (await ai.runs.get(runId)).status, { timeout: 90_000 }).toBe('done');
  await worker.stop();
  expect(JSON.stringify((await ai.runs.get(runId)).messages)).toContain('paid ACME');
  expect(linesOf(place.path('ledger'))).toEqual(['ACME']);
  expect((await ai.runs.requests({ settled: true })).items).toEqual([]);
  expect(await ai.runs.verify(runId)).toMatchObject({ ok: true });
}, 150_000);

test('a process whose credentials do not know the task asks a person, and names the task', async () => {
  const { place, file, url, runId } = await killedWhileItWaits();
  const { ai, close } = await clerkOf(file, url, 'another');
  onTestFinished(close);
  const worker = ai.runs.work();
  await expect.poll(async () => (await ai.runs.requests({ runId })).items.length, { timeout: 90_000 }).toBe(1);
  await worker.stop();
  const [doubt] = (await ai.runs.requests({ runId })).items;
  const step = (await ai.runs.recorded(runId)).find((event) => event.type === 'step-done') as
    | { output: string }
    | undefined;
  expect(doubt).toMatchObject({ kind: 'doubt' });
  expect(JSON.stringify(doubt?.payload)).toContain(step?.output);
  expect(await place.pending()).toHaveLength(1);
  expect(linesOf(place.path('ledger'))).toEqual([]);
}, 150_000);
