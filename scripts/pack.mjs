// Packs the packages as npm would publish them, for the checks and the tests that install them.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, root, run } from './run.mjs';

/** The folders of the published packages. */
export const PACKAGES = ['countersign', 'react', 'restate', 'create-countersign', 'server'];

/** Names the folder with the tarballs. `npm test` packs once for all its checks. */
export const PACKED = 'COUNTERSIGN_PACKED';

/** Packs one package. Packing builds into an empty dist (see `prepack`), so no file of an earlier build is published. */
export function pack(name, folder) {
  mkdirSync(folder, { recursive: true });
  const [command, ...args] = [...npm(), 'pack', '--json', '--loglevel=error', '--pack-destination', folder];
  const { code, stdout, output } = run(command, args, { cwd: join(root, 'packages', name) });
  if (code !== 0) throw new Error(`npm pack failed:\n${output}`);
  return Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]/m))))[0];
}

/** For vitest: packs everything, unless it is packed. */
export function setup() {
  if (process.env[PACKED]) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'countersign-packed-'));
  for (const name of PACKAGES) pack(name, folder);
  process.env[PACKED] = folder;
  return () => rmSync(folder, { recursive: true });
}
