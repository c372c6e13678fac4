// Markdown as GitHub reads it: the same anchors, no Vue syntax, and links to files of the repository.
import { posix } from 'node:path';
import type { MarkdownOptions, MarkdownRenderer } from 'vitepress';

/** The tests build the site without syntax highlighting, which takes half of the time. */
const isPlain = process.env.SITE_WITHOUT_HIGHLIGHTING === '1';

export const markdown: MarkdownOptions = {
  ...(isPlain && { highlight: plain }),
  anchor: { slugify: anchorOf },
  attrs: false,
  emoji: false,
  footnote: false,
  include: false,
  snippet: false,
  toc: false,
  config: (renderer) => {
    withoutVue(renderer);
    siteLinks(renderer);
  },
};

function plain(code: string): string {
  return `<pre v-pre><code>${code.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</code></pre>`;
}

/** The anchor that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** GitHub shows README.md as the page of docs/. On the site, index.md is the first page, and README.md lists all others. */
export const rewrites = { 'README.md': 'contents.md' };

/** The address on the site of `link`, as the page `page` contains it. Both paths start in docs/. */
export function siteAddress(page: string, link: string): string {
  const [path = '', anchor] = link.split('#');
  const target = posix.join(posix.dirname(page), path);
  const moved = target === 'README.md' ? rewrites[target] : target;
  const address = target.startsWith('..') ? `source/${posix.join('docs', target)}` : moved;
  return `/${address.replace(/(\.md)?$/, '.html')}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** The pages are compiled as Vue templates. Double braces in them are text. */
function withoutVue({ renderer }: MarkdownRenderer): void {
  const { rules } = renderer;
  for (const name of ['text', 'code_inline'] as const) {
    const render = rules[name];
    rules[name] = (...given) => render?.(...given).replaceAll('{{', '&#123;&#123;') ?? '';
  }
}

/** Links to pages get their address on the site. Links that leave docs/ lead to the page in /source/ that shows the file. */
function siteLinks({ core }: MarkdownRenderer): void {
  core.ruler.push('site-links', (state) => {
    const page: unknown = state.env.relativePath;
    if (typeof page !== 'string') return;
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const link = token.type === 'link_open' ? token.attrGet('href') : null;
      if (link !== null && !/^([a-z]+:|\/|#)/.test(link)) token.attrSet('href', siteAddress(page, link));
    }
  });
}
