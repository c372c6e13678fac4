// The contents, read from docs/README.md: its headings are the layers and groups, its linked rows the pages. The sidebar shows them.
import type { DefaultTheme } from 'vitepress';
import { siteAddress } from './markdown.ts';

type Item = DefaultTheme.SidebarItem;

/** A page, by its path from docs/, or a group of pages. */
export type Entry =
  | { readonly text: string; readonly path: string; readonly about: string }
  | { readonly text: string; readonly entries: readonly Entry[] };

/** Headings without links, such as the notes at the end, do not appear. */
export function contentsOf(readme: string): readonly Entry[] {
  const layers: { text: string; entries: Entry[] }[] = [];
  let entries: Entry[] = [];
  for (const line of readme.split('\n')) {
    const heading = /^(##|###) (.+)$/.exec(line);
    if (heading?.[1] === '##') {
      entries = [];
      layers.push({ text: plain(heading[2]), entries });
    } else if (heading) {
      const group: Entry[] = [];
      layers.at(-1)?.entries.push({ text: plain(heading[2]), entries: group });
      entries = group;
    } else {
      const [, text, path = '', about = ''] = /^\| \[([^\]]+)\]\(([^)#]+)\) \| (.*) \|$/.exec(line) ?? [];
      if (text !== undefined) entries.push({ text: plain(text), path, about });
    }
  }
  return layers.filter((layer) => layer.entries.length > 0);
}

/** Layers are open, and the groups in them closed. */
export const sidebarOf = (readme: string): Item[] => contentsOf(readme).map((layer) => itemOf(layer));

function itemOf(entry: Entry, more: Item = {}): Item {
  if ('path' in entry) return { text: entry.text, link: siteAddress('README.md', entry.path) };
  return { text: entry.text, ...more, items: entry.entries.map((inner) => itemOf(inner, { collapsed: true })) };
}

const plain = (text = ''): string => text.replaceAll('`', '');
