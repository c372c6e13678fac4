// What a client that was made for one description of an API would miss in another one.

type Schema = { readonly [key: string]: any };
export type Description = { readonly paths: Schema; readonly components?: { readonly schemas?: Schema } };

/** Each text names a place where a client made for `before` can break against `after`. */
export function breaks(before: Description, after: Description): readonly string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  for (const [path, methods] of Object.entries<Schema>(before.paths))
    for (const [method, operation] of Object.entries<Schema>(methods)) {
      const where = `${method.toUpperCase()} ${path}`;
      const now = after.paths[path]?.[method];
      if (!now) found.push(`${where} is gone`);
      else compareOperation(where, operation, now);
    }
  return found;

  function compareOperation(where: string, was: Schema, now: Schema): void {
    const named = (of: Schema) =>
      new Map<string, Schema>((of.parameters ?? []).map((one: Schema) => [`${one.in} ${one.name}`, one]));
    for (const [name, parameter] of named(now))
      if (parameter.required && !named(was).get(name)?.required) found.push(`${where} needs ${name}`);
    for (const name of named(was).keys()) if (!named(now).has(name)) found.push(`${where} takes no ${name}`);
    const body = (of: Schema): Schema | undefined => of.requestBody?.content?.['application/json']?.schema;
    const [asked, asks] = [body(was), body(now)];
    if (asks && now.requestBody.required && !was.requestBody?.required) found.push(`${where} needs a body`);
    if (asked && asks) compareInput(`${where} body`, asked, asks);
    for (const [status, response] of Object.entries<Schema>(was.responses)) {
      const answer = now.responses[status];
      const schema = (of: Schema): Schema | undefined => of.content?.['application/json']?.schema;
      if (!answer) found.push(`${where} answers ${status} no more`);
      else if (schema(response)) compareOutput(`${where} ${status}`, schema(response), schema(answer));
    }
  }

  /** What was sent must still be taken. */
  function compareInput(where: string, given: Schema, now: Schema): void {
    const [was, is] = [resolved(before, given), resolved(after, now)];
    if (isKnown('in', given, now)) return;
    for (const name of is.required ?? [])
      if (!(was.required ?? []).includes(name)) found.push(`${where} needs ${name}`);
    for (const [name, schema] of Object.entries<Schema>(was.properties ?? {})) {
      const other = is.properties?.[name];
      if (other) compareInput(`${where}.${name}`, schema, other);
      else if (is.additionalProperties === false) found.push(`${where} takes no ${name}`);
    }
    for (const value of was.enum ?? [])
      if (is.enum && !is.enum.includes(value)) found.push(`${where} takes no ${value}`);
    if (was.items && is.items) compareInput(`${where}[]`, was.items, is.items);
    compareKinds(where, was, is, 'takes no');
  }

  /** What was read must still be there. */
  function compareOutput(where: string, given: Schema | undefined, now: Schema | undefined): void {
    if (!given) return;
    if (!now) return void found.push(`${where} says nothing`);
    const [was, is] = [resolved(before, given), resolved(after, now)];
    if (isKnown('out', given, now)) return;
    for (const [name, schema] of Object.entries<Schema>(was.properties ?? {})) {
      const other = is.properties?.[name];
      if (!other) found.push(`${where}.${name} is gone`);
      else if ((was.required ?? []).includes(name) && !(is.required ?? []).includes(name))
        found.push(`${where}.${name} may be missing`);
      else compareOutput(`${where}.${name}`, schema, other);
    }
    if (was.items && is.items) compareOutput(`${where}[]`, was.items, is.items);
    compareKinds(where, was, is, 'is no');
  }

  function compareKinds(where: string, was: Schema, is: Schema, what: string): void {
    const kinds = (of: Schema): readonly string[] => [of.type ?? []].flat();
    const [a, b] = what === 'is no' ? [is, was] : [was, is];
    if (kinds(a).length === 0 || kinds(b).length === 0) return;
    for (const kind of kinds(a))
      if (!kinds(b).includes(kind)) found.push(`${where} ${what === 'is no' ? `may be ${kind}` : `takes no ${kind}`}`);
  }

  /** Named schemas refer to each other in circles. */
  function isKnown(way: string, was: Schema, now: Schema): boolean {
    if (!was.$ref || !now.$ref) return false;
    const key = `${way} ${was.$ref} ${now.$ref}`;
    if (seen.has(key)) return true;
    seen.add(key);
    return false;
  }
}

function resolved({ components }: Description, schema: Schema): Schema {
  const name = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? '')?.[1];
  return name === undefined ? schema : (components?.schemas?.[name] ?? schema);
}
