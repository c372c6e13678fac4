// Writes the licences of all bundled packages into a file that ships with the bundle.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'rolldown';

export type LicencesOptions = {
  /** What is shipped, as the beginning of a sentence. */
  readonly product: string;
  /** The licence of the product itself. */
  readonly own: string;
  /** Packages whose code is in the build without being one of its modules, such as what writes the styles. */
  readonly also?: readonly string[];
  /** Files with the licences of packages that hold no text of theirs, by name. */
  readonly texts?: Readonly<Record<string, string>>;
};

const FILE_NAME = 'licences.txt';

/** Licences that need no text, or the text at the top of the file. */
const NEEDS_NO_TEXT = ['Apache-2.0', 'Unlicense', '0BSD', 'CC0-1.0'];

/** Fails the build if a package says nothing of its licence. */
export function licences({ product, own, also = [], texts = {} }: LicencesOptions): Plugin {
  return {
    name: 'countersign-licences',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
      const require = createRequire(import.meta.url);
      const folders = [
        ...modules.flatMap((id) => folderOf(id) ?? []),
        ...also.map((name) => dirname(require.resolve(`${name}/package.json`))),
      ];
      const packages = [...new Set(folders)]
        .map((folder) => readPackage(folder, texts))
        .toSorted((a, b) => (a.title < b.title ? -1 : 1));
      const parts = [
        `${product} is under the licence that comes first. Built into it are the packages that follow.`,
        readFileSync(own, 'utf8'),
        ...new Set(packages.map(({ title, text }) => `${title}\n\n${text}`)),
      ];
      this.emitFile({ type: 'asset', fileName: FILE_NAME, source: parts.map((text) => text.trim()).join(LINE) });
    },
  };
}

const LINE = `\n\n${'-'.repeat(80)}\n\n`;

/** The folder of the package that a module is from; undefined for our own, and for what the bundler adds. */
function folderOf(id: string): string | undefined {
  // The bundler's own modules begin with a zero character.
  if (id.startsWith('\0')) return undefined;
  return /^(?<folder>.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll('\\', '/'))?.groups?.folder;
}

function readPackage(folder: string, texts: Readonly<Record<string, string>>) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const title = `${name} ${version} (${license})`;
  const files = readdirSync(folder).flatMap((file) =>
    /^(licen[cs]e|copying|notice)/i.test(file) ? [join(folder, file)] : [],
  );
  if (files.length === 0 && texts[name]) files.push(texts[name]);
  if (files.length > 0) return { title, text: files.map((file) => readFileSync(file, 'utf8')).join('\n') };
  if (!NEEDS_NO_TEXT.includes(license)) throw new Error(`${title} is bundled, and has no text of its licence.`);
  return {
    title,
    text: `Under ${license}. The package holds no text of it${license === 'Apache-2.0' ? '; it is the one at the beginning of this file' : ''}.`,
  };
}
