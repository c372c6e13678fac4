// A real server on a free port, with people, a bank whose transfers are counted, and a model that follows a script.
import { request as httpRequest } from 'node:http';
import { createToken, type NewToken, type RunningServer, type ServeOptions, serve } from '@countersign/server';
import { type Countersign, type CountersignOptions, countersign, memoryStore, z } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { onTestFinished } from 'vitest';

export type TestServer = {
  readonly server: RunningServer;
  readonly url: string;
  readonly ai: Countersign;
  /** What the bank has paid. */
  readonly paid: { readonly to: string; readonly amount: number }[];
  /** A token for this person, with all scopes unless said otherwise. */
  tokenFor(person: string, options?: Partial<NewToken>): Promise<string>;
  /** Asks the API as this person. */
  as(person: string, options?: Partial<NewToken>): Promise<Ask>;
};

export type Answer = { readonly status: number; readonly headers: Headers; readonly body: any };
export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

/**
 * The agent `teller` has the tools `pay` (approval above 100), `ask` (a question) and `look` (runs at once). What the user
 * says is what the model does: `pay ann 500`, `ask which?`, `look`, anything else is repeated.
 */
export function defineTeller(ai: Countersign, paid: { to: string; amount: number }[] = []) {
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Moves money.',
      inputSchema: z.object({ to: z.string(), amount: z.number().max(100_000) }),
      outputSchema: z.object({ receipt: z.string() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      reversibility: 'irreversible',
      preview: ({ to }) => [{ account: to, isNew: false }],
      needsApproval: ({ amount }) => amount > 100 && { message: `Pay ${amount}?`, risk: 'high', labels: ['money'] },
    },
    async (input) => {
      paid.push(input);
      return { receipt: `${input.to}:${input.amount}` };
    },
  );
  const ask = ai.defineInterrupt({
    name: 'ask',
    description: 'Asks the user.',
    inputSchema: z.object({ question: z.string() }),
    outputSchema: z.string().min(1),
  });
  const look = ai.defineTool({ name: 'look', description: 'Looks.', inputSchema: z.object({}) }, async () => 0);
  ai.defineAgent({
    name: 'teller',
    description: 'Moves money.',
    suggestions: ['pay bob 500'],
    tools: [pay, ask, look],
  });
  ai.defineAgent({ name: 'parrot', description: 'Repeats.' });
}

export const obedientModel = () =>
  scriptedModel(({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user');
    const said = messages[last]?.content.map((part) => ('text' in part ? part.text : '')).join('') ?? '';
    if (messages.slice(last + 1).some(({ role }) => role === 'tool')) return 'Done.';
    const [verb, who = '', amount = ''] = said.split(' ');
    if (verb === 'pay') return { calls: [{ name: 'pay', input: { to: who, amount: Number(amount) } }] };
    if (verb === 'ask') return { calls: [{ name: 'ask', input: { question: said.slice(4) } }] };
    if (verb === 'look') return { calls: [{ name: 'look' }] };
    if (verb === 'fail') return { fail: { message: 'The model is down.' } };
    return said;
  });

export async function startServer(
  options: ServeOptions & { readonly store?: Store; readonly instance?: Partial<CountersignOptions> } = {},
): Promise<TestServer> {
  const { store = memoryStore(), instance, ...rest } = options;
  const ai = countersign({ model: obedientModel(), retry: false, store, ...instance });
  const paid: { to: string; amount: number }[] = [];
  defineTeller(ai, paid);
  const server = await serve(ai, { port: 0, inboxDir: false, graceMs: 200, ...rest });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  const url = `http://127.0.0.1:${server.port}`;
  const tokenFor = async (person: string, given: Partial<NewToken> = {}) =>
    (await createToken(ai.runs.notes, { person, ...given })).token;
  return {
    server,
    url,
    ai,
    paid,
    tokenFor,
    as: async (person, given) => asking(url, { authorization: `Bearer ${await tokenFor(person, given)}` }),
  };
}

export function asking(url: string, always: Record<string, string> = {}): Ask {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...always, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      redirect: 'manual',
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = (response.headers.get('content-type') ?? '').includes('json');
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text !== '' ? JSON.parse(text) : text,
    };
  };
}

/** A `policyFor`: this person decides payments up to a limit, and the boss those above it. */
export const upTo =
  (most: number, person: string): NonNullable<CountersignOptions['policyFor']> =>
  ({ input }) => ({ deciders: { people: [(input as { amount: number }).amount <= most ? person : 'boss'] } });

/** Starts a run and waits until it pauses or ends. */
export async function begin(ask: Ask, ai: Countersign, prompt: string): Promise<any> {
  const { body } = await ask('POST', '/api/v1/runs', { agent: 'teller', prompt });
  await ai.runs.wait(body.id);
  return (await ask('GET', `/api/v1/runs/${body.id}`)).body;
}

/** Sends a request that `fetch` would not: path, host and headers are unchanged. */
export function raw(
  port: number,
  options: { method?: string; path: string; headers?: Record<string, string | string[]>; body?: string | Uint8Array },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', path, headers = {}, body } = options;
    const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
          body: text,
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
