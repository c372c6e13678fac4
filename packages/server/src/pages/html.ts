// Small pages of the server itself: no scripts, and styles from a file.
import { html } from 'hono/html';

/** `body` and `head` are HTML; pass untrusted text through `escaped`. */
export const htmlDocument = (title: string, head: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body>
${body}
</body>
</html>
`;

/**
 * `body` is HTML; pass untrusted text through `escaped`. Without a referrer policy that sends the origin, browsers send the
 * origin of a form as `null`, and the origin check refuses it.
 */
export function page(
  title: string,
  body: string,
  stylesheet: string,
  referrer = 'strict-origin',
  script?: string,
): string {
  const head = `<meta name="referrer" content="${escaped(referrer)}">
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${escaped(stylesheet)}">${script === undefined ? '' : `\n<script type="module" src="${escaped(script)}"></script>`}`;
  return htmlDocument(escaped(title), head, body);
}

/** The colours of all pages: those of the tokens in @countersign/react. */
export const COLOURS = `
  color-scheme: light dark;
  --canvas: light-dark(#fafafa, #0b0b0c);
  --surface: light-dark(#ffffff, #131315);
  --sunken: light-dark(#f4f4f5, #1c1c1f);
  --line: light-dark(#e6e6e9, #29292e);
  --ink: light-dark(#18181b, #f4f4f5);
  --muted: light-dark(#5d5d66, #a3a3ad);
  --accent: light-dark(#0f5f58, #2dd4bf);`;

/** In the page itself, because the inbox and its files may not be built. */
const ICON = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#115e59"/><path d="M4 8.5l2.5 2.5L12 5.5" fill="none" stroke="#fff" stroke-width="2"/></svg>')}`;

export function htmlResponse(text: string, status = 200, cacheControl = 'no-cache'): Response {
  return new Response(text, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': cacheControl },
  });
}

export const escaped = (text: string): string => String(html`${text}`);
