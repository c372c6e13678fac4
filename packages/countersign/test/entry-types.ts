// Where a compiler that a test starts finds the types of our packages. `npm test` has built and checked them before: there, the
// declarations save each compiler the sources of everything. A file run alone needs no build.
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');
const isBuilt = process.env.COUNTERSIGN_SHARED_SERVERS === '1';

/** The path of an entry point, such as `index` of the package in `packages/server`. */
export function entryTypes(name: string, entry: string): string {
  return join(root, 'packages', name, isBuilt ? `dist/${entry}.d.ts` : `src/${entry}.ts`);
}
