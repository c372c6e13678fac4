// The API as a readable page, made from the OpenAPI document.
import { escaped, page } from './html.ts';

/** Plain JSON, as OpenAPI describes it. */
type Schema = { readonly [key: string]: any };
export type ApiDocument = Schema;

const entries = (value: unknown) => Object.entries((value ?? {}) as Readonly<Record<string, Schema>>);

export function docsPage(document: ApiDocument, stylesheet: string): string {
  const { title, version, description = '' } = document.info;
  const base = document.servers?.[0]?.url ?? '';
  const operations = entries(document.paths).flatMap(([path, methods]) =>
    entries(methods).map(([method, operation]) => {
      const root = operation.servers?.[0]?.url ?? base;
      return { method, path: `${root.replace(/\/$/, '')}${path}`, operation };
    }),
  );
  const tags = [...new Set(operations.map(({ operation }) => operation.tags?.[0] ?? 'Other'))];
  const sections = tags.map((tag) => {
    const own = operations.filter(({ operation }) => (operation.tags?.[0] ?? 'Other') === tag);
    return `<section><h2>${escaped(tag)}</h2>\n${own.map(operationHtml).join('\n')}</section>`;
  });
  const schemas = entries(document.components?.schemas).map(
    ([name, schema]) =>
      `<section class="schema" id="${escaped(name)}"><h3>${escaped(name)}</h3>${prose(schema.description)}${fieldsHtml(schema)}</section>`,
  );
  return page(
    `${title} ${version}`,
    `<header><h1>${escaped(title)}</h1><p>Version ${escaped(version)} · <a href="openapi.json">OpenAPI 3.1</a></p>${prose(description)}</header>
<nav aria-label="Routes"><ul>${operations.map(linkHtml).join('')}</ul></nav>
<main>${sections.join('\n')}
<h2>Shapes</h2>${schemas.join('\n')}</main>`,
    stylesheet,
  );
}

type Listed = { readonly method: string; readonly path: string; readonly operation: Schema };

const anchor = ({ method, path }: Listed): string => `${method}-${path.replaceAll(/[^\w]+/g, '-')}`;

function linkHtml(listed: Listed): string {
  const { method, path } = listed;
  return `<li><a href="#${anchor(listed)}"><span class="${method}">${method.toUpperCase()}</span> ${escaped(path)}</a></li>`;
}

function operationHtml(listed: Listed): string {
  const { method, path, operation } = listed;
  const parameters = ((operation.parameters ?? []) as readonly Schema[]).map(
    ({ name, in: place, required, description, schema }) =>
      `<tr><td><code>${escaped(name)}</code></td><td>${escaped(place)}${required ? ', required' : ''}</td><td>${typeHtml(schema ?? {})}</td><td>${inline(description ?? schema?.description ?? '')}</td></tr>`,
  );
  const body = entries(operation.requestBody?.content)[0]?.[1].schema;
  const answers = entries(operation.responses).map(([status, { description = '', content = {} }]) => {
    const schema = entries(content)[0]?.[1].schema;
    return `<tr><td><code>${status}</code></td><td>${schema ? typeHtml(schema) : ''}</td><td>${inline(description)}</td></tr>`;
  });
  return `<article id="${anchor(listed)}">
<h3><span class="${method}">${method.toUpperCase()}</span> <code>${escaped(path)}</code></h3>
<p><strong>${inline(operation.summary ?? '')}.</strong> ${inline(operation.description ?? '')}</p>
${parameters.length > 0 ? `<table><caption>Parameters</caption>${parameters.join('')}</table>` : ''}
${body ? `<p>Body: ${typeHtml(body)}</p>` : ''}
<table><caption>Answers</caption>${answers.join('')}</table>
</article>`;
}

function fieldsHtml(schema: Schema): string {
  const required = new Set<string>(schema.required ?? []);
  const rows = entries(schema.properties).map(
    ([name, field]) =>
      `<tr><td><code>${escaped(name)}</code>${required.has(name) ? '' : '?'}</td><td>${typeHtml(field)}</td><td>${inline(field.description ?? '')}</td></tr>`,
  );
  const parts = ((schema.allOf ?? []) as readonly Schema[]).map((part) =>
    part.$ref ? `<p>All of ${typeHtml(part)}, and:</p>` : fieldsHtml(part),
  );
  return `${parts.join('')}${rows.length > 0 ? `<table>${rows.join('')}</table>` : ''}`;
}

function typeHtml(schema: Schema): string {
  const { $ref, enum: values, oneOf, anyOf, type, items } = schema;
  if (typeof $ref === 'string') {
    const name = escaped($ref.slice($ref.lastIndexOf('/') + 1));
    return `<a href="#${name}">${name}</a>`;
  }
  if (Array.isArray(values)) return values.map((value) => `<code>${escaped(JSON.stringify(value))}</code>`).join(' | ');
  const choices: unknown = oneOf ?? anyOf;
  if (Array.isArray(choices)) return choices.map(typeHtml).join(' | ');
  if (type === 'array') return `${typeHtml(items ?? {})}[]`;
  if (type === 'object' && schema.properties) {
    const fields = entries(schema.properties);
    return `{ ${fields.map(([name, field]) => `${escaped(name)}: ${typeHtml(field)}`).join(', ')} }`;
  }
  return escaped([type ?? 'any'].flat().join(' | '));
}

const prose = (text: unknown): string => (typeof text === 'string' && text !== '' ? `<p>${inline(text)}</p>` : '');

/** Text with \`code\` in it. */
const inline = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

export const DOCS_STYLE = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem; }
nav ul { columns: 2; list-style: none; padding: 0; font: 13px/1.7 ui-monospace, monospace; }
@media (max-width: 40rem) { nav ul { columns: 1; } table { display: block; overflow-x: auto; } }
article, .schema { border-top: 1px solid #8884; padding: 0.5rem 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0; }
caption { text-align: left; font-weight: 600; padding: 0.25rem 0; }
td { border-top: 1px solid #8883; padding: 0.25rem 0.75rem 0.25rem 0; vertical-align: top; }
code { font: 0.92em ui-monospace, monospace; overflow-wrap: anywhere; }
.get, .post, .delete { font: 600 0.8em ui-monospace, monospace; padding: 0.1em 0.4em; border-radius: 0.3em; color: #fff; }
.get { background: #1a6b3c; } .post { background: #1f4fa8; } .delete { background: #a12a2a; }
a { color: LinkText; }
`;
