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

/** Starts a node before the tests of a file, and stops it and everything on it after them. */
export function useRestate() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-restate-'));
  const closing: (() => Promise<unknown>)[] = [];
  let started: RestateNode | undefined;
  let made = 0;

  beforeAll(async () => {
    [started] = await makeCluster(folder);
    await started?.start();
  });
  afterAll(async () => {
    for (const close of closing) await close();
    await started?.stop();
    rmSync(folder, { recursive: true });
  });

  const node = (): RestateNode => {
    if (started === undefined) throw new Error('The node has not started.');
    return started;
  };

  return {
    folder,
    node,
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
      await register(node().admin, endpoint.port);
      const options = { ingress: node().ingress, admin: node().admin, name, lists, timeoutMs: 60_000 };
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
