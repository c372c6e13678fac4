// Checks options against a schema. A misspelt option would be ignored silently, so unknown names are rejected.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';

/** Makes the schema of an optional value that passes `test`; `message` completes "`name` …". */
export const option = (test: (value: unknown) => boolean, message: string) => z.custom(test, message).optional();

/** Makes a schema with every name of an options type; the compiler says if one is missing. */
export const optionsOf = <T>(shape: { readonly [name in keyof Required<T>]: z.ZodType }) => z.strictObject(shape);

export const aFunction = option((value) => typeof value === 'function', 'must be a function');
export const aString = option((value) => typeof value === 'string', 'must be a string');
export const aNumber = option((value) => typeof value === 'number', 'must be a number');
export const aBoolean = option((value) => typeof value === 'boolean', 'must be true or false');

export const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Throws `invalid-options` with `details` for the first fault. `caller` begins the message. */
export function checkOptions(caller: string, schema: z.ZodObject, options: unknown, details: object = {}): void {
  const refused = (more: object, message: string) =>
    new UsageError('invalid-options', { ...details, ...more }, message);
  if (typeof options !== 'object' || options === null)
    throw refused({}, `${caller} takes an object of options, not ${JSON.stringify(options)}.`);
  const issues = schema.safeParse(options).error?.issues ?? [];
  const unknown = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
  const known = Object.keys(schema.shape).join(', ');
  if (unknown.length > 0)
    throw refused({ unknown }, `${caller} has no option ${unknown.join(', ')}. It takes: ${known}.`);
  const [fault] = issues;
  if (!fault) return;
  const name = String(fault.path[0]);
  throw refused({ option: name }, `\`${name}\` of ${caller} ${fault.message}.`);
}
