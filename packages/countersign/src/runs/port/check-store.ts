// Checks the `store` option, so that a mistake is reported at once and not by the first call.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';

export function checkStore(store: unknown): void {
  if (isObject(store) && typeof store.append === 'function' && typeof store.read === 'function') return;
  const message = `Expected a store as \`store\` of countersign(), got ${mistakeOf(store)}`;
  throw new UsageError('invalid-options', { field: 'store' }, message);
}

function mistakeOf(store: unknown): string {
  if (typeof store === 'function')
    return `the function ${store.name || 'that makes one'}. Call it, as in store: ${store.name || 'makeStore'}(…).`;
  if (typeof store === 'string')
    return 'a string. Write store: sqliteStore(path) or store: postgresStore(url), from countersign/sqlite or countersign/postgres.';
  if (isObject(store) && typeof store.then === 'function') return 'a promise. Await it first.';
  return `${store === null ? 'null' : `a value of type ${typeof store}`}. Pass what memoryStore(), sqliteStore(path) or postgresStore(url) made, or nothing.`;
}
