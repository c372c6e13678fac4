// Messages of MCP clients: right ones, ones with strange values in them, and bytes that are no message.
import { pick, type Random, STRANGE_TEXTS, valueFor } from './values.ts';

export type McpPost = {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const METHODS = [
  'initialize',
  'notifications/initialized',
  'ping',
  'tools/list',
  'tools/call',
  'tools/call',
  'tools/call',
  'resources/list',
  'resources/read',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'notifications/cancelled',
  'notifications/progress',
  'server/discover',
  'tasks/get',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
  // These go the other way.
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
];
const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', '2099-01-01', ''];
const VALUE = { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'object' }, { type: 'boolean' }] };

type Known = {
  readonly tools: readonly string[];
  /** Values that mean something to the server, by the names of arguments. */
  readonly args: Readonly<Record<string, readonly unknown[]>>;
  /** The ids of tasks so far. */
  readonly taskIds: readonly string[];
};

/** Without end. */
export function* messages(random: Random, known: Known): Generator<McpPost, never> {
  for (;;) {
    const strangeness = pick(random, [0, 0, 0.05, 0.3]);
    const strange = () => random() < strangeness;
    const one = () => message(random, strange, known);
    const value = strange() ? pick(random, [[], [one(), one()], [[one()]], null, 1, 'x']) : one();
    yield {
      method: strange() ? pick(random, ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']) : 'POST',
      headers: headers(random, strange, value),
      body: bytes(JSON.stringify(value), random, strange),
    };
  }
}

function message(random: Random, strange: () => boolean, known: Known): Record<string, unknown> {
  const method = strange() ? pick(random, STRANGE_TEXTS) : pick(random, METHODS);
  const isNotice = method.startsWith('notifications/');
  const id = strange() ? pick(random, [null, {}, [], 1.5, -1, true, 1e308, '', ...STRANGE_TEXTS]) : numbered(random);
  return {
    jsonrpc: strange() ? pick(random, ['1.0', 2, null]) : '2.0',
    ...((isNotice ? strange() : !strange()) && { id }),
    method,
    ...(!strange() && { params: params(method, random, strange, known) }),
    ...(strange() && { result: {}, error: null, [pick(random, ['__proto__', 'extra', 'ID'])]: 1 }),
  };
}

const numbered = (random: Random): number | string =>
  random() < 0.5 ? Math.floor(random() * 1000) : `id-${Math.floor(random() * 1000)}`;

function params(
  method: string,
  random: Random,
  strange: () => boolean,
  { tools, args: values, taskIds }: Known,
): unknown {
  if (strange()) return valueFor(VALUE, random, 1, {});
  const meta = {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': pick(random, VERSIONS),
      'io.modelcontextprotocol/clientInfo': { name: 'fuzz', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': pick(random, [
        {},
        { elicitation: {} },
        { extensions: { 'io.modelcontextprotocol/tasks': {} } },
        { extensions: null },
        null,
        [],
      ]),
      progressToken: numbered(random),
    },
  };
  switch (method) {
    case 'initialize':
      return { protocolVersion: pick(random, VERSIONS), capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } };
    case 'tools/call': {
      const args: Record<string, unknown> = {
        amount: Math.floor(random() * 100),
        url: 'https://x.example',
        type: 'png',
      };
      for (const [name, meant] of Object.entries(values)) args[name] = pick(random, meant);
      if (strange()) args[pick(random, STRANGE_TEXTS)] = valueFor(VALUE, random, 0.5, {});
      return {
        name: strange() ? pick(random, STRANGE_TEXTS) : pick(random, tools),
        arguments: strange() ? valueFor(VALUE, random, 1, {}) : args,
        ...(random() < 0.5 && meta),
        ...(random() < 0.2 && { task: strange() ? pick(random, [null, 1, []]) : {} }),
        ...(strange() && { requestState: pick(random, STRANGE_TEXTS), inputResponses: valueFor(VALUE, random, 1, {}) }),
      };
    }
    case 'tasks/get':
    case 'tasks/update':
    case 'tasks/cancel':
      return {
        ...(random() < 0.5 && meta),
        taskId: taskIds.length === 0 || strange() ? pick(random, STRANGE_TEXTS) : pick(random, taskIds.slice(-5)),
        ...(method === 'tasks/update' && {
          inputResponses: strange()
            ? valueFor(VALUE, random, 1, {})
            : { 'decision-x': { action: 'accept', content: { approve: true } } },
        }),
      };
    case 'tasks/result':
      // With the id of a real one it would wait.
      return { ...(random() < 0.5 && meta), taskId: pick(random, STRANGE_TEXTS) };
    case 'notifications/cancelled':
      return { requestId: numbered(random), reason: pick(random, STRANGE_TEXTS) };
    default:
      return { ...(random() < 0.5 && meta), uri: pick(random, STRANGE_TEXTS), cursor: pick(random, STRANGE_TEXTS) };
  }
}

function headers(random: Random, strange: () => boolean, value: unknown): Record<string, string> {
  const method = String((value as { method?: unknown } | null)?.method ?? '').replaceAll(/[^\x21-\x7e]/g, '');
  return {
    'content-type': strange()
      ? pick(random, ['text/plain', 'application/xml', 'application/json; charset=latin1'])
      : 'application/json',
    accept: strange() ? pick(random, ['*/*', 'text/html', '']) : 'application/json, text/event-stream',
    ...(random() < 0.5 && { 'mcp-protocol-version': pick(random, VERSIONS) }),
    ...(random() < 0.3 && { 'mcp-method': strange() ? 'tools/list' : method }),
    ...(strange() && { 'mcp-session-id': pick(random, ['x', 'a b', '../..']) }),
    ...(strange() && { 'last-event-id': '7' }),
  };
}

/** Sometimes the bytes are no JSON, too many, or JSON that two readers read differently. */
function bytes(text: string, random: Random, strange: () => boolean): string {
  if (!strange()) return text;
  return pick(random, [
    text.slice(0, -1),
    `${text}${text}`,
    `\ufeff${text}`,
    '',
    '['.repeat(3_000),
    `"${'x'.repeat(random() < 0.05 ? 5_000_000 : 5_000)}"`,
    text.replace('"method":', '"method":"ping","method":'),
    text.replace('"name":', '"name":"ping","name":'),
    text.replaceAll('"', "'"),
    `${text}\n${text}`,
    '\u0000',
  ]);
}
