// Small pages of the server itself: no scripts, and styles from a file.
import { html } from 'hono/html';

/**
 * `body` is HTML; pass untrusted text through `escaped`. Without a referrer policy that sends the origin, browsers send the
 * origin of a form as `null`, and the origin check refuses it.
 */
export function page(title: string, body: string, stylesheet: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="strict-origin">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${escaped(stylesheet)}">
</head>
<body>
${body}
</body>
</html>
`;
}

export function htmlResponse(text: string, status = 200, cacheControl = 'no-cache'): Response {
  return new Response(text, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': cacheControl },
  });
}

export const escaped = (text: string): string => String(html`${text}`);
