// The route used by the real client of the AI SDK 5, 6 and 7, over HTTP.
import { describe, expect, test } from 'vitest';
import { createClient } from './client.ts';
import { serveChat } from './server.ts';

const PAY = { text: 'Let me pay.', calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] };

for (const stored of [true, false])
  for (const version of [5, 6, 7] as const)
    describe(`ai ${version}, ${stored ? 'with a store' : 'sealed'}`, () => {
      const options = { ...(stored ? {} : { store: false as const }), route: { client: version } };

      test('text streams into one message', async () => {
        const { url } = await serveChat({ script: ['Hello there.'], ...options });
        const client = createClient(version, { api: url });
        await client.say('Hi');
        expect(client.chat.status).toBe('ready');
        expect(client.state.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
        expect(client.text).toBe('Hello there.');
      });

      test('addToolOutput answers a question, and the run continues in the same message', async () => {
        const { url, model, posts } = await serveChat({
          script: [{ calls: [{ name: 'ask', ref: 'q1', input: { question: 'Which?' } }] }, 'Thank you.'],
          ...options,
        });
        const client = createClient(version, { api: url, auto: true });
        await client.say('Ask me');
        expect(client.tools).toMatchObject([
          { type: 'tool-ask', state: 'input-available', input: { question: 'Which?' } },
        ]);
        expect(client.cards).toMatchObject([{ kind: 'question', status: 'pending', allows: ['respond', 'reject'] }]);
        const { id } = client.last;
        await client.chat.addToolOutput({ tool: 'ask', toolCallId: 'q1', output: 'the red one' });
        await ready(client);
        expect(client.last.id).toBe(id);
        expect(client.text).toBe('Thank you.');
        expect(client.state.messages).toHaveLength(2);
        expect(posts).toHaveLength(2);
        expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('the red one');
      });

      test('an invalid answer is shown on its card, and the question still waits', async () => {
        const { url, posts } = await serveChat({
          script: [{ calls: [{ name: 'ask', ref: 'q1', input: { question: 'Which?' } }] }, 'Thank you.'],
          ...options,
        });
        const client = createClient(version, { api: url, auto: true });
        await client.say('Ask me');
        await client.chat.addToolOutput({ tool: 'ask', toolCallId: 'q1', output: '' });
        await ready(client);
        expect(client.tools).toMatchObject([{ state: 'input-available' }]);
        expect(client.cards).toMatchObject([{ status: 'pending', problems: [{ path: [] }] }]);
        expect(posts).toHaveLength(2);
        await client.chat.addToolOutput({ tool: 'ask', toolCallId: 'q1', output: 'red' });
        await ready(client);
        expect(client.text).toBe('Thank you.');
      });

      test('an approval runs the tool once', async () => {
        const { url, ledger, posts } = await serveChat({ script: [PAY, 'Paid.'], ...options });
        const client = createClient(version, { api: url, auto: true });
        await client.say('Pay bob 500');
        expect(client.cards).toMatchObject([{ risk: 'high', labels: ['money'] }]);
        expect(client.cards[0].payload).toEqual({ message: 'Pay 500?' });
        expect(ledger).toEqual([]);
        await approve(client, version, true);
        expect(client.tools).toMatchObject([{ state: 'output-available', output: { receipt: 'bob:500' } }]);
        expect(client.text).toBe('Let me pay.|Paid.');
        expect(client.cards).toMatchObject([
          { status: 'decided', decision: { type: 'approve', by: 'ada', channel: 'chat' } },
        ]);
        expect(ledger).toEqual([{ to: 'bob', amount: 500 }]);
        expect(posts).toHaveLength(2);
      });

      test('an empty last reply ends the exchange for a client that posts automatically', async () => {
        const { url, posts } = await serveChat({ script: [PAY, '', 'Nobody hears this.'], ...options });
        const client = createClient(version, { api: url, auto: true });
        await client.say('Pay bob 500');
        await approve(client, version, true);
        expect(client.tools).toMatchObject([{ state: 'output-available' }]);
        expect(client.last.parts).toContainEqual({ type: 'data-end', id: 'end', data: { finishReason: 'stop' } });
        expect(posts).toHaveLength(2);
      });

      test('a rejection tells the model, and the tool does not run', async () => {
        const { url, ledger, model, posts } = await serveChat({ script: [PAY, 'Not paid.'], ...options });
        const client = createClient(version, { api: url, auto: true });
        await client.say('Pay bob 500');
        await approve(client, version, false);
        expect(client.tools).toMatchObject([{ state: version === 5 ? 'output-error' : 'output-denied' }]);
        expect(client.text).toBe('Let me pay.|Not paid.');
        expect(client.cards).toMatchObject([
          { status: 'decided', decision: { type: 'reject', by: 'ada', channel: 'chat' } },
        ]);
        expect(ledger).toEqual([]);
        expect(posts).toHaveLength(2);
        expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('It did not run');
      });

      test('the recipe says yes with addToolOutput', async () => {
        const { url, ledger } = await serveChat({
          script: [PAY, 'Paid.'],
          ...options,
          route: { client: version, approvals: 'output' },
        });
        const client = createClient(version, { api: url });
        await client.say('Pay bob 500');
        expect(client.tools).toMatchObject([{ state: 'input-available' }]);
        await client.chat.addToolOutput({ tool: 'transfer', toolCallId: 'c1', output: 'Yes, confirmed.' });
        await client.post();
        expect(client.tools).toMatchObject([{ state: 'output-available', output: { receipt: 'bob:500' } }]);
        expect(ledger).toHaveLength(1);
      });

      test('two cards are decided one after the other, in either order', async () => {
        const two = [
          { name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } },
          { name: 'transfer', ref: 'c2', input: { to: 'eve', amount: 600 } },
        ];
        const { url, ledger } = await serveChat({ script: [{ calls: two }, 'Done.'], ...options });
        const client = createClient(version, { api: url });
        await client.say('Pay both');
        const [, second] = client.cards;
        await client.post({
          decisions: [{ requestId: second.id, decision: { type: 'approve' }, digest: second.digest }],
        });
        expect(client.cards.map(({ status }) => status)).toEqual(['pending', 'decided']);
        expect(client.tools[1]).toMatchObject({ state: 'output-available', output: { receipt: 'eve:600' } });
        const [first] = client.cards;
        await client.post({
          decisions: [{ requestId: first.id, decision: { type: 'approve', edit: { to: 'bob', amount: 1 } } }],
        });
        expect(client.tools[0]).toMatchObject({ state: 'output-available', input: { to: 'bob', amount: 1 } });
        expect(client.text).toBe('Done.');
        expect(ledger).toEqual([
          { to: 'eve', amount: 600 },
          { to: 'bob', amount: 1 },
        ]);
      });

      test('an invalid edit names the field', async () => {
        const { url, ledger } = await serveChat({ script: [PAY, 'Paid.'], ...options });
        const client = createClient(version, { api: url });
        await client.say('Pay bob 500');
        const [card] = client.cards;
        await client.post({
          decisions: [{ requestId: card.id, decision: { type: 'approve', edit: { to: 'bob', amount: 5000 } } }],
        });
        expect(client.cards).toMatchObject([{ status: 'pending', problems: [{ path: ['amount'] }] }]);
        expect(ledger).toEqual([]);
      });

      test('a message instead of a decision withdraws the call, and the conversation continues', async () => {
        const { url, ledger, model } = await serveChat({ script: [PAY, 'As you like.', 'Yes?'], ...options });
        const client = createClient(version, { api: url });
        await client.say('Pay bob 500');
        await client.say('Never mind');
        expect(client.chat.status).toBe('ready');
        expect(client.text).toBe('As you like.');
        expect(client.state.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
        await client.say('Hello?');
        expect(client.text).toBe('Yes?');
        expect(ledger).toEqual([]);
        expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('was cancelled');
      });

      test('a falsy output reaches the browser', async () => {
        const { url } = await serveChat({ script: [{ calls: [{ name: 'look', ref: 'l1' }] }, 'Seen.'], ...options });
        const client = createClient(version, { api: url, auto: true });
        await client.say('Look');
        expect(client.tools).toMatchObject([{ state: 'output-available', output: 0 }]);
        expect(client.text).toBe('Seen.');
      });

      test('a failing model is an error, and a retry continues the run', async () => {
        const { url } = await serveChat({ script: [{ fail: { message: 'boom' } }, 'Here I am.'], ...options });
        const client = createClient(version, { api: url });
        await client.say('Hi');
        expect(client.chat.status).toBe('error');
        expect(client.chat.error.message).not.toContain('boom');
        await client.chat.regenerate();
        expect(client.chat.status).toBe('ready');
        expect(client.text).toBe('Here I am.');
      });

      test('regenerating replaces the last answer', async () => {
        const { url } = await serveChat({ script: ['One.', 'Two.'], ...options });
        const client = createClient(version, { api: url });
        await client.say('Say something');
        await client.chat.regenerate();
        expect(client.text).toBe('Two.');
        expect(client.state.messages).toHaveLength(2);
      });

      test('a question inside a sub-agent is decided at the root', async () => {
        const { url, ledger } = await serveChat({
          script: [
            { calls: [{ name: 'sub', ref: 's1', input: { prompt: 'pay' } }] },
            { calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] },
            'Inside: paid.',
            'All paid.',
          ],
          ...options,
        });
        const client = createClient(version, { api: url });
        await client.say('Pay');
        const [card] = client.cards;
        expect(card).toMatchObject({ toolCallId: 's1/c1', tool: 'transfer', status: 'pending' });
        expect(card.inputSchema).toMatchObject({ properties: { amount: {} } });
        await client.post({ decisions: [{ requestId: card.id, decision: { type: 'approve' } }] });
        expect(client.chat.status).toBe('ready');
        expect(client.text).toBe('All paid.');
        expect(ledger).toHaveLength(1);
        expect(client.tools.every((part) => part.state.startsWith('output'))).toBe(true);
      });
    });

async function approve(client: ReturnType<typeof createClient>, version: number, yes: boolean): Promise<void> {
  if (version === 5) {
    const output = yes ? 'Yes, confirmed.' : 'No, denied.';
    await client.chat.addToolOutput({ tool: 'transfer', toolCallId: 'c1', output });
  } else {
    const [part] = client.tools;
    expect(part.state).toBe('approval-requested');
    await client.chat.addToolApprovalResponse({ id: part.approval.id, approved: yes });
  }
  await ready(client);
}

/** Waits until the client, which posts shortly after a decision, has nothing more to post. */
async function ready({ chat }: ReturnType<typeof createClient>): Promise<void> {
  for (let quiet = 0; quiet < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    quiet = chat.status === 'ready' || chat.status === 'error' ? quiet + 1 : 0;
  }
}
