// The options of `postgresStore`, checked for callers without types: a typo must not open a different database.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { anything, checkOptions as checkTable } from '../../core/options.ts';

/** A URL, or the path of a Unix socket. */
const ADDRESS = /^(postgres(ql)?:|socket:|\/)/;

export function checkOptions(options: object): void {
  checkTable('`postgresStore`', options, { url: anything, poolMax: anything, pool: anything, schema: anything });
  const { schema, pool, url, poolMax } = options as { readonly [name: string]: unknown };
  if (schema !== undefined) checkSchema(schema);
  if (!('pool' in options)) return checkAddress(url, poolMax);
  checkPool(pool);
  const [field] = Object.entries({ url, poolMax }).find(([, value]) => value !== undefined) ?? [];
  if (field === undefined) return;
  const message = `postgresStore got both \`pool\` and \`${field}\`. Remove one: the pool has its own address and size.`;
  throw new UsageError('invalid-options', { field }, message);
}

export function missingAddress(value: unknown): UsageError {
  const got = typeof value === 'string' && value !== '' ? 'something else' : 'nothing';
  const message = `postgresStore needs an address like postgres://user:password@host:5432/database, or a pool; it got ${got}.`;
  return new UsageError('invalid-options', { field: 'url' }, message);
}

/** PostgreSQL cuts off longer names, so two long names could mean the same schema. */
const LONGEST_NAME_BYTES = 63;

function checkSchema(schema: unknown): void {
  const isName = typeof schema === 'string' && schema !== '' && !schema.includes('\0');
  if (isName && Buffer.byteLength(schema) <= LONGEST_NAME_BYTES) return;
  const message = `\`schema\` of postgresStore must be a name of 1 to ${LONGEST_NAME_BYTES} bytes, not ${JSON.stringify(schema)}.`;
  throw new UsageError('invalid-options', { field: 'schema' }, message);
}

function checkAddress(url: unknown, poolMax: unknown = 1): void {
  if (typeof url !== 'string' || !ADDRESS.test(url)) throw missingAddress(url);
  if (Number.isSafeInteger(poolMax) && Number(poolMax) >= 1) return;
  const message = `\`poolMax\` of postgresStore must be a whole number of connections, at least 1, not ${poolMax}.`;
  throw new UsageError('invalid-options', { field: 'poolMax' }, message);
}

function checkPool(pool: unknown): void {
  if (isObject(pool) && typeof pool.query === 'function') return;
  const message = '`pool` of postgresStore must be a Pool of `pg`, or an object with `query(text, values)`.';
  throw new UsageError('invalid-options', { field: 'pool' }, message);
}
