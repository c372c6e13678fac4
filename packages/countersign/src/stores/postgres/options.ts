// The options of `postgresStore`, checked for callers without types: a typo must not open a different database.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { anything, aWholeNumber, checkOptions as checkTable, type OptionKind } from '../../core/options.ts';

/** PostgreSQL cuts off longer names, so two long names could mean the same schema. */
const LONGEST_NAME_BYTES = 63;

const SCHEMA: OptionKind = {
  is: `a name of 1 to ${LONGEST_NAME_BYTES} bytes`,
  fits: (value) =>
    typeof value === 'string' && /^[^\0]+$/.test(value) && Buffer.byteLength(value) <= LONGEST_NAME_BYTES,
};

const POOL: OptionKind = {
  is: 'a Pool of `pg`, or an object with `query(text, values)`',
  fits: (value) => isObject(value) && typeof value.query === 'function',
};

/** A URL, or the path of a Unix socket. */
const ADDRESS = /^(postgres(ql)?:|socket:|\/)/;

export function checkOptions(options: unknown): void {
  const { url, poolMax } = isObject(options) ? options : {};
  const hasPool = isObject(options) && 'pool' in options;
  if (hasPool && (url !== undefined || poolMax !== undefined))
    throw invalid(
      'pool',
      'postgresStore got both `pool` and `url` or `poolMax`. Remove one: a pool has its own address and size.',
    );
  checkTable('`postgresStore`', options ?? {}, {
    ...{ schema: SCHEMA, url: anything, poolMax: aWholeNumber },
    pool: hasPool ? { ...POOL, required: true } : anything,
  });
  // The address may contain a password, so the error does not show it.
  if (!hasPool && !(typeof url === 'string' && ADDRESS.test(url)))
    throw invalid('url', 'postgresStore needs an address like postgres://user:password@host:5432/database, or a pool.');
}

function invalid(field: string, message: string): UsageError {
  return new UsageError('invalid-options', { field }, message);
}
