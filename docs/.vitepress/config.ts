// The documentation site: the Markdown files of this folder as static pages, with search that works offline.
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { engineOfThePlayground } from './engine-of-the-playground.ts';
import { isWritten, writeForPrograms } from './llms.ts';
import { markdown, rewrites } from './markdown.ts';
import { writeMoved } from './moved.ts';
import { sidebarOf } from './sidebar.ts';

const contents = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

export default defineConfig({
  title: 'Countersign',
  description: 'Human-in-the-loop for TypeScript agents. A person approves the exact call, and it runs at most once.',
  lang: 'en',
  head: [
    ['link', { rel: 'icon', href: '/icon.svg', type: 'image/svg+xml' }],
    ['meta', { name: 'theme-color', content: '#0f5c56' }],
  ],
  rewrites,
  markdown,
  // Styles select diagrams by their file name, and the reference pages are large.
  vite: { plugins: [engineOfThePlayground], build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 2_000 } },
  // It needs the room.
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath === 'playground.md' ? { frontmatter: { ...frontmatter, aside: false } } : {},
  transformHead: ({ page }) =>
    isWritten(page) ? [['link', { rel: 'alternate', type: 'text/markdown', href: `/${page}` }]] : [],
  buildEnd: (built) => {
    writeMoved(built.outDir);
    writeForPrograms(built);
  },
  themeConfig: {
    logo: '/icon.svg',
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'For approvers', link: '/guides/for-approvers' },
      { text: 'Guides', link: '/contents#guides' },
      { text: 'Reference', link: '/contents#reference' },
      { text: 'Playground', link: '/playground' },
      { text: 'FAQ', link: '/faq' },
    ],
    sidebar: sidebarOf(contents),
    docFooter: { prev: 'Previous page', next: 'Next page' },
  },
});
