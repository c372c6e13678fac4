// Ours on Restate: a node from npm, a process with its services, and the lists in the database of the case. Everything comes
// from the built workspace, so that the store and the engine share one copy of the library. `ours:restate-3` has three nodes.
import { fork } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { REPO } from '../../lib/node.mjs';
import { create as base, meta as m } from './adapter.mjs';

const workspace = (file) => import(pathToFileURL(path.join(REPO, 'packages', file)).href);
const HZ = 100;

export const meta = { ...m, id: 'ours:restate', label: 'Countersign on Restate', variantOf: 'ours' };
export const create = (options) => onNodes(1, options);

export async function onNodes(count, options) {
  const engine = await workspace('countersign/dist/index.js');
  const driver = await base(options, { engine });
  return { ...driver, durable: (given) => durable(driver, count, given) };
}

async function durable(driver, count, { connectionString, poolMax }) {
  const { makeCluster, register } = await workspace('restate/test/restate-node.ts');
  const { restateStore } = await workspace('restate/dist/index.js');
  const { postgresStore } = await workspace('countersign/dist/stores/postgres/postgres.js');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-bench-restate-'));
  const nodes = await makeCluster(folder, count);
  await Promise.all(nodes.map((node) => node.start()));
  const services = fork(path.join(import.meta.dirname, 'restate-services.mjs'), [connectionString]);
  const port = await new Promise((resolve) => services.once('message', resolve));
  await register(nodes[0].admin, port);
  const lists = postgresStore({ url: connectionString, poolMax });
  const store = restateStore({ ingress: nodes.map(({ ingress }) => ingress), admin: nodes[0].admin, lists });
  const stored = await driver.durable({ store });
  return {
    ...stored,
    // CPU time of the nodes and of the services, which run beside the client and the database.
    othersCpuMs: () => [...nodes.map((node) => node.pid()), services.pid].reduce((sum, pid) => sum + cpuMs(pid), 0),
    async close() {
      await stored.close();
      services.kill('SIGTERM');
      await Promise.all(nodes.map((node) => node.stop()));
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

function cpuMs(pid) {
  const [, rest] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / HZ;
}
