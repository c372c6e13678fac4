// Values for a JSON Schema: valid, at the edges, and invalid.

export type Schema = { readonly [key: string]: any };
export type Random = () => number;

/** The same numbers for the same seed. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

/** Texts that have broken things elsewhere. */
export const STRANGE_TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  'null',
  'undefined',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\u202Eabc',
  '\u200B\uFEFF',
  '💥'.repeat(50),
  'e\u0301'.repeat(200),
  "'; DROP TABLE countersign_run; --",
  '" OR 1=1 --',
  '%',
  '%00',
  '%2e%2e%2f',
  '../../etc/passwd',
  '{{constructor}}',
  '$\u007b7*7}',
  '__proto__',
  'constructor',
  'toString',
  '\r\nset-cookie: a=b',
  '<script>alert(1)</script>',
  'x'.repeat(5_000),
  '9'.repeat(400),
  '1e309',
  'NaN',
  ':',
  'run:',
  ':call',
  'AND OR NOT NEAR "',
  '*',
  'a* b^ (c',
  '\\',
];

const STRANGE_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  -0,
  0.1,
  Number.MAX_SAFE_INTEGER,
  [],
  {},
  [[[[]]]],
  { __proto__: null, constructor: 1 },
  ...STRANGE_TEXTS,
];

/**
 * A value for the schema; `strangeness` is how often something else is put in its place. `root` is the document, with
 * `known`: values that mean something to the server, by the names of fields.
 */
export function valueFor(schema: Schema, random: Random, strangeness: number, root: Schema, depth = 0): unknown {
  if (random() < strangeness) return pick(random, STRANGE_VALUES);
  const found = resolved(schema, root);
  if (Array.isArray(found.enum)) return pick(random, found.enum);
  const choices = found.oneOf ?? found.anyOf;
  if (Array.isArray(choices)) return valueFor(pick(random, choices), random, strangeness, root, depth + 1);
  const type = Array.isArray(found.type) ? pick(random, found.type) : found.type;
  switch (type) {
    case 'object':
      return objectFor(found, random, strangeness, root, depth);
    case 'array':
      return Array.from({ length: Math.floor(random() * 4) }, () =>
        valueFor(found.items ?? {}, random, strangeness, root, depth + 1),
      );
    case 'integer':
    case 'number':
      return numberFor(found, random);
    case 'boolean':
      return random() < 0.5;
    case 'null':
      return null;
    case 'string':
      return textFor(found, random);
    default:
      return depth > 3 ? null : pick(random, STRANGE_VALUES);
  }
}

function objectFor(schema: Schema, random: Random, strangeness: number, root: Schema, depth: number): unknown {
  const required = new Set<string>(schema.required ?? []);
  // With all that is optional, hardly any value fits; with none of it, most do.
  const likely = pick(random, [0, 0.3, 0.9]);
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Schema>).filter(([name]) =>
    required.has(name) ? random() > strangeness : random() < likely,
  );
  const made = fields.map(([name, field]) => {
    const real: readonly unknown[] | undefined = root.known?.[name];
    if (real && random() > strangeness) return [name, pick(random, real)];
    return [name, valueFor(field, random, strangeness, root, depth + 1)];
  });
  if (random() < strangeness) made.push([pick(random, STRANGE_TEXTS), pick(random, STRANGE_VALUES)]);
  return Object.fromEntries(made);
}

function numberFor({ minimum = 0, maximum = 1_000 }: Schema, random: Random): number {
  const edges = [minimum, maximum, minimum - 1, maximum + 1, Math.floor((minimum + maximum) / 2), minimum + 1];
  return pick(random, edges);
}

function textFor({ minLength = 0, maxLength = 30 }: Schema, random: Random): string {
  const lengths = [minLength, Math.min(maxLength, 40), Math.min(maxLength, 20_000), Math.min(maxLength + 1, 20_001)];
  return pick(random, ['a', 'Z', '7', '_', '-', 'é', '💥', ' ']).repeat(pick(random, lengths));
}

function resolved(schema: Schema, root: Schema): Schema {
  if (typeof schema.$ref !== 'string') return schema;
  const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  return root.components?.schemas?.[name] ?? {};
}
