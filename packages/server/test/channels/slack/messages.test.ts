// Messages in Slack: what they show, what they leave out, how they change, and what Slack's errors mean.

import type { Countersign } from 'countersign';
import { z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { startServer } from '../../server.ts';
import { noticedRequest } from '../notice.ts';
import { buttonsOf, NEVER, openSlack, type Receipt, send, shownRequest } from './local-slack.ts';

/** A request with this input. */
const asked = (input: Record<string, string>, options: object = {}) =>
  noticedRequest(
    'go',
    (ai: Countersign) => {
      const write = ai.defineTool(
        {
          name: 'write',
          description: 'Writes.',
          inputSchema: z.record(z.string(), z.string()),
          needsApproval: true,
          ...options,
        },
        async () => 'done',
      );
      ai.defineAgent({ name: 'teller', tools: [write] });
    },
    scriptedModel([{ calls: [{ name: 'write', input }] }, 'Done.']),
  );

const idsOf = (message: unknown) => buttonsOf(message).map(({ action_id }) => action_id);

test('the message shows the title, the facts and the whole input', async () => {
  const { local, receipt, channel } = await shownRequest('pay bob 950');
  expect([channel.audience, receipt.channel]).toEqual(['shared', 'C1']);
  const message = local.messageAt(receipt);
  expect(message).toMatchObject({ text: 'Waiting for approval: Pay 950 to bob', unfurl_links: false });
  expect(message.blocks[0]).toEqual({
    type: 'header',
    text: { type: 'plain_text', text: 'Pay 950 to bob', emoji: false },
  });
  const texts = JSON.stringify(message.blocks);
  for (const text of ['*Risk*\\nhigh', '*Effect*\\nCannot be undone', '*Labels*\\nmoney', '*Started by*\\nann'])
    expect(texts).toContain(text);
  expect(texts).toContain('*Input*\\n```\\nto      bob\\namount  950\\n```');
  expect(buttonsOf(message).find(({ action_id }) => action_id === 'approve').confirm.text.text).toContain('exactly');
});

test('the deadline is in the time zone of the reader', async () => {
  const { notice } = await asked({ a: 'b' });
  const local = await openSlack();
  const at = Date.UTC(2026, 10, 19, 9);
  const sent = await local.channel({ channel: 'C1' }).deliver(await notice('opened', { expiresAt: at }), NEVER);
  const texts = JSON.stringify(local.messageAt(sent as never).blocks);
  expect(texts).toContain(`<!date^${at / 1_000}^{date_short_pretty} {time}|2026-11-19 09:00:00 UTC>`);
});

test('texts of the model mention nobody, link nowhere and cannot leave their place', async () => {
  const evil = '<!channel> <@U1> <https://evil.example|safe> &lt;x *bold* :smile:';
  const { notice } = await asked({ to: evil, fence: '``` <!here> ```' }, { title: () => `${evil}\u202Ereversed` });
  const local = await openSlack();
  const sent = await local.channel({ channel: 'C1' }).deliver(await notice(), NEVER);
  const message = local.messageAt(sent as never);
  const texts = JSON.stringify([message.text, message.blocks.map(({ elements: _elements, ...block }: any) => block)]);
  expect(texts.match(/<(?!!date)[^>]*>/g)).toBeNull();
  expect(texts).toContain('&lt;!channel&gt; &lt;@U1&gt; &lt;https://evil.example|safe&gt; &amp;lt;x');
  expect(texts).toContain('⟦U+202E⟧reversed');
  const shown = message.blocks.find(({ text }: any) => text?.text.includes('&lt;!here&gt;'));
  expect(shown.text.type).toBe('plain_text');
});

test('a request that does not fit has a link and no buttons, and nothing of it is shortened', async () => {
  const local = await openSlack();
  const channel = local.channel({ channel: 'C1' });
  for (const input of [{ text: 'x'.repeat(3_000) }, { text: '<'.repeat(900) }]) {
    const { notice } = await asked(input);
    const message = local.messageAt((await channel.deliver(await notice(), NEVER)) as never);
    expect(idsOf(message)).toEqual(['open']);
    const texts = JSON.stringify(message);
    expect(texts).toContain('Too large to show here');
    expect(texts).not.toMatch(/xxx|&lt;&lt;/);
  }
  const { notice } = await asked({ a: 'b' }, { title: () => 'long '.repeat(35).trim() });
  const long = local.messageAt((await channel.deliver(await notice(), NEVER)) as never);
  expect(long.blocks[0].type).toBe('section');
  expect(idsOf(long)).toContain('approve');
});

test('a message that Slack finds too long is posted as a link', async () => {
  const { notice } = await asked({ a: 'secret' });
  const local = await openSlack();
  local.refuse('chat.postMessage', { error: 'msg_blocks_too_long' });
  const sent = await local.channel({ channel: 'C1' }).deliver(await notice(), NEVER);
  expect(idsOf(local.messageAt(sent as never))).toEqual(['open']);
});

test('title-only notices, passkeys and doubts have a link only', async () => {
  const { notice, card } = await asked({ a: 'secret' });
  const local = await openSlack();
  const channel = local.channel({ channel: 'C1' });
  const post = async (changes: object) =>
    local.messageAt((await channel.deliver(await notice('opened', changes), NEVER)) as never);
  const bare = await post({ card: null });
  expect(idsOf(bare)).toEqual(['open']);
  expect(JSON.stringify(bare)).not.toContain('secret');
  const signed = await post({ card: { ...(await card()), policies: [{ signed: 'passkey' }] } });
  expect(idsOf(signed)).toEqual(['open']);
  expect(JSON.stringify(signed)).toContain('secret');
  expect(buttonsOf(await post({ card: null, links: null }))).toEqual([]);
});

test('a request that is decided anywhere loses its buttons', async () => {
  const { local, channel, receipt, ai, id, notice } = await shownRequest('pay bob 950');
  await ai.runs.decide(id, { type: 'reject', reason: 'No <money>.' }, { by: 'ben', channel: 'inbox' });
  await channel.update?.(await notice('decided'), receipt as never, NEVER);
  const message = local.messageAt(receipt);
  expect(idsOf(message)).toEqual(['open']);
  const texts = JSON.stringify(message);
  expect(texts).toContain('Rejected by ben');
  expect(texts).toContain('Reason: No &lt;money&gt;.');
  for (const type of ['expired', 'withdrawn'] as const) {
    await channel.update?.(await notice(type), receipt as never, NEVER);
    expect(idsOf(local.messageAt(receipt))).toEqual(['open']);
  }
  await channel.update?.(await notice('decided'), { channel: 'C1', ts: 'gone' }, NEVER);
});

test('several requests are one message with a link to each, and later changes of one are not lost', async () => {
  const { local, channel, notice } = await shownRequest('pay bob 950');
  const first = await notice('opened', { title: 'Pay <b>ob</b> | me' });
  await channel.digest?.([first, ...Array.from({ length: 30 }, () => first)], NEVER);
  const { body } = local.calls.at(-1) as { body: any };
  expect(body.text).toBe('News about 31 requests');
  expect(body.blocks).toHaveLength(22);
  expect(body.blocks[1].text.text).toBe(
    `Waiting for approval: <${first.links?.request}|Pay &lt;b&gt;ob&lt;/b&gt; | me>`,
  );
  expect(body.blocks[21].text.text).toBe('And 11 more, in the inbox.');
});

test('reminders are replies to the message, which keeps the buttons', async () => {
  const { local, channel, receipt, notice } = await shownRequest('pay bob 950');
  const kept = await channel.deliver(await notice('reminded'), { ...NEVER, sent: receipt as never });
  expect(kept).toEqual(receipt);
  const { body } = local.calls.at(-1) as { body: any };
  expect(body).toMatchObject({
    thread_ts: receipt.ts,
    reply_broadcast: true,
    text: 'Reminder: still waiting: Pay 950 to bob',
  });
  expect(buttonsOf(body)).toEqual([]);
  local.refuse('chat.postMessage', { error: 'thread_not_found' });
  const again = await channel.deliver(await notice('reminded'), { ...NEVER, sent: receipt as never });
  expect(idsOf(local.messageAt(again as never))).toContain('approve');
});

test('without a channel, each person gets a direct message', async () => {
  const { notice } = await asked({ a: 'b' });
  const local = await openSlack();
  const channel = local.channel();
  expect(channel.audience).toBe('person');
  const sent = (await channel.deliver(await notice(), NEVER)) as unknown as Receipt;
  expect(sent.channel).toBe('DU1');
  await channel.update?.(await notice('withdrawn'), sent as never, NEVER);
  const to = [{ person: 'eve', why: 'decider', contact: {} }] as const;
  await expect(channel.deliver(await notice('opened', { to }), NEVER)).rejects.toMatchObject({
    message: expect.stringContaining('eve has no Slack id'),
    retryable: false,
  });
});

test('errors of Slack say whether another attempt can help, and when', async () => {
  const { notice } = await asked({ a: 'b' });
  const local = await openSlack();
  const channel = local.channel({ channel: 'C1' });
  const opened = await notice();
  const table = [
    [
      { status: 429, retryAfter: '30' },
      { retryable: true, retryAfterMs: 30_000 },
    ],
    [
      { error: 'ratelimited', retryAfter: '7' },
      { retryable: true, retryAfterMs: 7_000 },
    ],
    [{ status: 503 }, { retryable: true, message: 'Slack answered chat.postMessage with 503.' }],
    [{ error: 'internal_error' }, { retryable: true }],
    [{ error: 'channel_not_found' }, { retryable: false, message: expect.stringContaining('invite the app') }],
    [{ error: 'not_in_channel' }, { retryable: false }],
    [{ error: 'account_inactive' }, { retryable: false }],
  ] as const;
  for (const [refusal, expected] of table) {
    local.refuse('chat.postMessage', refusal);
    await expect(channel.deliver(opened, NEVER)).rejects.toMatchObject(expected);
  }
  const wrong = local.channel({ channel: 'C1', token: 'xoxb-wrong' });
  await expect(wrong.deliver(opened, NEVER)).rejects.toMatchObject({ retryable: false });
  const failed = await wrong.check?.().catch((error: Error) => error.message);
  expect(failed).toContain('invalid_auth');
  expect(failed).not.toContain('xoxb-wrong');
  const nowhere = local.channel({ channel: 'C1', api: 'http://127.0.0.1:9/api' });
  await expect(nowhere.deliver(opened, NEVER)).rejects.toThrow('Slack could not be reached: ');
});

test('the set-up can be checked and tried', async () => {
  const local = await openSlack();
  const channel = local.channel({ channel: 'C1' });
  await channel.check?.();
  expect(await channel.sample?.('U1')).toBe('Posted a sample to U1 in Slack.');
  expect(buttonsOf([...local.messages.values()][0])).toEqual([]);
  expect(() => local.channel({ channel: '#general' })).toThrow('must be the id of a channel');
  expect(() => local.channel({ signingSecret: [] })).toThrow('`signingSecret` of slack');
});

test('the outbox posts a request, and changes its message after a press', async () => {
  const local = await openSlack();
  const channel = local.channel({ channel: 'C1', people: () => 'ann' });
  const { ai, url } = await startServer({ channels: [channel], publicUrl: 'https://approvals.example.com' });
  const run = await ai.agents.get('teller')?.start('pay bob 950', { by: 'ann' });
  await ai.runs.wait(run?.id ?? '');
  const posted = () => [...local.messages.keys()][0]?.split('|') ?? [];
  await expect.poll(posted, { timeout: 10_000 }).toHaveLength(2);
  const [at = '', ts = ''] = posted();
  const message = () => local.messageAt({ channel: at, ts });
  expect(buttonsOf(message()).at(-1).url).toMatch(/^https:\/\/approvals\.example\.com\/requests\//);
  await send(url, local.pressOf({ channel: at, ts }, 'approve', 'U1'));
  await expect.poll(() => idsOf(message()), { timeout: 10_000 }).toEqual(['open']);
  expect(JSON.stringify(message())).toContain('Approved by ann');
  expect(local.messages.size).toBe(1);
});
