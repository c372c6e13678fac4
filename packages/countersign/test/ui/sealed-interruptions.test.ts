// A sealed chat continues after a response that was cut off before its seal, and after a rejected message.
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { createClient } from './client.ts';
import { serveChat } from './server.ts';

const look = { calls: [{ name: 'look', ref: 'call_0', input: {} }] };

/** A client that stopped a response once its tool had run. */
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

test('the chat continues after a response that the user stopped behind a tool', async () => {
  const { client, model } = await stopped([], ['One.', 'Two.']);
  await client.say('Hello?');
  expect(client.text).toBe('One.');
  expect(heard(model)).toEqual(['Look.', 'Hello?']);
  await client.say('And now?');
  expect(client.text).toBe('Two.');
  expect(heard(model)).toEqual(['Look.', 'Hello?', 'And now?']);
});

test('a part of a response that was cut off does not answer a question with the same id', async () => {
  const ask = { calls: [{ name: 'ask', ref: 'call_0', input: { question: 'Who?' } }] };
  const { client, model } = await stopped([ask], ['One.']);
  await client.say('Hello?');
  expect(client.text).toBe('One.');
  const results = model.requests
    .at(-1)
    ?.messages.flatMap(({ content }) => content.filter((part) => 'toolResponse' in part));
  expect(results).toMatchObject([{ toolResponse: { name: 'ask' }, metadata: { outcome: 'cancelled' } }]);
});

test('a call in a response that was cut off cannot be decided', async () => {
  const { client, ledger } = await stopped([], ['One.']);
  await client.post();
  expect(String(client.chat.error)).toContain('bad-seal');
  expect(ledger).toEqual([]);
});

test.each([
  ['without a text', { text: '' }],
  ['with a file that cannot be fetched', { files: [{ type: 'file', mediaType: 'image/png', url: 'http://x.test/a' }] }],
])('a rejected message, %s, does not block the next one', async (_what, words) => {
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
