// The store contract on a single node. Lists lag, so each look at them waits until they have every change.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { restateStore, serveRestate } from '@countersign/restate';
import { memoryStore } from 'countersign';
import { storeContract } from 'countersign/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { Changes } from './caught-up.ts';
import { makeCluster, type RestateNode, register } from './restate-node.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-restate-'));
let node: RestateNode;

beforeAll(async () => {
  [node] = (await makeCluster(folder)) as [RestateNode];
  await node.start();
});

afterAll(async () => {
  await node.stop();
  rmSync(folder, { recursive: true });
});

let made = 0;

async function make() {
  made += 1;
  const name = `contract-${made}`;
  const lists = memoryStore();
  const changes = new Changes(lists);
  const endpoint = await serveRestate({ lists, name, port: 0 });
  await register(node.admin, endpoint.port);
  const open = () => changes.watch(restateStore({ ingress: node.ingress, admin: node.admin, name, lists }));
  return { store: open(), another: async () => open(), close: () => endpoint.close() };
}

storeContract(make, { describe, test });
