// The API as a readable page, made from the OpenAPI document.
import { escaped, page } from './html.ts';

/** Plain JSON, as OpenAPI describes it. */
type Schema = { readonly [key: string]: any };
export type ApiDocument = Schema;

const entries = (value: unknown) => Object.entries((value ?? {}) as Readonly<Record<string, Schema>>);

export function docsPage(document: ApiDocument, stylesheet: string): string {
  const { title, version, description } = document.info;
  const operations = entries(document.paths).flatMap(([path, methods]) =>
    entries(methods).map(([method, operation]): Listed => {
      const root: string = (operation.servers ?? document.servers)[0].url;
      return { method, path: `${root.replace(/\/$/, '')}${path}`, operation };
    }),
  );
  const sections = [...Map.groupBy(operations, ({ operation }) => operation.tags[0])].map(
    ([tag, own]) => `<section><h2>${escaped(tag)}</h2>\n${own.map(operationHtml).join('\n')}</section>`,
  );
  const schemas = entries(document.components.schemas).map(
    ([name, schema]) =>
      `<section class="schema" id="${escaped(name)}"><h3>${escaped(name)}</h3><p>${inline(schema.description)}</p>${fieldsHtml(schema)}</section>`,
  );
  const links = operations.map((listed) => `<li><a href="#${anchor(listed)}">${headHtml(listed)}</a></li>`);
  return page(
    `${title} ${version}`,
    `<header><h1>${escaped(title)}</h1><p>Version ${escaped(version)} · <a href="openapi.json">OpenAPI 3.1</a></p><p>${inline(description)}</p></header>
<nav aria-label="Routes"><ul>${links.join('')}</ul></nav>
<main>${sections.join('\n')}
<h2>Shapes</h2>${schemas.join('\n')}</main>`,
    stylesheet,
  );
}

type Listed = { readonly method: string; readonly path: string; readonly operation: Schema };

const anchor = ({ method, path }: Listed): string => `${method}-${path.replaceAll(/[^\w]+/g, '-')}`;

const headHtml = ({ method, path }: Listed): string =>
  `<span class="${method}">${method.toUpperCase()}</span> <code>${escaped(path)}</code>`;

function operationHtml(listed: Listed): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = listed.operation;
  const contentType = ({ content }: Schema) => typeHtml(entries(content)[0]?.[1].schema);
  const asked = (parameters as readonly Schema[]).map(({ name, in: place, required, description: about, schema }) =>
    row(code(name), `${place}${required ? ', required' : ''}`, typeHtml(schema), inline(about ?? schema.description)),
  );
  const answers = entries(responses).map(([status, response]) =>
    row(code(status), contentType(response), inline(response.description)),
  );
  return `<article id="${anchor(listed)}">
<h3>${headHtml(listed)}</h3>
<p><strong>${inline(summary)}.</strong> ${inline(description)} Operation: ${code(operationId)}.</p>
${asked.length > 0 ? `<table><caption>Parameters</caption>${asked.join('')}</table>` : ''}
${requestBody ? `<p>Body: ${contentType(requestBody)}</p>` : ''}
<table><caption>Answers</caption>${answers.join('')}</table>
</article>`;
}

function fieldsHtml({ required = [], properties, allOf = [], oneOf, discriminator }: Schema): string {
  if (oneOf) return `<p>One of ${typeHtml({ oneOf })}, by ${code(discriminator.propertyName)}.</p>`;
  const rows = entries(properties).map(([name, field]) =>
    row(`${code(name)}${required.includes(name) ? '' : '?'}`, typeHtml(field), inline(field.description)),
  );
  const parts = (allOf as readonly Schema[]).map((part) =>
    part.$ref ? `<p>All of ${typeHtml(part)}, and:</p>` : fieldsHtml(part),
  );
  return `${parts.join('')}${rows.length > 0 ? `<table>${rows.join('')}</table>` : ''}`;
}

function typeHtml(schema: Schema | undefined): string {
  if (!schema) return '';
  const { $ref, enum: values, oneOf, anyOf, type, items, properties } = schema;
  if ($ref) {
    const name = escaped($ref.slice($ref.lastIndexOf('/') + 1));
    return `<a href="#${name}">${name}</a>`;
  }
  if (values) return values.map((value: unknown) => code(JSON.stringify(value))).join(' | ');
  if (oneOf || anyOf) return (oneOf ?? anyOf).map(typeHtml).join(' | ');
  if (type === 'array') return `${typeHtml(items)}[]`;
  if (type === 'object' && properties)
    return `{ ${entries(properties)
      .map(([name, field]) => `${escaped(name)}: ${typeHtml(field)}`)
      .join(', ')} }`;
  return escaped([type ?? 'any'].flat().join(' | '));
}

const row = (...cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;

const code = (text: string): string => `<code>${escaped(text)}</code>`;

/** Text with \`code\` in it. */
const inline = (text = ''): string => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

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
