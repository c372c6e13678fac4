// A page with one card in the middle: signing in and out. It looks like the inbox, in light and dark, and needs no JavaScript.
import { COLOURS, escaped, page } from './html.ts';

export const CARD_STYLESHEET = '/pages.css';

type Look = { readonly stylesheet?: string; readonly referrer?: string; readonly script?: string };

/** `body` is HTML; pass untrusted text through `escaped`. */
export function cardPage(
  basePath: string,
  heading: string,
  body: string,
  { stylesheet = CARD_STYLESHEET, referrer, script }: Look = {},
): string {
  return page(
    `${heading} · Countersign`,
    `<main>
<p class="brand">${MARK}Countersign</p>
<h1>${escaped(heading)}</h1>
${body}
</main>`,
    `${basePath}${stylesheet}`,
    referrer,
    script === undefined ? undefined : `${basePath}${script}`,
  );
}

const MARK =
  '<svg viewBox="0 0 16 16" aria-hidden="true"><rect width="16" height="16" rx="4"/><path d="M4 8.5l2.5 2.5L12 5.5"/></svg>';

export const CARD_STYLE = `:root {${COLOURS}
  --accent-strong: light-dark(#0b4a45, #5eead4);
  --on-accent: light-dark(#ffffff, #06201d);
  background: var(--canvas);
  color: var(--ink);
}
body {
  font: 0.875rem/1.5 "Inter", ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
}
* { box-sizing: border-box; }
body { display: grid; min-height: 100dvh; margin: 0; padding: 1.5rem; place-items: center; }
main {
  width: 100%;
  max-width: 28rem;
  padding: 1.5rem;
  border: 1px solid var(--line);
  border-radius: 0.75rem;
  background: var(--surface);
  overflow-wrap: anywhere;
}
.brand { display: flex; align-items: center; gap: 0.5rem; margin: 0 0 1.25rem; color: var(--ink); font-weight: 600; }
.brand svg { width: 1.5rem; height: 1.5rem; }
.brand rect { fill: #115e59; }
.brand path { fill: none; stroke: #fff; stroke-width: 2; }
h1 { margin: 0 0 0.75rem; font-size: 1.25rem; line-height: 1.3; letter-spacing: -0.015em; text-wrap: balance; }
p, ul { margin: 0.75rem 0 0; color: var(--muted); }
p strong, bdi { color: var(--ink); font-weight: 500; }
ul { padding-left: 1.25rem; }
li + li { margin-top: 0.5rem; }
a { color: var(--accent); text-underline-offset: 0.2em; }
code {
  padding: 0.1em 0.35em;
  border-radius: 0.25rem;
  background: var(--sunken);
  box-decoration-break: clone;
  -webkit-box-decoration-break: clone;
  color: var(--ink);
  font: 0.92em ui-monospace, "SF Mono", "Cascadia Code", "DejaVu Sans Mono", monospace;
}
.actions { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-top: 1.25rem; }
.actions form { display: contents; }
.issuers .button { flex: 1 1 100%; height: 2.75rem; }
.ask { display: grid; gap: 0.5rem; margin-top: 1.25rem; }
.ask label { font-weight: 500; }
.ask .button { margin-top: 0.25rem; height: 2.75rem; }
input {
  width: 100%;
  height: 2.75rem;
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--line);
  border-radius: 0.5rem;
  background: var(--canvas);
  color: var(--ink);
  font: inherit;
  font-size: 1rem;
}
details { margin-top: 1.25rem; padding-top: 0.75rem; border-top: 1px solid var(--line); color: var(--muted); }
summary { cursor: pointer; }
.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  height: 2.25rem;
  padding: 0 0.875rem;
  border: 1px solid var(--line);
  border-radius: 0.5rem;
  background: var(--surface);
  color: var(--ink);
  font: inherit;
  font-weight: 500;
  text-decoration: none;
  cursor: pointer;
}
.button:hover { background: var(--sunken); }
.button-primary { border-color: transparent; background: var(--accent); color: var(--on-accent); }
.button-primary:hover { background: var(--accent-strong); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 30rem) {
  body { padding: 1rem; }
  .button { flex: 1 1 100%; height: 2.75rem; }
}
`;
