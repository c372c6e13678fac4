// A server process that receives SIGTERM while clients keep their connections open.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ServerProcess, serverProcess } from './children.ts';

function sqlitePlace(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-stop-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return `sqlite:${join(folder, 'runs.sqlite')}`;
}

function startRun({ url, token }: ServerProcess, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const sent = request(`${url}/api/v1/runs`, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('error', reject);
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ agent: 'teller', prompt: 'Ask.' }));
  });
}

/** The default grace period is 10 s; a stop that waits for it takes longer than this, also on a fast machine. */
const GRACE_MS = 10_000;

/** Enough that some connections are busy at any time. */
const CLIENTS = 30;

test('after SIGTERM a busy client starts nothing more, and the process ends before the grace period', async () => {
  const server = await serverProcess(sqlitePlace());
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  onTestFinished(() => agent.destroy());
  const replies: number[] = [];
  const loops = Array.from({ length: CLIENTS }, async () => {
    for (;;) {
      const reply = await startRun(server, agent).catch(() => undefined);
      if (reply !== 201) return;
      replies.push(reply);
    }
  });
  while (replies.length < 20) await new Promise((resolve) => setTimeout(resolve, 10));
  const repliesBefore = replies.length;
  const signalledAt = performance.now();
  server.child.kill('SIGTERM');
  const [code] = (await once(server.child, 'exit')) as [number];
  expect(code).toBe(0);
  expect(performance.now() - signalledAt).toBeLessThan(GRACE_MS);
  await Promise.all(loops);
  // Only requests that were in progress when the signal arrived succeed: before, a busy client started hundreds more.
  expect(replies.length - repliesBefore).toBeLessThanOrEqual(3 * CLIENTS);
}, 60_000);

test('an idle connection and an open stream do not hold up a stop', async () => {
  const server = await serverProcess(sqlitePlace());
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  await startRun(server, agent);
  const idle = connect(Number(new URL(server.url).port), '127.0.0.1');
  await once(idle, 'connect');
  const stream = await fetch(`${server.url}/api/v1/changes`, { headers: { authorization: `Bearer ${server.token}` } });
  const signalledAt = performance.now();
  server.child.kill('SIGTERM');
  const closed = once(idle.resume(), 'close');
  expect(await stream.text()).toContain(': connected');
  const [code] = (await once(server.child, 'exit')) as [number];
  await closed;
  expect(code).toBe(0);
  expect(performance.now() - signalledAt).toBeLessThan(GRACE_MS);
}, 60_000);
