// Requests made from an OpenAPI document: every route, right and wrong.
import { pick, type Random, type Schema, STRANGE_TEXTS, valueFor } from './values.ts';

export type FuzzRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** The route as the document names it. */
  readonly route: string;
};

/** Values that mean something to the server, so that not every request ends at the door. */
export type Known = Readonly<Record<string, readonly unknown[]>>;

type Operation = {
  readonly servers?: readonly { readonly url: string }[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema?: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
};

export function* fuzzRequests(document: Schema, random: Random, known: Known): Generator<FuzzRequest> {
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  for (;;)
    for (const { path, method, operation } of operations) {
      const strangeness = pick(random, [0, 0, 0.05, 0.3]);
      yield makeRequest(document, path, method, operation, random, known, strangeness);
    }
}

function makeRequest(
  document: Schema,
  route: string,
  method: string,
  { servers = [], parameters = [], requestBody }: Operation,
  random: Random,
  known: Known,
  strangeness: number,
): FuzzRequest {
  const base = String(servers[0]?.url ?? document.servers[0].url).replace(/\/$/, '');
  let path = `${base}${route}`;
  const query: string[] = [];
  const headers: Record<string, string> = {};
  // With all of them, hardly any request is valid.
  const likely = pick(random, [0, 0.1, 0.6]);
  for (const { name, in: place, schema = {} } of parameters) {
    const made = parameterFor(name, schema, document, random, known, strangeness);
    const value = typeof made === 'string' ? made : JSON.stringify(made);
    if (place === 'path') path = path.replace(`{${name}}`, encoded(value) || '%20');
    else if (random() < likely) {
      if (place === 'query') query.push(`${encoded(name)}=${encoded(value)}`);
      if (place === 'header') headers[name] = printable(value);
    }
  }
  if (random() < strangeness)
    query.push(`${encoded(pick(random, STRANGE_TEXTS))}=${encoded(pick(random, STRANGE_TEXTS))}`);
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
  const body = schema && bodyText(valueFor(schema, random, strangeness, { ...document, known }), random, strangeness);
  if (body !== undefined) headers['content-type'] = random() < strangeness ? 'text/plain' : 'application/json';
  const wanted = random() < strangeness / 3 ? pick(random, ['get', 'post', 'delete', 'put', 'patch']) : method;
  return {
    method: wanted.toUpperCase(),
    path: query.length > 0 ? `${path}?${query.join('&')}` : path,
    headers,
    body: wanted === 'get' ? undefined : body,
    route: `${method.toUpperCase()} ${route}`,
  };
}

function parameterFor(
  name: string,
  schema: Schema,
  document: Schema,
  random: Random,
  known: Known,
  strangeness: number,
): unknown {
  const real = known[name];
  if (real && random() < 0.7) return pick(random, real);
  return valueFor(schema, random, strangeness + 0.1, document);
}

/** Sometimes the body is not JSON, or huge. */
function bodyText(value: unknown, random: Random, strangeness: number): string {
  const text = JSON.stringify(value) ?? 'null';
  if (random() >= strangeness) return text;
  return pick(random, [
    text.slice(0, -1),
    `${text}${text}`,
    '',
    `${'['.repeat(3_000)}`,
    `"${'x'.repeat(1_100_000)}"`,
    `{"a":${text}`,
  ]);
}

function encoded(text: string): string {
  // Half of a surrogate pair cannot be written in a URL.
  return encodeURIComponent(text.replaceAll(/\p{Cs}/gu, '\ufffd'))
    .slice(0, 4_000)
    .replace(/%[\dA-F]?$/, '');
}

/** Headers hold visible ASCII; the client refuses the rest itself. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 2_000);
