// A server is stopped and another starts on the same store: decisions, chats and streams continue.
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { expect, test } from 'vitest';
import { asking, begin, startServer } from '../server.ts';
import { freshPlaces } from './places.ts';

const opened = (place: string) =>
  place.startsWith('sqlite:') ? sqliteStore(place.slice('sqlite:'.length)) : postgresStore(place);

for (const [name, freshPlace] of await freshPlaces())
  test(`runs started on one server are decided, continued and followed on the next: ${name}`, async () => {
    const place = await freshPlace();
    const first = await startServer({ store: opened(place) });
    const headers = { authorization: `Bearer ${await first.tokenFor('ann')}` };
    const before = asking(first.url, headers);
    const run = await begin(before, first.ai, 'pay bob 500');
    const says = (text: string) => ({
      id: 'chat-1',
      messages: [{ id: text, role: 'user', parts: [{ type: 'text', text }] }],
    });
    await before('POST', '/api/v1/chat/teller', says('ask when?'));
    const approval = { decision: { type: 'approve' } };
    const { body: seen } = await before('GET', `/api/v1/runs/${run.id}/events`);
    await first.server.close();

    const next = await startServer({ store: opened(place) });
    const after = asking(next.url, headers);
    const following = after('GET', `/api/v1/runs/${run.id}/events?follow=1`, undefined, {
      'last-event-id': String(seen.items.length),
    });
    const [card] = run.requests;
    const decided = await after('POST', `/api/v1/requests/${card.id}/decide`, { ...approval, digest: card.digest });
    expect(decided).toMatchObject({ status: 200, body: { by: 'ann' } });
    const { body: followed } = await following;
    const seqs = [...followed.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
    expect(seqs).toEqual(seqs.map((_, index) => seen.items.length + 1 + index));
    expect(followed).toMatch(/decision-made[\s\S]*event: end/);
    expect([first.paid, next.paid]).toEqual([[], [{ to: 'bob', amount: 500 }]]);
    expect((await after('POST', `/api/v1/requests/${card.id}/decide`, approval)).body).toEqual(decided.body);
    const otherwise = await after('POST', `/api/v1/requests/${card.id}/decide`, { decision: { type: 'reject' } });
    expect(otherwise).toMatchObject({ status: 409, body: { code: 'already-decided' } });

    const [question] = (await after('GET', '/api/v1/requests?runId=chat-1')).body.items;
    await after('POST', `/api/v1/requests/${question.id}/decide`, { decision: { type: 'respond', output: 'now' } });
    await next.ai.runs.wait('chat-1', { until: 'end' });
    expect((await after('POST', '/api/v1/chat/teller', says('hello again'))).body).toContain('hello again');
    const { body: chat } = await after('GET', '/api/v1/chat/teller/chat-1');
    expect(JSON.stringify(chat)).toMatch(/when\?.*now.*Done\..*hello again/);
  }, 60_000);
