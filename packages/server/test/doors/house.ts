// The house that the doors lead to: a real server on SQLite, the routes of an app beside it, and a tool that pays. Payments are
// lines of a file. No test framework is imported here: `house-child.ts` opens the same house in a process of its own.
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { convertToModelMessages, createUIMessageStreamResponse, tool as sdkTool, stepCountIs, streamText } from 'ai';
import { type Countersign, type CountersignOptions, countersign, type PolicyConfig, z } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { chatRoute, nodeHandler } from 'countersign/ui';
import { saying } from '../../../countersign/test/ai-sdk/model.ts';
import { slack } from '../../src/channels/slack/slack.ts';
import { serve } from '../../src/serve.ts';

export type Plan = {
  readonly file: string;
  readonly ledger: string;
  /** Where the API of Slack is. */
  readonly slackApi: string;
  /** A payment ends this process by SIGKILL once it is made. */
  readonly isLethal?: boolean;
  readonly leaseMs?: number;
};

export const SLACK = { token: 'xoxb-token', signingSecret: 'the-signing-secret-of-the-app' } as const;
export const SLACK_USERS: Readonly<Record<string, string>> = { U1: 'ann', U2: 'cleo', U3: 'bob' };
const SECRET = 'a secret of at least thirty-two bytes!';
const input = z.object({ to: z.string(), amount: z.number() });

export type Payment = z.output<typeof input>;

/** What the user says is what the model does: `pay {"to":…,"amount":…}`. */
const orderIn = (said: string): Payment | undefined => {
  const [, order] = /pay (\{.*\})/s.exec(said) ?? [];
  return order === undefined ? undefined : (JSON.parse(order) as Payment);
};

const paying = () =>
  scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    const order =
      last?.role === 'user' && orderIn(last.content.map((part) => ('text' in part ? part.text : '')).join(''));
    return order ? { calls: [{ name: 'pay', input: order }] } : 'Done.';
  });

/** Policies under which ann may not approve, by the payee. */
function strictPolicy(to: string, amount: number): PolicyConfig | undefined {
  const boss = { deciders: { people: ['boss'] } };
  const [kind] = to.split('/');
  switch (kind) {
    case 'boss':
      return boss;
    case 'limit':
      return amount > 1_000 ? boss : { deciders: { people: ['ann'] }, grants: { uses: 10, expiresWithin: '7d' } };
    case 'four eyes':
      return { deciders: { people: ['ann', 'cleo', 'boss'] }, notRequester: true };
    case 'signed':
      return { deciders: { people: ['ann', 'boss'] }, signed: 'passkey' };
    case 'delegate':
      return { deciders: { people: ['signer'] }, signed: 'passkey' };
    default:
      return undefined;
  }
}

/** The agent `teller` pays after ann or cleo approved, and above 1000 after both did. */
export function defineHouse(options: Partial<CountersignOptions>, pay: (payment: Payment) => void): Countersign {
  const ai = countersign({ model: paying(), retry: false, ...options });
  const people = ['ann', 'cleo'];
  const payTool = ai.defineTool(
    {
      name: 'pay',
      description: 'Moves money.',
      inputSchema: input,
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      needsApproval: ({ to, amount }) => ({
        policy:
          strictPolicy(to, amount) ??
          (amount > 1_000 ? { quorum: [{ of: { people }, count: 2 }] } : { deciders: { people } }),
      }),
    },
    async (payment) => {
      pay(payment);
      return 'paid';
    },
  );
  ai.defineAgent({ name: 'teller', description: 'Moves money.', tools: [payTool] });
  return ai;
}

export async function openHouse({ file, ledger, slackApi, isLethal = false, leaseMs }: Plan) {
  const store = sqliteStore(file);
  const pay = (payment: Payment) => {
    appendFileSync(ledger, `${JSON.stringify(payment)}\n`);
    if (isLethal) process.kill(process.pid, 'SIGKILL');
  };
  const ai = defineHouse({ store, ...(leaseMs !== undefined && { leaseMs }) }, pay);
  const channel = slack({ ...SLACK, api: slackApi, channel: 'C1', people: (user) => SLACK_USERS[user] });
  // The tests deliver by hand what the outbox would.
  const channels = [{ ...channel, deliver: async () => undefined, update: async () => undefined }];
  const served = await serve(ai, {
    port: 0,
    inboxDir: false,
    graceMs: 200,
    mayRead: () => true,
    channels,
    log: () => undefined,
  });
  const app = await openApp(ai, store, pay);
  return {
    ai,
    url: `http://127.0.0.1:${served.port}`,
    appUrl: app.url,
    close: async () => {
      app.close();
      await served.close();
      await store.close();
    },
  };
}

/** The routes that users mount in their own apps. The header `x-user` names the person, `x-rights: read` takes the right to decide. */
async function openApp(ai: Countersign, store: Store, pay: (payment: Payment) => void) {
  const route = (own: Countersign, secret?: string) =>
    chatRoute(own.agents.get('teller') as never, {
      authorize: ({ headers }) => ({
        id: headers.get('x-user') ?? '',
        mayDecide: headers.get('x-rights') !== 'read',
      }),
      ...(secret !== undefined && { secret }),
    });
  const routes: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
    stored: nodeHandler(route(ai)),
    sealed: nodeHandler(route(defineHouse({}, pay), SECRET)),
    gated: nodeHandler({
      GET: async () => new Response(null, { status: 405 }),
      POST: (request) => gated(request, store, pay),
    }),
  };
  const server = createServer((request, response) => routes[request.url?.split('/')[1] ?? '']?.(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const { model } = saying((prompt) => {
  const last = prompt.at(-1);
  const order =
    last?.role === 'user' && orderIn(last.content.map(({ text }: { text?: string }) => text ?? '').join(''));
  return order ? { calls: [{ id: `call-${crypto.randomUUID()}`, tool: 'pay', input: order }] } : { text: 'Done.' };
});

/** A route of the AI SDK with our gate before its tools. */
async function gated(request: Request, store: Store, pay: (payment: Payment) => void): Promise<Response> {
  try {
    const { id, messages } = JSON.parse(await request.text());
    const tools = {
      pay: sdkTool({
        inputSchema: input,
        needsApproval: true,
        execute: (payment: Payment) => {
          pay(payment);
          return 'paid';
        },
      }),
    };
    const behind = gateTools(tools, { ai: countersign({ store }), key: id, by: request.headers.get('x-user') ?? '' });
    const received = await behind.receive(messages);
    const result = streamText({
      model,
      messages: await convertToModelMessages(received as never),
      tools: behind.tools,
      stopWhen: stepCountIs(3),
      onError: () => undefined,
    });
    return createUIMessageStreamResponse({
      stream: behind.send(result.toUIMessageStream({ originalMessages: received })),
    });
  } catch (error) {
    // As an app would: the gate throws what it refuses.
    return new Response(String(error), { status: 400 });
  }
}
