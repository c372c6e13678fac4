// Signatures as Standard Webhooks says.
import { UsageError } from 'countersign';

/** The headers that name, date and sign a body. Each secret signs, so that a receiver may know the old one or the new one. */
export async function signatures(
  secrets: readonly string[],
  id: string,
  body: string,
): Promise<Readonly<Record<string, string>>> {
  const at = new Date();
  const named = { 'webhook-id': id, 'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)) };
  if (secrets.length === 0) return named;
  const { Webhook } = await import('standardwebhooks');
  const signed = secrets.map((secret) => new Webhook(secret).sign(id, at, body));
  return { ...named, 'webhook-signature': signed.join(' ') };
}

export function checkSecret(secret: string): void {
  const text = secret.replace(/^whsec_/, '');
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') === text && bytes.length >= 24 && bytes.length <= 64) return;
  const message =
    '`secret` of webhook() must be `whsec_` and 24 to 64 bytes in base64. Make one with `openssl rand -base64 32`.';
  throw new UsageError('invalid-options', { option: 'secret' }, message);
}
