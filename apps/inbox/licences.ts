// Writes the licences of all bundled packages into a file that ships with the app.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'vite';

export type LicencesOptions = {
  /** The licence of the app itself. */
  readonly own: string;
  /** Packages whose code is in the build without being one of its modules, such as what writes the styles. */
  readonly also: readonly string[];
};

const FILE_NAME = 'licences.txt';

/** Licences that need no text, or the text at the top of the file. */
const NEEDS_NO_TEXT = ['Apache-2.0', 'Unlicense', '0BSD', 'CC0-1.0'];

/** Fails the build if a package says nothing of its licence. */
export function licences({ own, also }: LicencesOptions): Plugin {
  return {
    name: 'countersign-licences',
    apply: 'build',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
      const require = createRequire(import.meta.url);
      const folders = [
        ...modules.flatMap((id) => folderOf(id) ?? []),
        ...also.map((name) => dirname(require.resolve(`${name}/package.json`))),
      ];
      const packages = [...new Set(folders)].map(readPackage).toSorted((a, b) => (a.title < b.title ? -1 : 1));
      const texts = [
        HEAD,
        readFileSync(own, 'utf8'),
        ...new Set(packages.map(({ title, text }) => `${title}\n\n${text}`)),
      ];
      this.emitFile({ type: 'asset', fileName: FILE_NAME, source: texts.map((text) => text.trim()).join(LINE) });
    },
  };
}

const HEAD =
  'The inbox of Countersign is under the licence that comes first. Built into it are the packages that follow.';
const LINE = `\n\n${'-'.repeat(80)}\n\n`;

/** The folder of the package that a module is from; undefined for our own. */
function folderOf(id: string): string | undefined {
  return /^(?<folder>.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll('\\', '/'))?.groups?.folder;
}

function readPackage(folder: string): { readonly title: string; readonly text: string } {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const title = `${name} ${version} (${license})`;
  if (files.length > 0)
    return { title, text: files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n') };
  if (!NEEDS_NO_TEXT.includes(license))
    throw new Error(`${title} is built into the app, and has no text of its licence.`);
  return {
    title,
    text: `Under ${license}. The package holds no text of it${license === 'Apache-2.0' ? '; it is the one at the beginning of this file' : ''}.`,
  };
}
