// Reload, a second tab, a lost connection: the current message again, and updates on decisions made elsewhere.
import { countersign, memoryStore } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { chatRoute } from 'countersign/ui';
import { describe, expect, test } from 'vitest';
import { createClient } from './client.ts';
import { get, post, serveChat, types } from './server.ts';

const PAY = { text: 'Let me pay.', calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] };

for (const version of [5, 6, 7] as const)
  describe(`ai ${version}`, () => {
    const route = { client: version };

    async function reload(url: string, id: string) {
      const { text } = await get(`${url}/${id}`);
      return createClient(version, { api: url, id, messages: JSON.parse(text).messages });
    }

    test('a chat loaded while a card waits shows the card and can be decided', async () => {
      const { url, ledger } = await serveChat({ script: [PAY, 'Paid.'], route });
      const first = createClient(version, { api: url, id: 'chat-1' });
      await first.say('Pay bob 500');
      const second = await reload(url, 'chat-1');
      expect(withoutState(second.state.messages)).toEqual(withoutState(first.state.messages));
      await second.post({ decisions: [{ requestId: second.cards[0].id, decision: { type: 'approve' } }] });
      expect(second.text).toBe('Let me pay.|Paid.');
      expect(ledger).toHaveLength(1);
    });

    test('a loaded chat shows the same as the stream once the run is done', async () => {
      const { url } = await serveChat({ script: [PAY, 'Paid.', 'Bye.'], route });
      const first = createClient(version, { api: url, id: 'chat-1' });
      await first.say('Pay bob 500');
      await first.post({ decisions: [{ requestId: first.cards[0].id, decision: { type: 'approve' } }] });
      await first.say('Thanks');
      const second = await reload(url, 'chat-1');
      const shape = (messages: any[]) =>
        messages.map(({ id, parts }) => [id, parts.map((part: any) => [part.type, part.text, part.output])]);
      expect(shape(second.state.messages)).toEqual(shape(first.state.messages));
    });

    test('a second tab receives a decision by resuming', async () => {
      const { url } = await serveChat({ script: [PAY, 'Paid.'], route });
      const first = createClient(version, { api: url, id: 'chat-1' });
      await first.say('Pay bob 500');
      const second = await reload(url, 'chat-1');
      await first.post({ decisions: [{ requestId: first.cards[0].id, decision: { type: 'approve' } }] });
      await second.chat.resumeStream();
      expect(second.chat.status).toBe('ready');
      expect(second.tools.at(-1)).toMatchObject({ state: 'output-available', output: { receipt: 'bob:500' } });
      expect(second.text).toBe('Let me pay.|Paid.');
    });

    test('resuming while a card waits ends at once, with the card', async () => {
      const { url } = await serveChat({ script: [PAY], route });
      const first = createClient(version, { api: url, id: 'chat-1' });
      await first.say('Pay bob 500');
      const second = await reload(url, 'chat-1');
      await second.chat.resumeStream();
      expect(second.chat.status).toBe('ready');
      expect(second.cards.at(-1)).toMatchObject({ status: 'pending' });
    });

    test('a connection that breaks mid-answer loses nothing: posting again brings the rest', async () => {
      const { url, ledger } = await serveChat({ script: [PAY, 'It has all been paid now, thank you.'], route });
      let cut = false;
      const cutting: typeof fetch = async (input, init) => {
        const response = await fetch(input, init);
        if (!cut) return response;
        cut = false;
        const text = await response.text();
        const part = text.slice(0, text.indexOf('been') + 40);
        return new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(new TextEncoder().encode(part.slice(0, part.lastIndexOf('\n\n') + 2)));
              controller.error(new TypeError('terminated'));
            },
          }),
          { headers: response.headers },
        );
      };
      const client = createClient(version, { api: url, id: 'chat-1', fetch: cutting });
      await client.say('Pay bob 500');
      cut = true;
      await client.post({ decisions: [{ requestId: client.cards[0].id, decision: { type: 'approve' } }] });
      expect(client.chat.status).toBe('error');
      await client.post();
      expect(client.chat.status).toBe('ready');
      const said = client.last.parts.filter((part: any) => part.type === 'text').map((part: any) => part.text);
      expect(said.join('')).toBe('Let me pay.It has all been paid now, thank you.');
      expect(ledger).toHaveLength(1);
    });
  });

test('a chat that does not exist has nothing to resume', async () => {
  const { url } = await serveChat({ script: [] });
  expect((await get(`${url}/nothing/stream`)).status).toBe(204);
  expect((await get(`${url}/nothing`)).status).toBe(404);
});

test('a client that joins during a reply receives it from the beginning', async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { url, ai } = await serveChat({
    script: async (_request, index) => {
      if (index === 0) return { calls: [{ name: 'look', ref: 'l1' }] };
      await held;
      return 'Seen it all.';
    },
  });
  const first = post(url, {
    id: 'chat-1',
    messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Look' }] }],
  });
  await expect
    .poll(() =>
      internalsOf(ai.runs)
        .find('chat-1')
        .then((found) => found?.run.version),
    )
    .toBeGreaterThan(2);
  const joined = get(`${url}/chat-1/stream`);
  go();
  const [one, two] = await Promise.all([first, joined]);
  const text = (chunks: readonly any[]) =>
    chunks
      .filter(({ type }) => type === 'text-delta')
      .map(({ delta }) => delta)
      .join('');
  expect(text(one.chunks)).toBe('Seen it all.');
  expect(text(two.chunks)).toBe('Seen it all.');
  expect(types(one.chunks).filter((type) => type === 'text-delta').length).toBeGreaterThan(1);
});

test('a client that returns during a reply receives it from the beginning', async () => {
  const words = ['Do ', 'not ', 'pay ', 'bob.'];
  const mayGoOn = words.map(() => Promise.withResolvers<void>());
  const model = {
    name: 'slow',
    async reply(_request: unknown, emit?: (chunk: { type: 'text'; text: string }) => void) {
      for (const [index, text] of words.entries()) {
        emit?.({ type: 'text', text });
        await mayGoOn[index]?.promise;
      }
      return { content: [{ text: words.join('') }], finishReason: 'stop' as const };
    },
  };
  const ai = countersign({ model, store: memoryStore() });
  const { GET, POST } = chatRoute(ai.defineAgent({ name: 'adviser' }), { authorize: () => ({ id: 'ada' }) });
  const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Shall I?' }] }];
  const asked = await POST(
    new Request('http://localhost/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'chat-1', messages }),
    }),
  );
  // The only listener leaves, and the model continues without one.
  const reader = asked.body?.pipeThrough(new TextDecoderStream()).getReader();
  let heard = '';
  while (!heard.includes('Do ')) heard += (await reader?.read())?.value ?? '';
  await reader?.cancel();
  mayGoOn[0]?.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  const back = await GET(new Request('http://localhost/chat/chat-1/stream'));
  for (const { resolve } of mayGoOn) resolve();
  const deltas = [...(await back.text()).matchAll(/"delta":"([^"]*)"/g)].map((match) => match[1]);
  expect(deltas.join('')).toBe(words.join(''));
  await ai.runs.settled();
});

test('a watch reports the state of the chat at once and on every pause or end', async () => {
  const { url } = await serveChat({ script: [PAY, 'Paid.'] });
  const client = createClient(6, { api: url, id: 'chat-1' });
  await client.say('Pay bob 500');
  const left = new AbortController();
  const response = await fetch(`${url}/chat-1/watch`, { headers: { 'x-user': 'ada' }, signal: left.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const said: { readonly status: string }[] = [];
  const next = async () => {
    while (said.length === 0)
      for (const line of ((await reader?.read())?.value ?? '').split('\n\n'))
        if (line.startsWith('data: ')) said.push(JSON.parse(line.slice('data: '.length)));
    return said.shift();
  };
  const { id } = client.cards[0];
  expect(await next()).toMatchObject({ status: 'waiting', pending: [id], messageId: client.last.id });
  await client.post({ decisions: [{ requestId: id, decision: { type: 'approve' } }] });
  // It may have been decided and have ended before the watch looked.
  let last = await next();
  if (last?.status === 'running') last = await next();
  expect(last).toMatchObject({ status: 'done', pending: [], messageId: client.last.id });
  left.abort();
});

test('a watch reports a decision of someone else while the tool still runs', async () => {
  const answer = Promise.withResolvers<void>();
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, 'Paid.']);
  const ai = countersign({ model, store: memoryStore() });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, async () => answer.promise);
  const agent = ai.defineAgent({ name: 'clerk', tools: [pay] });
  await agent.start('Pay', { runId: 'chat-1', by: 'ada' });
  await ai.runs.settled();
  const { GET } = chatRoute(agent, { authorize: () => ({ id: 'ada' }) });
  const response = await GET(new Request('http://localhost/chat/chat-1/watch'));
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const [id = ''] = (await ai.runs.get('chat-1')).pending;
  expect((await reader?.read())?.value).toContain(id);
  await ai.runs.decide(id, 'approve', { by: 'bob' });
  expect((await reader?.read())?.value).toContain('"status":"running"');
  answer.resolve();
  expect((await reader?.read())?.value).toContain('"status":"done"');
  await reader?.cancel();
});

test('a watch is released when its client leaves, even if only the stream reports it', async () => {
  const real = memoryStore();
  let watching = 0;
  const watch: Store['watch'] = (changed) => {
    watching += 1;
    const stop = real.watch(changed);
    return () => {
      watching -= 1;
      stop();
    };
  };
  const store = new Proxy(real, {
    get: (target, name) => {
      const value = name === 'watch' ? watch : Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const ai = countersign({ model: scriptedModel(['Hello.']), store });
  const agent = ai.defineAgent({ name: 'greeter' });
  await agent.start('Hi', { runId: 'chat-1', by: 'ada' });
  await ai.runs.wait('chat-1', { until: 'end' });
  const { GET } = chatRoute(agent, { authorize: () => ({ id: 'ada' }) });
  // This request is never aborted.
  const response = await GET(new Request('http://localhost/chat/chat-1/watch'));
  const reader = response.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"status":"done"');
  expect(watching).toBe(1);
  // The read is pending when its client leaves.
  const more = reader?.read();
  await new Promise((resolve) => setImmediate(resolve));
  await reader?.cancel();
  expect((await more)?.done).toBe(true);
  expect(watching).toBe(0);
});

test('a stream ends at once when its request is aborted, even while the model thinks', async () => {
  const mayReply = Promise.withResolvers<void>();
  const model = {
    name: 'slow',
    async reply() {
      await mayReply.promise;
      return { content: [{ text: 'Hello.' }], finishReason: 'stop' as const };
    },
  };
  const ai = countersign({ model, store: memoryStore() });
  const agent = ai.defineAgent({ name: 'greeter' });
  await agent.start('Hi', { runId: 'chat-1', by: 'ada' });
  const { GET } = chatRoute(agent, { authorize: () => ({ id: 'ada' }) });
  const over = new AbortController();
  const url = 'http://localhost/chat/chat-1/stream';
  const [told, left] = await Promise.all([GET(new Request(url, { signal: over.signal })), GET(new Request(url))]);
  const readers = [told, left].map((response) => response.body?.getReader());
  for (const reader of readers) expect((await reader?.read())?.done).toBe(false);
  // Both reads are pending.
  const more = readers.map((reader) => reader?.read());
  await new Promise((resolve) => setImmediate(resolve));
  over.abort();
  expect(new TextDecoder().decode((await more[0])?.value)).toBe('data: [DONE]\n\n');
  await readers[1]?.cancel();
  expect((await more[1])?.done).toBe(true);
  mayReply.resolve();
  await ai.runs.settled();
});

test('the same message posted again is recorded once', async () => {
  const { url, ai } = await serveChat({ script: () => 'Hello.' });
  const body = { id: 'chat-1', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };
  const [one, two] = await Promise.all([post(url, body), post(url, body)]);
  const three = await post(url, body);
  for (const { text } of [one, two, three]) expect(text).toContain('Hello.');
  // A second start may have called the model before it lost; nothing of that is recorded.
  const { events = [] } = (await internalsOf(ai.runs).find('chat-1')) ?? {};
  expect(events.map(({ type }) => type)).toEqual(['user-spoke', 'model-replied']);
});

test('an approval and a message in one post: the tool runs, then the model receives the message', async () => {
  const { url, ledger, model } = await serveChat({ script: [PAY, 'Paid.', 'You are welcome.'] });
  const client = createClient(6, { api: url, id: 'chat-1' });
  await client.say('Pay bob 500');
  const [part] = client.tools;
  const parts = client.last.parts.map((each: any) =>
    each === part ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } } : each,
  );
  const said = { id: 'u2', role: 'user', parts: [{ type: 'text', text: 'Thanks' }] };
  const answer = await post(url, {
    id: 'chat-1',
    messages: [client.state.messages[0], { ...client.last, parts }, said],
  });
  expect(answer.text).toContain('welcome');
  expect(ledger).toHaveLength(1);
  expect(model.requests).toHaveLength(3);
});

for (const version of [5, 6, 7] as const)
  test(`the turn limit ends the exchange of posts: ai ${version}`, async () => {
    const { url, posts } = await serveChat({
      script: () => ({ calls: [{ name: 'look' }] }),
      route: { client: version },
    });
    const client = createClient(version, { api: url, auto: true });
    await client.say('Look and look');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(client.chat.status).toBe('ready');
    expect(posts).toHaveLength(1);
  });

function withoutState(messages: any[]): any {
  return JSON.parse(JSON.stringify(messages), (key, value) =>
    key === 'state' && (value === 'done' || value === 'streaming') ? undefined : value,
  );
}
