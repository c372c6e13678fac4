// Pages for the files of the repository that the documentation links to: programs, tests, folders and a few other pages.
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, posix, resolve } from 'node:path';
import { siteAddress } from '../.vitepress/markdown.ts';

const root = resolve(import.meta.dirname, '../..');

export default {
  watch: ['../**/*.md'],
  paths: () => linkedFiles().map((path) => ({ params: { path: path.replace(/\.md$/, '') }, content: contentOf(path) })),
};

/** The files outside docs/ that its pages link to, by their path in the repository. */
function linkedFiles(): readonly string[] {
  const pages = globSync('docs/**/*.md', { cwd: root, exclude: ['docs/source/**', 'docs/.vitepress/**'] });
  const links = pages.flatMap((page) => linksOf(page).map((link) => posix.join(posix.dirname(page), link)));
  return [...new Set(links)].filter((link) => !link.startsWith('docs/')).sort();
}

function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].map((match) => match[1] ?? '');
  return links.filter((link) => !/^([a-z]+:|\/)/.test(link));
}

function contentOf(path: string): string {
  const file = join(root, path);
  if (statSync(file).isDirectory()) return folderPage(path);
  const text = readFileSync(file, 'utf8');
  return path.endsWith('.md')
    ? withSiteLinks(path, text)
    : `# ${posix.basename(path)}\n\n${note(path)}\n\n${fenced(path, text)}`;
}

/** Lists the files that begin with a comment about their purpose. */
function folderPage(path: string): string {
  const linked = new Set(linkedFiles());
  const rows = readdirSync(join(root, path)).flatMap((name) => {
    const purpose = /\.(ts|tsx|mjs)$/.test(name) ? purposeOf(join(root, path, name)) : '';
    const label = linked.has(`${path}/${name}`) ? `[\`${name}\`](/source/${path}/${name}.html)` : `\`${name}\``;
    return purpose === '' ? [] : `| ${label} | ${purpose} |`;
  });
  return [`# ${path}`, note(path), `| file | content |\n|---|---|\n${rows.join('\n')}`].join('\n\n');
}

/** The first paragraph of the comment at the top. */
function purposeOf(file: string): string {
  const lines = readFileSync(file, 'utf8').split('\n');
  const comment = lines.slice(
    0,
    lines.findIndex((line) => !/^\/\/ \S/.test(line)),
  );
  return comment
    .map((line) => line.slice(3))
    .join(' ')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;');
}

const note = (path: string): string => `In the repository: \`${path}\``;

function fenced(path: string, text: string): string {
  const ticks = '`'.repeat(Math.max(3, ...[...text.matchAll(/`{3,}/g)].map((match) => match[0].length + 1)));
  return `${ticks}${extname(path).slice(1)}\n${text.trimEnd()}\n${ticks}`;
}

/** The page moves to /source/, so its links to files and pages get their site address; links to other files become text. */
function withSiteLinks(path: string, text: string): string {
  const known = new Set(linkedFiles());
  return text.replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (whole, label: string, link: string) => {
    if (/^([a-z]+:|#)/.test(link)) return whole;
    const target = posix.join(posix.dirname(path), link);
    const isPage = target.startsWith('docs/') || known.has(target.split('#')[0] ?? '');
    return isPage ? `[${label}](${siteAddress(posix.relative('docs', path), link)})` : label;
  });
}
