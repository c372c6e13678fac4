// The store of the app: one SQLite file, opened once in a process.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';

/** In `COUNTERSIGN_DB`, or in the folder `.data`. */
export const storePath = (): string => process.env.COUNTERSIGN_DB ?? join(process.cwd(), '.data/chat.sqlite');

// Next.js bundles pages and routes apart and loads them again while you develop.
const shared = globalThis as { countersignStore?: Store };

export function openStore(): Store {
  shared.countersignStore ??= create();
  return shared.countersignStore;
}

function create(): Store {
  mkdirSync(dirname(storePath()), { recursive: true });
  return sqliteStore(storePath());
}
