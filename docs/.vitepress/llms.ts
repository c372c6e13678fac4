// What programs read of the site: `llms.txt`, all pages in `llms-full.txt`, and each page as Markdown beside its HTML.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import type { SiteConfig } from 'vitepress';
import { rewrites, siteAddress } from './markdown.ts';
import { contentsOf, type Entry } from './sidebar.ts';

type Built = Pick<SiteConfig, 'srcDir' | 'outDir' | 'pages' | 'site'>;

/** Pages below /source/ show files of the repository. */
export const isWritten = (page: string): boolean => !page.startsWith('source/') && page !== '404.md';

export function writeForPrograms({ srcDir, outDir, pages, site }: Built): void {
  const textOf = (page: string): string => markdownOf(srcDir, page, readFileSync(join(srcDir, page), 'utf8'));
  for (const page of pages.filter(isWritten)) write(outDir, placeOf(page), textOf(page));
  const contents = contentsOf(readFileSync(join(srcDir, 'README.md'), 'utf8'));
  const listed = contents.flatMap(pathsIn).filter((path) => !path.startsWith('..'));
  const whole = listed.map((page) => `<!-- ${addressOf('README.md', page)} -->\n\n${textOf(page)}`);
  write(outDir, 'llms-full.txt', whole.join('\n'));
  write(outDir, 'llms.txt', listOf(site, contents));
}

const placeOf = (page: string): string => (page === 'README.md' ? rewrites[page] : page);

/** Where `link` of the page `page` leads: to the Markdown of a page, or to the HTML that shows a file of the repository. */
function addressOf(page: string, link: string): string {
  const address = siteAddress(page, link);
  return isWritten(address.slice(1)) ? address.replace(/\.html(?=#|$)/, '.md') : address;
}

function listOf({ title, description }: SiteConfig['site'], contents: readonly Entry[]): string {
  const more =
    '- [Everything](/llms-full.txt): all pages in one file\n- [Contents](/contents.md): the same list, as a page';
  return [
    `# ${title}`,
    `> ${description}`,
    ABOUT,
    ...contents.flatMap((layer) => sections(layer)),
    `## Optional\n\n${more}\n`,
  ].join('\n\n');
}

const ABOUT = `Install the engine with \`npm install countersign\`, and the inbox, the HTTP API and the command line with
\`npm install @countersign/server\`. To add the gate to a project, follow \`node_modules/countersign/skills/countersign/SKILL.md\`.`;

/** A layer has its own pages first, then its groups. */
function sections(entry: Entry, above = ''): readonly string[] {
  if ('path' in entry) return [];
  const title = `${above}${entry.text}`;
  const own = entry.entries.flatMap((page) =>
    'path' in page ? [`- [${page.text}](${addressOf('README.md', page.path)}): ${withoutLinks(page.about)}`] : [],
  );
  const inside = entry.entries.flatMap((group) => sections(group, `${title}: `));
  return own.length === 0 ? inside : [`## ${title}\n\n${own.join('\n')}`, ...inside];
}

const pathsIn = (entry: Entry): readonly string[] => ('path' in entry ? [entry.path] : entry.entries.flatMap(pathsIn));

const withoutLinks = (text: string): string => text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');

/** The page as programs read it: without front matter and pictures, with the files that it includes, and links that lead on. */
function markdownOf(folder: string, page: string, source: string): string {
  const [, heading, body = source] = /^---\n([\s\S]*?)\n---\n+([\s\S]*)$/.exec(source) ?? [];
  const title = /^title: (.+)$/m.exec(heading ?? '')?.[1];
  const included = body
    .replaceAll(/^:::.*\n/gm, '')
    .replaceAll(/^<<< (\S+) \[(.+)\]$/gm, (_, path: string, label: string) => {
      const text = readFileSync(join(folder, posix.dirname(page), path), 'utf8');
      return `${label}:\n\n\`\`\`${extname(path).slice(1)}\n${text.trimEnd()}\n\`\`\``;
    });
  // Every second piece is code.
  const pieces = included.split(/(^ *```[\s\S]*?^ *```$)/m);
  const linked = pieces.map((piece, index) => (index % 2 === 1 ? piece : withAddresses(page, piece)));
  return `${title === undefined ? '' : `# ${title}\n\n`}${linked.join('')}`;
}

function withAddresses(page: string, text: string): string {
  return text
    .replaceAll(/!\[([^\]]*)\]\([^)]+\)/g, '(Picture: $1)')
    .replaceAll(/\]\(([^)\s]+)\)/g, (whole, link: string) =>
      /^([a-z]+:|\/|#)/.test(link) ? whole : `](${addressOf(page, link)})`,
    );
}

function write(folder: string, path: string, text: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
