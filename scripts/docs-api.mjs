// docs/reference/api.md, made from the OpenAPI document of the server, which is made from the schemas in its code.
// Reads the build: run `npm run build` first.
import { join } from 'node:path';
import { countersign, memoryStore } from '../packages/countersign/dist/index.js';
import { createApp } from '../packages/server/dist/index.js';
import { writeOrCompare } from './generated.mjs';

const app = createApp(countersign({ store: memoryStore() }), { inboxDir: false });
const response = await app.fetch(new Request('http://localhost/api/v1/openapi.json'));
const document = await response.json();
const { schemas } = document.components;

writeOrCompare(join(import.meta.dirname, '..', 'docs/reference/api.md'), page(), 'npm run build && npm run docs');

function page() {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, ...operation })),
  );
  const tags = [...new Set(operations.map(({ tags: [tag] }) => tag))];
  return `# HTTP API

Made by \`npm run docs\` from the schemas in \`packages/server/src\`; do not edit. A running server shows the same at
\`/api/v1/docs\`, and as OpenAPI 3.1 at \`/api/v1/openapi.json\`.

- Base: \`/api/v1\`. Everything is JSON. Times are in milliseconds.
- Who asks: \`Authorization: Bearer cs_…\`, the session of a browser, or a hook of yours; see [identity](../guides/identity.md).
- Lists come in pages: \`{ items, cursor }\`. Ask for the next with \`?cursor=\`; it is null on the last.
- Errors are \`application/problem+json\` with a stable \`code\`; see [error codes](errors.md).
- \`x-countersign-channel\` names the channel of a decision: \`api\`, \`inbox\`, \`chat\` or \`cli\`. It is recorded.

${tags.map((tag) => section(tag, operations)).join('\n')}
## Shapes

${Object.entries(schemas)
  .map(([name, schema]) => shape(name, schema))
  .join('\n')}`;
}

function section(tag, operations) {
  const own = operations.filter(({ tags }) => tags[0] === tag);
  const where = own.some(({ servers }) => servers) ? 'At the root of the server, not below the base.\n\n' : '';
  return `## ${tag}\n\n${where}${own.map(operationText).join('\n')}`;
}

function operationText({ method, path, summary, description = '', parameters = [], requestBody, responses }) {
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  const rows = parameters.map(
    ({ name, in: place, required, description: about, schema }) =>
      `| \`${name}\` | ${place}${required ? ', required' : ''} | ${typeText(schema)} | ${cell(about ?? schema.description ?? '')} |`,
  );
  const answers = Object.entries(responses).map(([status, { description: about, content = {} }]) => {
    const schema = Object.values(content)[0]?.schema;
    return `| ${status} | ${schema ? typeText(schema) : ''} | ${cell(about)} |`;
  });
  return `### ${method.toUpperCase()} ${path}

${[`${summary}.`, description].filter(Boolean).join(' ')}
${rows.length > 0 ? `\n| parameter | in | type | |\n|---|---|---|---|\n${rows.join('\n')}\n` : ''}${body ? `\nBody: ${typeText(body)}${requestBody.required ? '' : ', which may be left out'}\n` : ''}
| status | body | |
|---|---|---|
${answers.join('\n')}
`;
}

function shape(name, schema) {
  const parts = (schema.allOf ?? [schema]).map((part) => part);
  const refs = parts.filter(({ $ref }) => $ref).map(typeText);
  const rows = parts.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).map(
      ([field, type]) =>
        `| \`${field}\`${required.includes(field) ? '' : '?'} | ${typeText(type)} | ${cell(type.description ?? '')} |`,
    ),
  );
  const intro = [schema.description ?? '', refs.length > 0 ? `All of ${refs.join(', ')}, and:` : ''].filter(Boolean);
  const table = rows.length > 0 ? `| field | type | |\n|---|---|---|\n${rows.join('\n')}\n` : '';
  return `### ${name}\n\n${intro.length > 0 ? `${intro.join(' ')}\n\n` : ''}${table}`;
}

function typeText({ $ref, enum: values, oneOf, anyOf, allOf, type, items, properties }) {
  if ($ref) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (values) return values.map((value) => `\`${JSON.stringify(value)}\``).join(' \\| ');
  const choices = oneOf ?? anyOf ?? allOf;
  if (choices) return choices.map(typeText).join(' \\| ');
  if (type === 'array') return `array of ${typeText(items ?? {})}`;
  if (type === 'object' && properties)
    return `{ ${Object.entries(properties)
      .map(([name, field]) => `${name}: ${typeText(field)}`)
      .join(', ')} }`;
  return [type ?? 'any JSON'].flat().join(' \\| ');
}

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
