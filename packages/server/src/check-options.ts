// Checks options against a schema. A misspelt option would be ignored silently, so unknown names are rejected.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';

/** Makes the schema of an optional value for which `test` is true; `message` completes "`name` …". */
export const option = (test: (value: unknown) => boolean, message: string) => z.custom(test, message).optional();

/** Makes a schema with every name of an options type; the compiler says if one is missing. */
export const optionsOf = <T>(shape: { readonly [name in keyof Required<T>]: z.ZodType }) => z.strictObject(shape);

export const aFunction = option((value) => typeof value === 'function', 'must be a function');
export const aString = option((value) => typeof value === 'string', 'must be a string');
export const aNumber = option((value) => typeof value === 'number', 'must be a number');
export const aBoolean = option((value) => typeof value === 'boolean', 'must be true or false');

export const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Throws `invalid-options` for the first fault. `caller` begins the message. */
export function checkOptions(caller: string, schema: z.ZodObject, options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new UsageError(
      'invalid-options',
      {},
      `${caller} takes an object of options, not ${JSON.stringify(options)}.`,
    );
  const issues = schema.safeParse(options).error?.issues ?? [];
  const unknown = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
  if (unknown.length > 0) throw unknownOptions(caller, unknown, Object.keys(schema.shape));
  const [fault] = issues;
  if (!fault) return;
  const name = String(fault.path[0]);
  throw new UsageError('invalid-options', { option: name }, `\`${name}\` of ${caller} ${fault.message}.`);
}

function unknownOptions(caller: string, unknown: readonly string[], known: readonly string[]): UsageError {
  const message = `${caller} has no option ${unknown.join(', ')}. It takes: ${known.join(', ')}.`;
  return new UsageError('invalid-options', { unknown }, message);
}
