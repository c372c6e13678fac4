// From JSON Schema to fields that a person can fill in. What cannot be understood becomes a field for JSON text.
import { labelOf as labelOfField } from 'countersign/request';

type Schema = { readonly [key: string]: unknown };

/** One choice of several. */
export type Option = { readonly value: unknown; readonly label: string };

type Described = {
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly start: unknown;
};

/** What a field asks for. Fields inside it are made when they are needed, so that a schema may contain itself. */
export type Field = Described &
  (
    | {
        readonly is: 'text';
        readonly format: 'plain' | 'date' | 'time' | 'date-time' | 'email' | 'uri';
        readonly multiline: boolean;
        readonly minLength: number | undefined;
        readonly maxLength: number | undefined;
        readonly pattern: string | undefined;
      }
    | {
        readonly is: 'number';
        readonly integer: boolean;
        readonly minimum: number | undefined;
        readonly maximum: number | undefined;
        readonly exclusiveMinimum: number | undefined;
        readonly exclusiveMaximum: number | undefined;
        readonly multipleOf: number | undefined;
      }
    | { readonly is: 'boolean' }
    | { readonly is: 'choice'; readonly options: readonly Option[] }
    | {
        readonly is: 'object';
        readonly properties: readonly {
          readonly name: string;
          readonly required: boolean;
          readonly field: () => Field;
        }[];
        /** Of entries under other names; undefined if there must be none. */
        readonly others: (() => Field) | undefined;
        /** Whether a person can add entries, which needs a schema for them. */
        readonly offersOthers: boolean;
      }
    | {
        readonly is: 'array';
        readonly item: () => Field;
        readonly minItems: number;
        readonly maxItems: number | undefined;
      }
    | { readonly is: 'union'; readonly branches: readonly { readonly label: string; readonly field: () => Field }[] }
    | { readonly is: 'json' }
  );

/** `schema` is null where the server knows none: then any text is an answer. */
export function fieldOf(schema: Schema | null): Field {
  return schema === null ? readField({ type: 'string' }, {}) : readField(schema, schema);
}

function readField(given: unknown, root: Schema): Field {
  if (given === false || !isObject(given)) return { ...describe({}), is: 'json' };
  const schema = flatten(given, root);
  if (!schema) return { ...describe(given), is: 'json' };
  const described = describe(schema);
  const choices = choicesOf(schema, root);
  if (choices) return { ...described, is: 'choice', options: toldApart(choices) };
  const branches = branchesOf(schema);
  if (branches) return unionOf(branches, described, root);
  switch (schema.type) {
    case 'string':
      return { ...described, ...textOf(schema) };
    case 'number':
    case 'integer':
      return { ...described, ...numberOf(schema) };
    case 'boolean':
      return { ...described, is: 'boolean' };
    case 'object':
      return objectOf(schema, described, root);
    case 'array':
      if ('prefixItems' in schema || Array.isArray(schema.items)) return { ...described, is: 'json' };
      return {
        ...described,
        is: 'array',
        item: () => readField(schema.items ?? {}, root),
        minItems: numeric(schema.minItems) ?? 0,
        maxItems: numeric(schema.maxItems),
      };
    default:
      return 'properties' in schema ? objectOf(schema, described, root) : { ...described, is: 'json' };
  }
}

const HOPS_AT_MOST = 50;

/** Follows references and merges `allOf`; undefined where that leads nowhere. */
function flatten(given: Schema, root: Schema, hops = 0): Schema | undefined {
  if (hops > HOPS_AT_MOST) return undefined;
  if (typeof given.$ref === 'string') {
    const { $ref, ...beside } = given;
    const target = resolve($ref as string, root);
    return isObject(target) ? flatten({ ...target, ...beside }, root, hops + 1) : undefined;
  }
  if (!Array.isArray(given.allOf)) return given;
  const { allOf, ...own } = given;
  let merged: Schema = own;
  for (const part of allOf) {
    const flat = isObject(part) ? flatten(part, root, hops + 1) : undefined;
    if (!flat) return undefined;
    merged = merge(merged, flat);
  }
  return merged;
}

function merge(first: Schema, second: Schema): Schema {
  const properties = { ...(first.properties as object), ...(second.properties as object) };
  const required = [...arrayOf(first.required), ...arrayOf(second.required)];
  return {
    ...second,
    ...first,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  };
}

/** References within the document only: nothing is fetched. */
function resolve(reference: string, root: Schema): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let place: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    place =
      isObject(place) && Object.hasOwn(place, key) ? place[key] : Array.isArray(place) ? place[Number(key)] : undefined;
  }
  return place;
}

/** Values to choose from: `enum`, `const`, or a union of constants, each perhaps with a title. */
function choicesOf(schema: Schema, root: Schema): readonly Option[] | undefined {
  if ('const' in schema) return [{ value: schema.const, label: labelOf(schema, schema.const) }];
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ value, label: plainText(value) }));
  if (schema.type === 'null') return [{ value: null, label: plainText(null) }];
  const branches = alternatives(schema);
  if (!branches || branches.length === 0) return undefined;
  const flat = branches.map((branch) => (isObject(branch) ? flatten(branch, root) : undefined));
  const options = flat.map((branch) => (branch && !alternatives(branch) ? choicesOf(branch, root) : undefined));
  return options.every((option) => option !== undefined) ? options.flat() : undefined;
}

const alternatives = (schema: Schema): readonly unknown[] | undefined =>
  Array.isArray(schema.oneOf) ? schema.oneOf : Array.isArray(schema.anyOf) ? schema.anyOf : undefined;

function branchesOf(schema: Schema): readonly unknown[] | undefined {
  const branches = alternatives(schema);
  const {
    oneOf: _oneOf,
    anyOf: _anyOf,
    title: _title,
    description: _description,
    default: _default,
    ...common
  } = schema;
  if (branches) return branches.map((branch) => (isObject(branch) ? merge(branch, common) : branch));
  if (Array.isArray(schema.type)) return schema.type.map((type) => ({ ...common, type }));
  return undefined;
}

function unionOf(branches: readonly unknown[], described: Described, root: Schema): Field {
  const [only] = branches;
  if (branches.length === 1) return { ...readField(only, root), ...defined(described) };
  return {
    ...described,
    is: 'union',
    branches: branches.map((branch, index) => ({
      label: branchLabel(branch, index, root),
      field: () => readField(branch, root),
    })),
  };
}

/** Its title, the constant that tells it apart, or its type. */
function branchLabel(branch: unknown, index: number, root: Schema): string {
  const schema = isObject(branch) ? flatten(branch, root) : undefined;
  if (!schema) return `${index + 1}`;
  if (typeof schema.title === 'string') return schema.title;
  if (isObject(schema.properties))
    for (const property of Object.values(schema.properties))
      if (isObject(property) && 'const' in property) return plainText(property.const);
  if ('const' in schema) return plainText(schema.const);
  return typeof schema.type === 'string' ? schema.type : `${index + 1}`;
}

function objectOf(schema: Schema, described: Described, root: Schema): Field {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = new Set(arrayOf(schema.required));
  const { additionalProperties: others } = schema;
  return {
    ...described,
    is: 'object',
    properties: Object.entries(properties).map(([name, property]) => ({
      name,
      required: required.has(name),
      field: () => readField(property, root),
    })),
    others: others === false ? undefined : () => readField(isObject(others) ? others : {}, root),
    // An object schema without properties is a map.
    offersOthers: isObject(others) || (others !== false && Object.keys(properties).length === 0),
  };
}

const FORMATS = ['date', 'time', 'date-time', 'email', 'uri'] as const;

function textOf(schema: Schema) {
  const maxLength = numeric(schema.maxLength);
  const format = FORMATS.find((known) => known === schema.format) ?? 'plain';
  return {
    is: 'text',
    format,
    multiline: format === 'plain' && maxLength !== undefined && maxLength > 200,
    minLength: numeric(schema.minLength),
    maxLength,
    pattern: typeof schema.pattern === 'string' ? schema.pattern : undefined,
  } as const;
}

function numberOf(schema: Schema) {
  return {
    is: 'number',
    integer: schema.type === 'integer',
    minimum: numeric(schema.minimum),
    maximum: numeric(schema.maximum),
    exclusiveMinimum: numeric(schema.exclusiveMinimum),
    exclusiveMaximum: numeric(schema.exclusiveMaximum),
    multipleOf: numeric(schema.multipleOf),
  } as const;
}

/** A short description is the label of a field without a title, as on the card. */
function describe(schema: Schema): Described {
  const { title, description, default: start } = schema;
  const label = labelOfField('', schema);
  if (typeof title === 'string') return { title, description: textOrNone(description), start };
  return label === ''
    ? { title: undefined, description: textOrNone(description), start }
    : { title: label, description: undefined, start };
}

const textOrNone = (text: unknown): string | undefined => (typeof text === 'string' ? text : undefined);

function defined(described: Described): Partial<Described> {
  return Object.fromEntries(Object.entries(described).filter(([, value]) => value !== undefined));
}

const labelOf = (schema: Schema, value: unknown): string =>
  typeof schema.title === 'string' ? schema.title : plainText(value);

/** The choices, each with its label. */
export const optionsOf = (values: readonly unknown[]): readonly Option[] =>
  toldApart(values.map((value) => ({ value, label: plainText(value) })));

/** Where two choices would read alike, such as `"1"` and `1`, each is shown as JSON. */
function toldApart(options: readonly Option[]): readonly Option[] {
  const alike = new Map<string, number>();
  for (const { label } of options) alike.set(label, (alike.get(label) ?? 0) + 1);
  return options.map((option) =>
    alike.get(option.label) === 1 ? option : { ...option, label: JSON.stringify(option.value) },
  );
}

const plainText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const numeric = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

const arrayOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
