// The sidebar, read from docs/README.md: its headings are the layers and groups, its linked rows and list items the pages.
import type { DefaultTheme } from 'vitepress';
import { siteAddress } from './markdown.ts';

type Item = DefaultTheme.SidebarItem;

/** Headings without links, such as the notes at the end, do not appear. */
export function sidebarOf(readme: string): Item[] {
  const layers: { text: string; items: Item[] }[] = [];
  let items: Item[] = [];
  for (const line of readme.split('\n')) {
    const heading = /^(##|###) (.+)$/.exec(line);
    if (heading?.[1] === '##') {
      items = [];
      layers.push({ text: plain(heading[2]), items });
    } else if (heading) {
      const group: Item[] = [];
      layers.at(-1)?.items.push({ text: plain(heading[2]), collapsed: true, items: group });
      items = group;
    } else {
      const entry = /^(?:\| |- )\[([^\]]+)\]\(([^)#]+)\)/.exec(line);
      if (entry) items.push({ text: plain(entry[1]), link: siteAddress('README.md', entry[2] ?? '') });
    }
  }
  return layers.filter((layer) => layer.items.length > 0);
}

const plain = (text = ''): string => text.replaceAll('`', '');
