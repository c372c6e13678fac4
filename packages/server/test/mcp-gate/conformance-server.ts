// An MCP server with what the conformance suite of the protocol asks for: sessions, streams that it ends early, and all features.
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  type EventStore,
  WebStandardStreamableHTTPServerTransport as Transport,
} from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListToolsRequestSchema,
  type ServerNotification,
  type ServerRequest,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod/v3';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==';
const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' };
const text = (said: string) => ({ type: 'text' as const, text: said });
const resource = (uri: string, mimeType: string, said: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: said },
});
const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
const user = (content: object) => ({ role: 'user' as const, content: content as never });

const string = { type: 'string' };
const DEFAULTS = {
  name: { ...string, default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { ...string, enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const options = ['option1', 'option2', 'option3'];
const titled = ['First', 'Second', 'Third'].map((title, at) => ({ const: `value${at + 1}`, title: `${title} Option` }));
const ENUMS = {
  untitledSingle: { ...string, enum: options },
  titledSingle: { ...string, oneOf: titled },
  legacyEnum: { ...string, enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', items: { ...string, enum: options } },
  titledMulti: { type: 'array', items: { anyOf: titled } },
};

function conformingServer(): McpServer {
  const server = new McpServer(
    { name: 'conforming', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true }, completions: {} } },
  );
  const add = (name: string, run: (args: any, extra: Extra) => object | Promise<object>, inputSchema = {}) =>
    server.registerTool(name, { description: `The tool ${name}.`, inputSchema }, run as never);
  add('test_simple_text', () => ({ content: [text('This is a simple text response for testing.')] }));
  add('test_image_content', () => ({ content: [image] }));
  add('test_audio_content', () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }));
  add('test_embedded_resource', () => ({
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }));
  add('test_multiple_content_types', () => ({
    content: [
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', 'application/json', JSON.stringify({ test: 'data', value: 123 })),
    ],
  }));
  add('test_error_handling', () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  add('test_tool_with_logging', async (_args, { sendNotification }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
      await pause();
    }
    return { content: [text('Logged.')] };
  });
  add('test_tool_with_progress', async (_args, { sendNotification, _meta }) => {
    const progressToken = _meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken: progressToken ?? 0, progress, total: 100 },
      });
      await pause();
    }
    return { content: [text('Done.')] };
  });
  const sampling = async ({ prompt }: { prompt: string }, { sendRequest }: Extra) => {
    const params = { messages: [user(text(prompt))], maxTokens: 100 };
    const { content } = await sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema);
    return { content: [text(`LLM response: ${(content as { text?: string }).text}`)] };
  };
  add('test_sampling', sampling, { prompt: z.string() });
  const elicited = async ({ sendRequest }: Extra, message: string, properties: object, required: string[] = []) => {
    const params = { message, requestedSchema: { type: 'object', properties, required } } as never;
    const { action, content } = await sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
    return { content: [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`)] };
  };
  const asked = { username: { ...string, description: "User's response" }, email: { ...string, description: 'Mail' } };
  add('test_elicitation', ({ message }, extra) => elicited(extra, message, asked, ['username', 'email']), {
    message: z.string(),
  });
  add('test_elicitation_sep1034_defaults', (_args, extra) => elicited(extra, 'Defaults?', DEFAULTS));
  add('test_elicitation_sep1330_enums', (_args, extra) => elicited(extra, 'Which ones?', ENUMS));
  add('test_reconnection', async (_args, { closeSSEStream }) => {
    closeSSEStream?.();
    await pause();
    return { content: [text('Resumed.')] };
  });
  addResources(server);
  addPrompts(server);
  const completion = { values: ['paris', 'park', 'party'], total: 3, hasMore: false };
  server.server.setRequestHandler(CompleteRequestSchema, async () => ({ completion }));
  server.server.setRequestHandler(SetLevelRequestSchema, async () => ({}));
  server.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
  server.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
  listRawSchema(server);
  return server;
}

function addResources(server: McpServer): void {
  const uris = { text: 'test://static-text', binary: 'test://static-binary', watched: 'test://watched-resource' };
  const plain = { description: 'A resource.', mimeType: 'text/plain' };
  const said = 'This is the content of the static text resource.';
  const contents = (uri: string, more: object) => ({ contents: [{ uri, ...more }] }) as never;
  server.registerResource('text', uris.text, plain, () => contents(uris.text, { mimeType: 'text/plain', text: said }));
  server.registerResource('watched', uris.watched, plain, () => contents(uris.watched, { text: 'Watched.' }));
  server.registerResource('binary', uris.binary, { description: 'A picture.', mimeType: 'image/png' }, () =>
    contents(uris.binary, { mimeType: 'image/png', blob: PNG }),
  );
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, { description: 'By id.' }, ({ href }, { id }) =>
    contents(href, {
      mimeType: 'application/json',
      text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }),
  );
}

function addPrompts(server: McpServer): void {
  const description = 'A prompt.';
  server.registerPrompt('test_simple_prompt', { description }, () => ({
    messages: [user(text('This is a simple prompt for testing.'))],
  }));
  const argsSchema = { arg1: z.string(), arg2: z.string() };
  server.registerPrompt('test_prompt_with_arguments', { description, argsSchema }, ({ arg1, arg2 }) => ({
    messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  }));
  const withUri = { description, argsSchema: { resourceUri: z.string() } };
  server.registerPrompt('test_prompt_with_embedded_resource', withUri, ({ resourceUri }) => ({
    messages: [
      user(resource(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
      user(text('Please process the embedded resource above.')),
    ],
  }));
  server.registerPrompt('test_prompt_with_image', { description }, () => ({
    messages: [user(image), user(text('Please analyze the image above.'))],
  }));
}

/** Adds a tool whose schema zod cannot write. */
function listRawSchema({ server }: McpServer): void {
  const handlers = (server as unknown as { _requestHandlers: Map<string, (...given: unknown[]) => Promise<any>> })
    ._requestHandlers;
  const list = handlers.get('tools/list');
  const inputSchema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object' as const,
    $defs: { address: { type: 'object', properties: { street: string, city: string } } },
    properties: { name: string, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  };
  const raw = { name: 'json_schema_2020_12_tool', description: 'Tool with JSON Schema 2020-12 features', inputSchema };
  server.setRequestHandler(ListToolsRequestSchema, async (request, extra) => {
    const listed = await list?.(request, extra);
    return { tools: [...(listed?.tools ?? []), raw] };
  });
}

/** Keeps the events of one session, so that its streams can be resumed. */
function eventStore(): EventStore {
  const events: { id: string; stream: string; message: any }[] = [];
  return {
    storeEvent: async (stream, message) => {
      const id = `${stream}_${events.length}`;
      events.push({ id, stream, message });
      return id;
    },
    replayEventsAfter: async (last, { send }) => {
      const at = events.findIndex(({ id }) => id === last);
      const stream = events[at]?.stream ?? '';
      for (const event of events.slice(at + 1))
        if (event.stream === stream && Object.keys(event.message).length > 0) await send(event.id, event.message);
      return stream;
    },
  };
}

/** One server per session, as clients of the older protocol expect it. */
export function conformanceServer(): Server {
  const sessions = new Map<string, Transport>();
  return createServer(
    getRequestListener(async (request) => {
      const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
      if (known) {
        // The suite names an older version here than the one whose streams it tests.
        const headers = new Headers(request.headers);
        headers.set('mcp-protocol-version', '2025-11-25');
        const { method, signal } = request;
        const body = method === 'POST' ? { body: await request.text() } : {};
        return known.handleRequest(new Request(request.url, { method, headers, signal, ...body }));
      }
      const { port } = new URL(request.url);
      const transport: Transport = new Transport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, transport),
        eventStore: eventStore(),
        retryInterval: 200,
        enableDnsRebindingProtection: true,
        allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`],
      });
      await conformingServer().connect(transport as never);
      return transport.handleRequest(request);
    }),
  );
}
