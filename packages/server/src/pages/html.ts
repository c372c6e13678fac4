// Small pages of the server itself: no scripts, and styles from a file.
import { html } from 'hono/html';

/**
 * `body` is HTML; pass untrusted text through `escaped`. Without a referrer policy that sends the origin, browsers send the
 * origin of a form as `null`, and the origin check refuses it.
 */
export function page(title: string, body: string, stylesheet: string, referrer = 'strict-origin'): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="${escaped(referrer)}">
<title>${escaped(title)}</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${escaped(stylesheet)}">
</head>
<body>
${body}
</body>
</html>
`;
}

/** In the page itself, because the inbox and its files may not be built. */
const ICON = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#115e59"/><path d="M4 8.5l2.5 2.5L12 5.5" fill="none" stroke="#fff" stroke-width="2"/></svg>')}`;

export function htmlResponse(text: string, status = 200, cacheControl = 'no-cache'): Response {
  return new Response(text, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': cacheControl },
  });
}

export const escaped = (text: string): string => String(html`${text}`);
