// Hooks of a chat route that fail: the client still gets a response, and no process ends.
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { chatRoute } from 'countersign/ui';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { get, post, serveChat } from './server.ts';

const PAY = { calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] };
const SAID = { id: 'chat-1', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Pay.' }] }] };

const broken = new Error('The hook is broken.');
const failing: readonly [string, () => any][] = [
  [
    'throws',
    () => {
      throw broken;
    },
  ],
  ['rejects', () => Promise.reject(broken)],
];

const ada = () => ({ id: 'ada' });

const unhandled: unknown[] = [];
const hear = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', hear));
afterEach(async () => {
  await new Promise(setImmediate);
  process.off('unhandledRejection', hear);
  vi.restoreAllMocks();
  expect(unhandled.splice(0)).toEqual([]);
});

describe.each(failing)('an onFault that %s', (_how, onFault) => {
  const mayRead = () => Promise.reject(new Error('The directory is down.'));

  test('does not affect the stream or rejections, and the console shows the fault', async () => {
    const told = vi.spyOn(console, 'error').mockReturnValue();
    const { url } = await serveChat({ script: [PAY, 'Paid.'], route: { onFault, mayRead, authorize: ada } });
    const said = await post(url, SAID);
    expect([said.status, said.text.endsWith('data: [DONE]\n\n')]).toEqual([200, true]);
    expect((await get(`${url}/chat-1`)).status).toBe(404);
    expect(told.mock.calls[0]?.[1]).toMatchObject({ message: 'The directory is down.' });
  });

  test('does not prevent the error response', async () => {
    vi.spyOn(console, 'error').mockReturnValue();
    const authorize = () => Promise.reject(new Error('The directory is down.'));
    const { url } = await serveChat({ script: [], route: { onFault, authorize } });
    expect((await post(url, SAID)).status).toBe(500);
  });
});

test.each<[string, () => any]>([...failing, ['says nothing', () => undefined], ['takes its time', async () => 'Oh.']])(
  'where onError %s, the browser gets the default text',
  async (_how, onError) => {
    const { url } = await serveChat({ script: [{ fail: { message: 'away' } }], route: { onError, authorize: ada } });
    const { text } = await post(url, SAID);
    expect(text).toContain(
      '"errorText":"The reply was interrupted (provider-failed). Nothing was lost or run twice. Try again."',
    );
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  },
);

test('a Response thrown by contextFor is a fault, not the response', async () => {
  const faults: unknown[] = [];
  const thrown = new Response('Go away.', { status: 418 });
  const contextFor = () => Promise.reject(thrown);
  const ai = countersign({ model: scriptedModel([]), store: memoryStore(), contextFor });
  const agent = ai.defineAgent({ name: 'teller' });
  const chat = chatRoute(agent, { demo: true, onFault: (error) => faults.push(error) });
  const headers = { 'content-type': 'application/json' };
  const say = () =>
    chat.POST(new Request('http://host/api/chat', { method: 'POST', headers, body: JSON.stringify(SAID) }));
  await (await say()).text();
  const again = await say();
  expect(again.status).toBe(500);
  expect(await again.json()).toMatchObject({ code: 'context-failed', detail: 'Something went wrong on the server.' });
  expect(faults).toMatchObject([{ code: 'context-failed', cause: thrown }]);
});
