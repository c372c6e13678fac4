// A short hash of a JSON value: the same for objects with the same properties in another order.
import { hash } from 'node:crypto';
import { isRecord } from './messages.ts';

export function hashOf(value: unknown): string {
  const sorted = (_key: string, part: unknown) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  return hash('sha256', JSON.stringify(value, sorted), 'base64url').slice(0, 22);
}
