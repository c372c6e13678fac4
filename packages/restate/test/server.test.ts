// The example with everything on this machine: server, inbox, command line and metrics work on Restate as on other stores.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createClient } from '@countersign/server/client';
import { expect, test } from 'vitest';
import { freePorts } from './restate-node.ts';

const root = join(import.meta.dirname, '../../..');
const agents = join(root, 'examples/restate/agents.ts');

test('a run is started, listed, decided and rebuilt through the server and the command line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-restate-example-'));
  const [port, services, ingress, admin, node] = (await freePorts(5)).map(String);
  const flags = { data: folder, port, services, ingress, admin, node };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const example = spawn(process.execPath, [join(root, 'examples/restate/start.ts'), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const errors: string[] = [];
  example.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const env = {
    ...process.env,
    ...{
      INGRESS: `http://127.0.0.1:${ingress}`,
      ADMIN: `http://127.0.0.1:${admin}`,
      LISTS: join(folder, 'lists.sqlite'),
    },
  };
  const countersign = async (...words: readonly string[]): Promise<any> => {
    const main = join(root, 'packages/server/bin/countersign.js');
    const { stdout } = await promisify(execFile)(process.execPath, [main, ...words, '--agents', agents, '--json'], {
      env,
    });
    return JSON.parse(stdout);
  };
  try {
    const url = `http://127.0.0.1:${port}`;
    while (
      !(await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ))
    ) {
      if (example.exitCode !== null) throw new Error(errors.join(''));
      await delay(100);
    }
    const { token } = await countersign('tokens', 'create', 'ann', '--all');
    const client = createClient(url, { token });
    const { id } = await client.runs.start({ agent: 'office', prompt: 'Pay the invoice of Miller over 12.' });
    await expect.poll(async () => (await client.requests.list()).items.length).toBe(1);
    const [request] = (await client.requests.list()).items;
    await countersign('decide', request?.id ?? '', '--approve', '--by', 'bob', '--wait');
    await expect.poll(async () => (await countersign('runs', '--status', 'done')).items).toMatchObject([{ id }]);
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(await metrics.text()).toMatch(/^countersign_list_lag_seconds 0/m);
    expect(await countersign('rebuild')).toMatchObject({ rebuilt: 1 });
  } finally {
    example.kill('SIGTERM');
    if (example.exitCode === null) await once(example, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}, 180_000);
