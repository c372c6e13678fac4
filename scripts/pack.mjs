// Packs the packages as npm would publish them, for the checks and the tests that install them.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, root, run } from './run.mjs';

/** The folders of the published packages. */
export const PACKAGES = ['countersign', 'react', 'restate', 'create-countersign', 'server'];

/** Names the folder with the tarballs. `npm test` packs once for all its checks. */
export const PACKED = 'COUNTERSIGN_PACKED';

/** For vitest: packs everything, unless it is packed. */
export function setup() {
  if (process.env[PACKED]) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'countersign-packed-'));
  packAll(folder);
  process.env[PACKED] = folder;
  return () => rmSync(folder, { recursive: true });
}

const REPORTS = 'reports.json';

/** Packs everything, and keeps what npm says about each package beside the tarballs. */
export function packAll(folder) {
  const reports = PACKAGES.map((name) => [name, pack(name, folder)]);
  writeFileSync(join(folder, REPORTS), JSON.stringify(Object.fromEntries(reports)));
}

/** What npm said about each packed package: the name of its tarball, its files and its size. */
export function packReports(folder) {
  return JSON.parse(readFileSync(join(folder, REPORTS), 'utf8'));
}

/** Packs one package. Packing builds into an empty dist (see `prepack`), so no file of an earlier build is published. */
function pack(name, folder) {
  mkdirSync(folder, { recursive: true });
  const [command, ...args] = [...npm(), 'pack', '--json', '--loglevel=error', '--pack-destination', folder];
  const { code, stdout, output } = run(command, args, { cwd: join(root, 'packages', name) });
  if (code !== 0) throw new Error(`npm pack failed:\n${output}`);
  return Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]/m))))[0];
}
