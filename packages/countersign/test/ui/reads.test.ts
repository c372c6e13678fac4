// How often a post on a stored chat reads the whole run from the store.
import { memoryStore } from 'countersign';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { createClient } from './client.ts';
import { serveChat } from './server.ts';

const PAY = { calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] };

/** A chat, and how many whole runs were read since `begin`. */
async function counted(script: Parameters<typeof serveChat>[0]['script']) {
  const store = memoryStore();
  let wholeReads = 0;
  const counting = changedStore(store, {
    read: (runId, options) => {
      if ((options?.after ?? 0) === 0) wholeReads += 1;
      return store.read(runId, options);
    },
  });
  const { url, ledger } = await serveChat({ script, store: counting });
  const client = createClient(6, { api: url, id: 'chat-1' });
  return {
    client,
    ledger,
    async readsOf(post: () => Promise<unknown>): Promise<number> {
      wholeReads = 0;
      await post();
      return wholeReads;
    },
  };
}

test('a message reads the run once', async () => {
  const { client, readsOf } = await counted(['Hello.', 'Again.']);
  await client.say('Hi');
  expect(await readsOf(() => client.say('Once more'))).toBe(1);
  expect(client.text).toBe('Again.');
});

test('an approval reads the run once', async () => {
  const { client, ledger, readsOf } = await counted([PAY, 'Paid.']);
  await client.say('Pay bob 500');
  const [card] = client.cards;
  const decisions = [{ requestId: card.id, decision: { type: 'approve' } }];
  expect(await readsOf(() => client.post({ decisions }))).toBe(1);
  expect(ledger).toHaveLength(1);
});
