// Writes a project: the files of a template into an empty folder, with the project's name in package.json.
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Refusal } from './refusal.ts';
import { type TemplateName, templateFiles } from './templates.ts';

/** Refuses a folder that holds anything but a new git repository. */
export function checkTarget(folder: string, shown: string): void {
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory()) throw new Refusal(`${shown} is a file. Choose another folder.`);
  const found = readdirSync(folder).filter((name) => !HARMLESS.has(name));
  if (found.length === 0) return;
  const names = found.length > 3 ? `${found.slice(0, 3).join(', ')} and ${found.length - 3} more` : found.join(', ');
  throw new Refusal(
    `The folder ${shown} is not empty: it contains ${names}. Nothing was written. Choose another folder. ` +
      'To add an agents file to an existing project, install @countersign/server there and run: npx countersign init',
  );
}

const HARMLESS: ReadonlySet<string> = new Set(['.git', '.DS_Store']);

/** Writes the files. A file that appeared in the meantime is never overwritten. */
export function writeProject(folder: string, template: TemplateName): void {
  for (const [path, text] of templateFiles(template)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), path === 'package.json' ? named(text, folder) : text, { flag: 'wx' });
  }
}

function named(manifest: string, folder: string): string {
  const { name: _, ...rest } = JSON.parse(manifest) as Readonly<Record<string, unknown>>;
  return `${JSON.stringify({ name: packageName(basename(folder)), ...rest }, null, 2)}\n`;
}

/** A name that npm accepts. */
export function packageName(folderName: string): string {
  const name = folderName
    .toLowerCase()
    .replaceAll(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[._-]+/, '')
    .replace(/-+$/, '')
    .slice(0, 214);
  return name === '' || name === 'node_modules' ? 'countersign-app' : name;
}
