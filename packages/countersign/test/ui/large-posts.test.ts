// Large posts: no body is read before the sender is known, limits are enforced, and the work grows with the post.
import { request as httpRequest, Agent as KeptConnections } from 'node:http';
import { chatRoute } from 'countersign/ui';
import { describe, expect, test } from 'vitest';
import { readPost } from '../../src/ui/http/post.ts';
import { canHaveSeen, postedDecisions } from '../../src/ui/http/posted-decisions.ts';
import { ChatWriter } from '../../src/ui/picture/writer.ts';
import { createClient } from './client.ts';
import { post, SECRET, serveChat } from './server.ts';

const answered = (count: number, toolCallId = (_: number) => 'c') =>
  Array.from({ length: count }, (_, index) => ({
    type: 'tool-a',
    toolCallId: toolCallId(index),
    state: 'output-available',
    output: 1,
  }));
const assistant = (parts: readonly object[]) => ({ id: 'm', role: 'assistant', parts });

for (const stored of [true, false])
  describe(stored ? 'with a store' : 'sealed', () => {
    const kind = stored ? {} : { store: false as const };
    const routeOptions = stored ? {} : { secret: SECRET };

    test('an unauthorized post is rejected before its body is read', async () => {
      const { agent, url } = await serveChat({ script: [], ...kind });
      const { POST } = chatRoute(agent, { authorize: () => null, ...routeOptions });
      let reads = 0;
      const pull = () => {
        reads += 1;
      };
      const body = new ReadableStream({ pull }, { highWaterMark: 0 });
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body, duplex: 'half' };
      const refused = await POST(new Request(url, init as RequestInit));
      const { code } = (await refused.json()) as { code: string };
      expect([refused.status, code, reads]).toEqual([401, 'not-authorized', 0]);
      const unreadable = new Request(url, { method: 'POST', headers, body: '{{{' });
      expect((await POST(unreadable)).status).toBe(401);
    });

    test('`authorize` can await the id of the chat, which reads the post', async () => {
      const { agent, url } = await serveChat({ script: ['Hello.'], ...kind });
      const seen: string[] = [];
      const { POST } = chatRoute(agent, {
        authorize: async (_, { chatId }) => {
          seen.push(await chatId());
          return { id: 'ada' };
        },
        ...routeOptions,
      });
      const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
      const posted = (body: object) =>
        POST(
          new Request(url, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          }),
        );
      const answer = await posted({ id: 'chat-1', messages: [message] });
      expect(await answer.text()).toContain('Hello.');
      expect(seen).toEqual(['chat-1']);
      expect((await posted({ id: '..', messages: [message] })).status).toBe(400);
    });

    test.each([
      ['parts', { messages: [assistant(answered(13_000))] }],
      ['parts in all', { messages: Array.from({ length: 1_200 }, () => assistant(answered(10))) }],
      ['messages', { messages: Array.from({ length: 6_000 }, () => assistant([])) }],
      ['decisions', { decisions: Array.from({ length: 2_000 }, () => ({ requestId: 'x' })) }],
    ] as [string, object][])('a post with too many %s is rejected with 413', async (what, body) => {
      const { url } = await serveChat({ script: [], ...kind });
      const refused = await post(url, { id: 'chat-1', ...body });
      expect(refused.status).toBe(413);
      expect(refused.headers.get('content-type')).toBe('application/problem+json');
      const { code, detail } = JSON.parse(refused.text);
      expect([code, detail]).toEqual(['too-large', expect.stringContaining(what.split(' ')[0] ?? '')]);
    });
  });

test('a rejected connection can be reused, although the body was not read', async () => {
  const { url } = await serveChat({ script: ['Hello.'] });
  const agent = new KeptConnections({ keepAlive: true, maxSockets: 1 });
  const body = JSON.stringify({ id: 'chat-1', messages: [assistant(answered(9_000))] });
  const statusOf = (headers: Record<string, string>, text: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headersOfPost = { 'content-type': 'application/json', ...headers };
      const sent = httpRequest(url, { method: 'POST', agent, headers: headersOfPost }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode));
      });
      sent.on('error', reject).end(text);
    });
  for (let round = 0; round < 5; round++) expect(await statusOf({}, body)).toBe(401);
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
  expect(await statusOf({ 'x-user': 'ada' }, JSON.stringify({ id: 'chat-1', messages: [message] }))).toBe(200);
  agent.destroy();
});

describe('the work grows with the size of the post', () => {
  /** The parts, and a count of their field reads. */
  function counted(parts: readonly Record<string, unknown>[]) {
    const count = { reads: 0 };
    const watched = parts.map(
      (part) =>
        new Proxy(part, {
          get(target, key) {
            count.reads += 1;
            return target[key as string];
          },
        }),
    );
    return { count, parts: watched };
  }
  const PARTS = 3_000;
  /** A generous limit on the cost of one part. */
  const PER_PART = 40;
  const card = (index: number) => ({
    type: 'data-request',
    id: `chat-1:q${index}`,
    data: { id: `chat-1:q${index}`, toolCallId: `c${index}` },
  });
  const shapes: readonly [string, readonly Record<string, unknown>[]][] = [
    ['answers to one call', answered(PARTS)],
    ['answers to many calls', answered(PARTS, (index) => `c${index}`)],
    [
      'answers and cards of many calls',
      [...answered(PARTS / 2, (index) => `c${index}`), ...Array.from({ length: PARTS / 2 }, (_, index) => card(index))],
    ],
  ];

  test.each(shapes)('reading %s', (_, shape) => {
    const { count, parts } = counted(shape);
    readPost({ id: 'chat-1', messages: [assistant(parts)] });
    expect(count.reads).toBeLessThan(PER_PART * parts.length);
  });

  test.each(shapes)('continuing a message of %s', (_, shape) => {
    const { count, parts } = counted(shape);
    const known = { id: 'm', role: 'assistant' as const, parts: parts as never };
    new ChatWriter({ messageId: 'm' } as never, { client: 6, approvals: 'native' }, known);
    expect(count.reads).toBeLessThan(PER_PART * parts.length);
  });

  test.each(shapes)('matching %s with as many pending questions', (_, shape) => {
    const { count, parts } = counted(shape);
    const read = readPost({ id: 'chat-1', messages: [assistant(parts)] });
    let cardReads = 0;
    const pending = new Map(
      Array.from({ length: PARTS }, (_, index) => {
        const part = { toolRequest: { name: 'a', ref: `c${index}`, input: {} }, metadata: {} };
        const kind = index % 2 === 0 ? 'doubt' : 'approval';
        const question = new Proxy({ part, kind, id: `q${index}`, request: { kind } } as Record<string, unknown>, {
          get(target, key) {
            cardReads += 1;
            return target[key as string];
          },
        });
        return [`chat-1:q${index}`, question as never];
      }),
    );
    postedDecisions(read, pending);
    canHaveSeen(read, pending);
    expect(count.reads).toBeLessThan(PER_PART * parts.length);
    expect(cardReads).toBeLessThan(PER_PART * PARTS);
  });
});

test('a client that posts ten thousand parts of its own message gets a response', async () => {
  const { url } = await serveChat({ script: ['Hello.', 'Again.'] });
  const client = createClient(6, { api: url, id: 'chat-1' });
  await client.say('Hi');
  const [user, last] = client.state.messages;
  const padded = { ...last, parts: [...last.parts, ...answered(9_000)] };
  expect((await post(url, { id: 'chat-1', messages: [user, padded] })).status).toBe(200);
});
