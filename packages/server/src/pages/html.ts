// Small pages of the server itself: no scripts, and styles from a file.
import { html } from 'hono/html';

/** `body` is HTML; pass untrusted text through `escaped`. */
export function page(title: string, body: string, stylesheet?: string): string {
  const style = stylesheet === undefined ? '' : `<link rel="stylesheet" href="${escaped(stylesheet)}">\n`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
${style}</head>
<body>
${body}
</body>
</html>
`;
}

export function htmlResponse(text: string, status = 200): Response {
  return new Response(text, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  });
}

export const escaped = (text: string): string => String(html`${text}`);
