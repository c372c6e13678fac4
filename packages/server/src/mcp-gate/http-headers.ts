// The headers of requests to an MCP server. Those that repeat the body are written from the body, so that both name one call.
import { isRecord } from '../is-record.ts';
import { isModern, type RpcMessage, type RpcRequest } from './messages.ts';
import type { McpTool } from './rules.ts';

const NOT_FORWARDED = [
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'accept-encoding',
  'upgrade',
  'origin',
];

/** The client's headers as they are, but for those of its connection. */
export function forwarded(given: Headers): Headers {
  const headers = new Headers(given);
  for (const name of NOT_FORWARDED) headers.delete(name);
  return headers;
}

/** `tool` declares which arguments its headers repeat. */
export function headersFor(given: Headers, message: RpcMessage, tool: McpTool | undefined): Headers {
  const headers = forwarded(given);
  for (const name of [...headers.keys()]) if (/^mcp-(method|name|param-.*)$/.test(name)) headers.delete(name);
  headers.set('content-type', 'application/json');
  if (!('method' in message) || !('id' in message) || !isModern(message)) return headers;
  headers.set('mcp-method', message.method);
  const name = nameIn(message);
  if (name !== undefined) headers.set('mcp-name', encoded(name));
  for (const [header, value] of repeated(tool?.inputSchema, message.params?.arguments))
    headers.set(`mcp-param-${header}`, encoded(value));
  return headers;
}

/** The field that a method is named by, as the protocol says. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

function nameIn({ method, params = {} }: RpcRequest): string | undefined {
  const name = params[NAMED_BY.get(method) ?? ''];
  return typeof name === 'string' ? name : undefined;
}

/** The arguments that a schema marks with `x-mcp-header`, at any depth. */
function* repeated(schema: unknown, value: unknown): Generator<readonly [string, string]> {
  if (!isRecord(schema) || value === undefined || value === null) return;
  const header = schema['x-mcp-header'];
  if (typeof header === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(header) && typeof value !== 'object')
    yield [header, String(value)];
  if (!isRecord(schema.properties) || !isRecord(value)) return;
  for (const [key, inner] of Object.entries(schema.properties)) yield* repeated(inner, value[key]);
}

/** As the protocol encodes values that are not plain ASCII. */
function encoded(value: string): string {
  const isPlain = /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
