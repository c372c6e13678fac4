// Stores that outlive a server: a fresh place on each kind.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { testServer } from '../../../countersign/test/stores/postgres-server.ts';

/** By name; PostgreSQL where there is one. */
export async function freshPlaces(): Promise<readonly (readonly [string, () => Promise<string>])[]> {
  const postgres = await testServer();
  return [['SQLite', freshFile], ...(postgres ? [['PostgreSQL', postgres.freshDatabase] as const] : [])];
}

async function freshFile(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-place-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return `sqlite:${join(folder, 'runs.sqlite')}`;
}
