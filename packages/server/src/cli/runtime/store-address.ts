// Stores by their address, as in --store and COUNTERSIGN_STORE.
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Store } from 'countersign/store';
import { CommandFailure, EXIT, usageFailure } from '../failure.ts';

export const DEFAULT_STORE = 'sqlite:./.countersign/runs.sqlite';

type Address = { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'postgres'; readonly url: string };

/** What is opened: `make` also makes a file that is not there, or its tables; `existing` takes that for a mistake. */
export type Opening = 'make' | 'existing';

export async function openStore(address: string, opening: Opening): Promise<Store> {
  const parsed = parseAddress(address);
  if (parsed.kind === 'postgres') {
    const { postgresStore } = await import('countersign/postgres');
    return postgresStore(parsed.url);
  }
  if (opening === 'existing' && !(await isStore(parsed.path))) throw noStoreYet(address);
  if (!isThere(parsed.path)) mkdirSync(dirname(parsed.path), { recursive: true });
  const { sqliteStore } = await import('countersign/sqlite');
  return sqliteStore(parsed.path);
}

/** False for the database of another program, too, in which nothing shall be made by looking. */
async function isStore(path: string): Promise<boolean> {
  if (!isThere(path)) return false;
  const { DatabaseSync } = await import('node:sqlite');
  let database: InstanceType<typeof DatabaseSync> | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name GLOB 'countersign_*' LIMIT 1");
    return tables.get() !== undefined;
  } catch {
    // It is no database, or in use, or may not be read: the store itself says what to do.
    return true;
  } finally {
    database?.close();
  }
}

/** True where nobody may look, too: the store itself says what it may not do. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** The file of a store in a file. */
export function fileOf(address: string): string | undefined {
  const parsed = parseAddress(address);
  return parsed.kind === 'sqlite' ? parsed.path : undefined;
}

/** The address without its password. */
export function shownAddress(address: string): string {
  return address.replace(/^(postgres(?:ql)?:\/\/[^/@:]*):[^/]*@/, '$1:***@').replace(/([?&]password=)[^&]*/g, '$1***');
}

function parseAddress(address: string): Address {
  if (/^postgres(ql)?:\/\//.test(address)) return { kind: 'postgres', url: address };
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(address)?.[1];
  if (path !== undefined) return { kind: 'sqlite', path: resolve(path) };
  throw usageFailure(
    `“${shownAddress(address)}” is no address of a store.`,
    'Use sqlite:./runs.sqlite or postgres://user:password@host:5432/database',
  );
}

function noStoreYet(address: string): CommandFailure {
  return new CommandFailure(EXIT.notFound, 'no-store-yet', `There is no store at ${shownAddress(address)}.`, {
    hint: 'It is made by: countersign dev. Or say where it is: --store sqlite:… | postgres://…, --url https://…',
  });
}
