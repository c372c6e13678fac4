// Node's own SQLite, which Bun and Deno have, too; or an error that says what to install.
import type { DatabaseSync } from 'node:sqlite';
import { ProviderError } from '../../core/errors.ts';

// Looked up instead of imported: the import of a missing module fails without saying which version has it.
const builtIn = process.getBuiltinModule?.('node:sqlite');

if (builtIn === undefined) {
  const runtime = runtimeName(process.versions);
  const message = `countersign/sqlite needs Node 22.13, Bun 1.4 or Deno 2.9, or later; this is ${runtime}. Install Node 24 (https://nodejs.org, or \`nvm install 24\`), or use countersign/postgres.`;
  throw new ProviderError('store-failed', { runtime }, message, { retryable: false });
}

export function openDatabase(path: string): DatabaseSync {
  return new builtIn.DatabaseSync(path);
}

/** Bun and Deno name a version of Node as well. */
function runtimeName({ bun, deno, node }: NodeJS.ProcessVersions): string {
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? `Node ${node}` : `Deno ${deno}`;
}
