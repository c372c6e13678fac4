// For vitest: installs the packed packages once, in a project as `npm init -y` creates it, for all tests that only read it.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npmInstall, tarballs } from './install.ts';

/** The newest versions of the packages that an app brings along. */
export const NEWEST = { hono: '4.13.18', ai: '7.0.170', zod: '4.6.7' };

const PROJECT = 'COUNTERSIGN_PROJECT';

/** The folder of the project. */
export const projectFolder = (): string => process.env[PROJECT] ?? '';

export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-project-'));
  const { '@countersign/react': _, ...ours } = tarballs();
  const dependencies = { ...ours, ...NEWEST, esbuild: '0.28.2', 'typescript-5': 'npm:typescript@5.9.3' };
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'app', version: '1.0.0', type: 'commonjs', dependencies }),
  );
  npmInstall(folder);
  process.env[PROJECT] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/** A folder inside the project with these fixtures. What is imported there comes from the project. */
export function folderInProject(name: string, fixtures: string): string {
  const folder = mkdtempSync(join(projectFolder(), `${name}-`));
  cpSync(join(import.meta.dirname, 'fixtures', fixtures), folder, { recursive: true });
  return folder;
}
