// A message that waits until a running turn is over: the stream sends keep-alives meanwhile, then the reply.
import { UsageError } from 'countersign';
import { describe, expect, test, vi } from 'vitest';
import { waitInStream } from '../../src/ui/chats/wait-in-stream.ts';
import { eventually } from '../eventually.ts';
import { post, serveChat } from './server.ts';

const said = (id: string, text: string) => ({
  id: 'chat',
  trigger: 'submit-message',
  messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }],
});

test('a message sent while a tool runs for long is answered, and the stream sends keep-alives', async () => {
  const paid = Promise.withResolvers<void>();
  const { url, ai, ledger } = await serveChat({
    script: [{ calls: [{ name: 'transfer', input: { to: 'bob', amount: 5 } }] }, 'Paid.', 'Hello.'],
    route: { authorize: () => ({ id: 'ada' }), keepAliveMs: 50 },
    whilePaying: () => paid.promise,
  });
  const first = post(url, said('m1', 'Pay.'));
  await eventually(() => expect(ledger).toHaveLength(1));
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(said('m2', 'Hello?')),
  });
  expect(response.status).toBe(200);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain(': keep-alive');
  expect((await ai.runs.get('chat')).status).toBe('running');
  paid.resolve();
  let rest = '';
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) break;
    rest += value;
  }
  expect(rest).toContain('Hello.');
  expect(rest).toContain('[DONE]');
  await first;
  const users = (await ai.runs.get('chat')).messages.filter(({ role }) => role === 'user');
  expect(users.map(({ content }) => content)).toEqual([[{ text: 'Pay.' }], [{ text: 'Hello?' }]]);
  expect(ledger).toHaveLength(1);
});

test('a client that leaves while its message waits has sent nothing, and that is not a fault', async () => {
  const onFault = vi.fn();
  const paid = Promise.withResolvers<void>();
  const { url, ai, ledger } = await serveChat({
    script: [{ calls: [{ name: 'transfer', input: { to: 'bob', amount: 5 } }] }, 'Paid.'],
    route: { authorize: () => ({ id: 'ada' }), keepAliveMs: 50, onFault },
    whilePaying: () => paid.promise,
  });
  const first = post(url, said('m1', 'Pay.'));
  await eventually(() => expect(ledger).toHaveLength(1));
  const leaving = new AbortController();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(said('m2', 'Hello?')),
    signal: leaving.signal,
  });
  expect(response.status).toBe(200);
  leaving.abort();
  await response.text().catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 100));
  paid.resolve();
  await first;
  await ai.runs.settled();
  const users = (await ai.runs.get('chat')).messages.filter(({ role }) => role === 'user');
  expect(users.map(({ content }) => content)).toEqual([[{ text: 'Pay.' }]]);
  expect(onFault).not.toHaveBeenCalled();
});

describe('a rejected message', () => {
  const refused = () => new UsageError('not-allowed', { status: 403 }, 'ada may not speak here.');
  const options = () => ({
    patienceMs: 20,
    errorText: ({ code }: { readonly code: string }) => `No: ${code}`,
    signal: new AbortController().signal,
    onFault: vi.fn(),
  });
  const late = (error: Error) => new Promise<never>((_, reject) => setTimeout(() => reject(error), 60));

  test('rejected at once gets its own status', async () => {
    await expect(waitInStream(Promise.reject(refused()), options())).rejects.toThrow('ada may not speak here.');
  });

  test.each([
    ['by a rule, in its words', refused(), 'ada may not speak here.', 0],
    ['by a fault, without saying more than anybody may know', new Error('password=1234'), 'No: invariant', 1],
  ])('rejected later is reported in the stream, %s', async (_how, error, text, faults) => {
    const given = options();
    const chunks = [];
    for await (const chunk of await waitInStream(late(error), given)) chunks.push(chunk);
    expect(chunks).toEqual([{ type: 'error', errorText: text }]);
    expect(given.onFault).toHaveBeenCalledTimes(faults);
  });
});
