// What every answer tells the browser: guess no types, run nothing from elsewhere, be framed by nobody.

const ALWAYS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** For data: whatever a browser takes it for, nothing in it runs. */
const NOTHING = "default-src 'none'; frame-ancestors 'none'";

/** For pages: their own files only, nothing inline. */
const OWN_FILES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Adds what is missing. `secure`: browsers reach this server by https, and shall never do otherwise. */
export function addSecurityHeaders(headers: Headers, secure: boolean): void {
  for (const [name, value] of Object.entries(ALWAYS)) headers.set(name, value);
  const type = headers.get('content-type') ?? '';
  headers.set('content-security-policy', type.startsWith('text/html') ? OWN_FILES : NOTHING);
  if (secure) headers.set('strict-transport-security', 'max-age=31536000; includeSubDomains');
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
}
