// Opens a store by its address, as in --store and COUNTERSIGN_STORE.
import { mkdirSync, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import type { Store } from 'countersign/store';
import type { StoreOptions } from '../commands/options.ts';
import { CommandFailure, EXIT, usageFailure } from '../failure.ts';

const DEFAULT_STORE = 'sqlite:./.countersign/runs.sqlite';

export const storeAddress = ({ store }: StoreOptions): string =>
  store ?? process.env.COUNTERSIGN_STORE ?? DEFAULT_STORE;

type Address = { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'postgres'; readonly url: string };

/** `make` creates a missing file and its tables; `existing` refuses a missing one. */
export type Opening = 'make' | 'existing';

export async function openStore(address: string, opening: Opening): Promise<Store> {
  const parsed = parseAddress(address);
  if (parsed.kind === 'postgres') {
    const { postgresStore } = await import('countersign/postgres');
    return postgresStore(parsed.url);
  }
  if (opening === 'existing' && !(await isStore(parsed.path))) throw noStoreYet(address);
  if (!exists(parsed.path)) mkdirSync(dirname(parsed.path), { recursive: true, mode: 0o700 });
  const { sqliteStore } = await import('countersign/sqlite');
  return sqliteStore(parsed.path);
}

/** False for a database of another program: reading must not create tables in it. */
async function isStore(path: string): Promise<boolean> {
  if (!exists(path)) return false;
  const { DatabaseSync } = await import('node:sqlite');
  let database: InstanceType<typeof DatabaseSync> | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name GLOB 'countersign_*' LIMIT 1");
    return tables.get() !== undefined;
  } catch {
    // Not a database, locked or unreadable: the store reports it better.
    return true;
  } finally {
    database?.close();
  }
}

/** True also if the path cannot be read: the store reports that better. */
export function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** Returns the path of a SQLite store. */
export function storeFile(address: string): string | undefined {
  const parsed = parseAddress(address);
  return parsed.kind === 'sqlite' ? parsed.path : undefined;
}

/** Shows a path relative to the current folder, if it is inside. */
export function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}

/** Hides the password in an address. */
export function shownAddress(address: string): string {
  return address.replace(/^(postgres(?:ql)?:\/\/[^/@:]*):[^/]*@/, '$1:***@').replace(/([?&]password=)[^&]*/g, '$1***');
}

function parseAddress(address: string): Address {
  if (/^postgres(ql)?:\/\//.test(address)) return { kind: 'postgres', url: address };
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(address)?.[1];
  if (path !== undefined) return { kind: 'sqlite', path: resolve(path) };
  throw usageFailure(
    `Invalid store address “${shownAddress(address)}”.`,
    'Use sqlite:./runs.sqlite or postgres://user:password@host:5432/database',
  );
}

function noStoreYet(address: string): CommandFailure {
  return new CommandFailure(EXIT.notFound, 'no-store-yet', `No store at ${shownAddress(address)}.`, {
    hint: 'Create it with: countersign dev. Or pass --store sqlite:…, --store postgres://… or --url https://…',
  });
}
