// A process that races others for the same runs: `race.ts` starts it, and each line of its input names a race.
import { createInterface } from 'node:readline';
import type { Store } from '../../src/runs/port/store.ts';
import { postgresStore } from '../../src/stores/postgres/postgres.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import { addition, creation } from '../../src/testing/store-contract/check.ts';
import type { Race } from './race.ts';

const AT_ONCE = 12;

/** Another process won. */
class Lost extends Error {}

const [name = ''] = process.argv.slice(2);
let store: Store;

console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const { place, task, runs = 0 } = JSON.parse(line) as Race;
  store = place.startsWith('postgres:') ? postgresStore({ url: place, poolMax: 2 }) : sqliteStore(place);
  const runIds = Array.from({ length: runs }, (_, index) => `run-${index}`);
  console.log(JSON.stringify(await perform(task, runIds)));
  await store.close();
}

async function perform(task: Race['task'], runIds: readonly string[]): Promise<readonly string[]> {
  const won = (attempt: (runId: string) => Promise<unknown>) => wonOf(runIds, attempt);
  switch (task) {
    case 'create':
      return won((id) => store.append(creation(id, { hash: name })));
    case 'append':
      return won((id) => store.append(addition(id, 1, { hash: name })));
    case 'settle': {
      // Decides like the engine: on the version it read, with a retry after other writes.
      return won(async (id) => {
        for (;;) {
          const run = await store.read(id);
          if ((await store.request(`${id}-question`))?.settledAt !== null) throw new Lost();
          const settled = [{ id: `${id}-question`, settlement: name }];
          try {
            return await store.append(addition(id, run?.run.version ?? 0, { settled, hash: name }));
          } catch (error) {
            if ((error as { code?: unknown }).code !== 'stale-version') throw error;
          }
        }
      });
    }
    case 'claim':
      return won(async (id) => {
        if ((await store.claim(id, name, 600_000)) === undefined) throw new Lost();
      });
    case 'note':
      return won(async (id) => {
        if (!(await store.notes.put('race', id, name, { version: 0 }))) throw new Lost();
      });
    case 'migrate':
      await store.migrate();
      await store.append(creation(name));
      return [name];
  }
}

/** The runs whose attempt succeeded. Runs many attempts at once, so that a store batches them. */
async function wonOf(
  runIds: readonly string[],
  attempt: (runId: string) => Promise<unknown>,
): Promise<readonly string[]> {
  const wins: string[] = [];
  const tryFor = async (runId: string): Promise<void> => {
    try {
      await attempt(runId);
      wins.push(runId);
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (!(error instanceof Lost) && code !== 'stale-version' && code !== 'run-exists') throw error;
    }
  };
  for (let first = 0; first < runIds.length; first += AT_ONCE) {
    await Promise.all(runIds.slice(first, first + AT_ONCE).map(tryFor));
  }
  return wins;
}
