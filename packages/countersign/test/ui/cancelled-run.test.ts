// A chat whose run was cancelled while a question waited: nothing is pending, and the user can continue.
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { chatRoute } from 'countersign/ui';
import { expect, test } from 'vitest';
import { createClient } from './client.ts';

test.each(['refuse', 'cancel'] as const)(
  'the user continues in a chat that was cancelled: %s',
  async (whilePending) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Heard.' : { calls: [{ name: 'pay', ref: 'p', input: {} }] },
    );
    const ai = countersign({ model, store: memoryStore(), retry: false });
    const pay = ai.defineTool(
      { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
      () => 'paid',
    );
    const route = chatRoute(ai.defineAgent({ name: 'clerk', tools: [pay] }), { demo: true, client: 7, whilePending });
    const fetcher: typeof fetch = (input, init) => {
      const request = new Request(input, init);
      return request.method === 'POST' ? route.POST(request) : route.GET(request);
    };
    const client = createClient(7, { api: 'http://localhost/api/chat', id: 'chat-1', fetch: fetcher });
    await client.say('Pay.');
    await ai.runs.cancel('chat-1');
    await client.say('Never mind.');
    await ai.runs.settled();
    expect(client.text).toContain('Heard.');
    expect((await ai.runs.get('chat-1')).status).toBe('done');
  },
);
