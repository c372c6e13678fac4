// A sealed chat goes on after an answer that was cut off before its seal, and after words that were refused.
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { createClient } from './client.ts';
import { serveChat } from './server.ts';

const look = { calls: [{ name: 'look', ref: 'call_0', input: {} }] };

/** A client that stopped an answer once its tool had run. */
async function stopped(before: readonly object[], script: readonly (object | string)[], route: object = {}) {
  const server = await serveChat({
    script: [...before, look, { stall: true }, ...script] as never,
    store: false,
    route,
  });
  const client = createClient(7, { api: server.url, id: 'chat-1' });
  for (const _ of before) await client.say('First.');
  const saying = client.say('Look.');
  await eventually(() => expect(client.tools).toMatchObject([{ state: 'output-available' }]));
  await client.chat.stop();
  await saying;
  return { ...server, client };
}

const heard = ({ requests }: { readonly requests: readonly { readonly messages: readonly any[] }[] }): unknown =>
  requests
    .at(-1)
    ?.messages.filter(({ role }) => role === 'user')
    .map(({ content }) => content[0].text);

test('after an answer that the user stopped behind a tool, the chat goes on', async () => {
  const { client, model } = await stopped([], ['One.', 'Two.']);
  await client.say('Hello?');
  expect(client.text).toBe('One.');
  expect(heard(model)).toEqual(['Look.', 'Hello?']);
  await client.say('And now?');
  expect(client.text).toBe('Two.');
  expect(heard(model)).toEqual(['Look.', 'Hello?', 'And now?']);
});

test('what stands in an answer that was cut off answers no question of the same id', async () => {
  const ask = { calls: [{ name: 'ask', ref: 'call_0', input: { question: 'Who?' } }] };
  const { client, model } = await stopped([ask], ['One.']);
  await client.say('Hello?');
  expect(client.text).toBe('One.');
  const results = model.requests
    .at(-1)
    ?.messages.flatMap(({ content }) => content.filter((part) => 'toolResponse' in part));
  expect(results).toMatchObject([{ toolResponse: { name: 'ask' }, metadata: { outcome: 'cancelled' } }]);
});

test('an answer that was cut off cannot be decided in', async () => {
  const { client, ledger } = await stopped([], ['One.']);
  await client.post();
  expect(String(client.chat.error)).toContain('bad-seal');
  expect(ledger).toEqual([]);
});

test.each([
  ['without a text', { text: '' }],
  ['with a file that nobody fetches', { files: [{ type: 'file', mediaType: 'image/png', url: 'http://x.test/a' }] }],
])('words that were refused, %s, do not stand in the way of the next', async (_what, words) => {
  const { url, model } = await serveChat({ script: ['One.', 'Two.'], store: false });
  const client = createClient(7, { api: url, id: 'chat-1' });
  await client.chat.sendMessage(words);
  expect(String(client.chat.error)).toContain('invalid-request');
  await client.say('Hello?');
  expect(client.text).toBe('One.');
  expect(heard(model)).toEqual(['Hello?']);
  await client.say('And now?');
  expect(client.text).toBe('Two.');
});
