// A Restate server for a file of tests, and fresh stores on it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { restateStore, serveRestate } from '@countersign/restate';
import { memoryStore } from 'countersign';
import type { StoreUnderTest } from 'countersign/testing';
import { afterAll, beforeAll } from 'vitest';
import { Changes } from './caught-up.ts';
import { makeCluster, type RestateNode, register } from './restate-node.ts';

/** How many nodes the tests use. `RESTATE_NODES=3 npx vitest run packages/restate` runs them on a cluster. */
const NODES = Number(process.env.RESTATE_NODES ?? 1);

/** Starts the nodes before the tests of a file, and stops them and everything on them after them. */
export function useRestate() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-restate-'));
  const closing: (() => Promise<unknown>)[] = [];
  let nodes: readonly RestateNode[] = [];
  let made = 0;

  beforeAll(async () => {
    nodes = await makeCluster(folder, NODES);
    await Promise.all(nodes.map((node) => node.start()));
  });
  afterAll(async () => {
    for (const close of closing) await close();
    await Promise.all(nodes.map((node) => node.stop()));
    rmSync(folder, { recursive: true });
  });

  /** Where to reach the nodes. */
  const place = () => {
    const [first] = nodes;
    if (first === undefined) throw new Error('The nodes have not started.');
    return { ingress: nodes.map(({ ingress }) => ingress), admin: first.admin };
  };

  return {
    folder,
    place,
    newName: () => `test-${++made}`,
    /** Closed after all tests: a watcher of an earlier one may still read. */
    closeLater: (close: () => Promise<unknown>) => void closing.unshift(close),

    /** A fresh store with services of its own and a clock that can be moved. Its lists wait until they have every change. */
    async subject(): Promise<StoreUnderTest> {
      const name = `subject-${++made}`;
      let time = Date.now();
      const now = () => time;
      const lists = memoryStore({ now });
      const changes = new Changes(lists);
      const endpoint = await serveRestate({ lists, name, now, port: 0 });
      closing.unshift(endpoint.close);
      await register(place().admin, endpoint.port);
      const options = { ...place(), name, lists, timeoutMs: 60_000 };
      const open = () => changes.watch(restateStore(options));
      return {
        store: open(),
        another: async () => open(),
        advance: (ms) => {
          time += ms;
        },
        close: async () => undefined,
      };
    },
  };
}
