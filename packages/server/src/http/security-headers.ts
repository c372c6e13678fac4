// Security headers for every response.

const ALWAYS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** For data: nothing in it may run, whatever type a browser detects. */
const NOTHING = "default-src 'none'; frame-ancestors 'none'";

/** For pages: only their own files, nothing inline. */
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

/** Adds the headers. `secure` also tells browsers to use https from then on. */
export function addSecurityHeaders(headers: Headers, secure: boolean): void {
  for (const [name, value] of Object.entries(ALWAYS)) headers.set(name, value);
  const type = headers.get('content-type') ?? '';
  // A page may have brought a stricter policy.
  if (!headers.has('content-security-policy'))
    headers.set('content-security-policy', type.startsWith('text/html') ? OWN_FILES : NOTHING);
  if (secure) headers.set('strict-transport-security', 'max-age=31536000; includeSubDomains');
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
}
