// A chat route on a real HTTP server, with a ledger of its tools' effects.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Agent, type CountersignOptions, countersign, memoryStore, z } from 'countersign';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { type ChatRouteOptions, chatRoute, nodeHandler } from 'countersign/ui';
import { afterEach } from 'vitest';

export const SECRET = 'a secret of at least thirty-two bytes!';

const running: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

/** `store: false`: the chat is sealed. */
type Options = {
  readonly script: readonly ScriptStep[] | Extract<ScriptStep, (...given: never) => unknown>;
  readonly store?: CountersignOptions['store'] | false;
  readonly route?: ChatRouteOptions;
  readonly policyFor?: CountersignOptions['policyFor'];
  /** Awaited after the money has moved. */
  readonly whilePaying?: () => Promise<void>;
};

export type TestServer = Awaited<ReturnType<typeof serveChat>>;

/** Tools: `transfer` needs approval above 100, `ask` is a question, `look` just runs. The header `x-user` names the user. */
export async function serveChat({ script, store = memoryStore(), route, policyFor, whilePaying }: Options) {
  const model = scriptedModel(script);
  const ai = countersign({ model, retry: false, ...(policyFor && { policyFor }), ...(store !== false && { store }) });
  const ledger: { readonly to: string; readonly amount: number }[] = [];
  const transfer = ai.defineTool(
    {
      name: 'transfer',
      description: 'Moves money.',
      inputSchema: z.object({ to: z.string(), amount: z.number().max(1000) }),
      outputSchema: z.object({ receipt: z.string() }),
      needsApproval: ({ amount }) => amount > 100 && { message: `Pay ${amount}?`, risk: 'high', labels: ['money'] },
    },
    async (input) => {
      ledger.push(input);
      await whilePaying?.();
      return { receipt: `${input.to}:${input.amount}` };
    },
  );
  const ask = ai.defineInterrupt({
    name: 'ask',
    description: 'Asks the user.',
    inputSchema: z.object({ question: z.string(), choices: z.array(z.string()).optional() }),
    outputSchema: z.string().min(1),
  });
  const look = ai.defineTool(
    { name: 'look', description: 'Looks.', inputSchema: z.object({}), outputSchema: z.any() },
    async () => 0,
  );
  const sub: Agent = ai.defineAgent({ name: 'sub', description: 'A sub-agent.', tools: [transfer] });
  const agent = ai.defineAgent({ name: 'teller', system: 'You are a teller.', tools: [transfer, ask, look, sub] });
  const chat = chatRoute(agent, {
    authorize: (request) => ({ id: request.headers.get('x-user') ?? '' }),
    ...(store === false && { secret: SECRET }),
    ...route,
  });
  const posts: unknown[] = [];
  const handle = nodeHandler({
    GET: chat.GET,
    POST: (request) => {
      posts.push(undefined);
      return chat.POST(request);
    },
  });
  const server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    if (store !== false) await ai.runs.settled();
  };
  running.push({ close });
  const url = `http://127.0.0.1:${port}/api/chat`;
  return { ai, agent, model, ledger, chat, url, posts, close };
}

/** Posts like `useChat`; returns the status and the chunks of the response. */
export async function post(url: string, body: unknown, { user = 'ada', headers = {} as Record<string, string> } = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': user, ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, text, chunks: chunksIn(text), headers: response.headers };
}

export async function get(url: string, { user = 'ada' } = {}) {
  const response = await fetch(url, { headers: { 'x-user': user } });
  const text = await response.text();
  return { status: response.status, text, chunks: chunksIn(text) };
}

type Chunk = { readonly type: string; readonly [key: string]: any };

function chunksIn(text: string): readonly Chunk[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('data: ') && block !== 'data: [DONE]')
    .map((block) => JSON.parse(block.slice('data: '.length)) as Chunk);
}

export const types = (chunks: readonly Chunk[]): string[] => chunks.map(({ type }) => type);
