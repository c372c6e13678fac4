// A plain MCP server that writes down each message as it arrived. Over stdio as a program, over HTTP as a listener.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createInterface } from 'node:readline';

const number = { type: 'number' };
const TOOLS = [
  { name: 'pay', inputSchema: { type: 'object', properties: { amount: number } } },
  { name: 'wipe', inputSchema: { type: 'object' } },
  { name: 'slow', inputSchema: { type: 'object' } },
  {
    name: 'shot',
    inputSchema: {
      type: 'object',
      properties: { url: { type: 'string' }, type: { type: 'string', default: 'png' } },
      required: ['url', 'type'],
      additionalProperties: false,
    },
  },
];

/** The answer to a message; undefined if it gets none. `state` is shared by all messages of a server. */
export function answerTo(message: any, state: { lists: number; failsFirst?: boolean }): object | undefined {
  const { id, method, params } = message;
  const result = (value: object) => ({ jsonrpc: '2.0', id, result: value });
  if (id === undefined || method === undefined) return undefined;
  if (method === 'initialize')
    return result({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'recording', version: '1' },
    });
  if (method === 'tools/list') {
    state.lists += 1;
    if (state.failsFirst && state.lists === 1)
      return { jsonrpc: '2.0', id, error: { code: -32603, message: 'not now' } };
    return result({ tools: TOOLS });
  }
  if (method === 'tools/call' && params.name === 'slow') return undefined;
  if (method === 'tools/call')
    return result({ content: [{ type: 'text', text: `${params.name} ${JSON.stringify(params.arguments)}` }] });
  return result({});
}

export const linesOf = (file: string): readonly string[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];

/** The same server over HTTP, without sessions. Calls of `slow` get no answer until `release` is called. */
export function recordingHttp(file: string): { server: Server; headers: IncomingHttpHeaders[]; release(): void } {
  const state = { lists: 0 };
  const held: (() => void)[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer(async (request, response) => {
    headers.push(request.headers);
    let text = '';
    for await (const chunk of request) text += chunk;
    if (text !== '') appendFileSync(file, `${text}\n`);
    const message = text === '' ? {} : JSON.parse(text);
    const send = (answer: object | undefined) => {
      response.writeHead(answer ? 200 : 202, { 'content-type': 'application/json' });
      response.end(answer && JSON.stringify(answer));
    };
    if (message.params?.name !== 'slow') return send(answerTo(message, state));
    held.push(() =>
      send({
        jsonrpc: '2.0',
        id: message.id,
        result: { content: [{ type: 'text', text: JSON.stringify(message.params.arguments) }] },
      }),
    );
  });
  return { server, headers, release: () => void held.splice(0).map((answer) => answer()) };
}

const [, program, file = '', mode] = process.argv;
if (program === import.meta.filename) {
  const state = { lists: 0, failsFirst: mode === 'fails-first' };
  createInterface({ input: process.stdin }).on('line', (line) => {
    appendFileSync(file, `${line}\n`);
    const answer = answerTo(JSON.parse(line), state);
    if (answer) process.stdout.write(`${JSON.stringify(answer)}\n`);
  });
}
