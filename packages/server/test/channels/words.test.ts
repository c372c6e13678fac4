// Mails, Slack and webhooks say the same as the card: labels, money, dates, names, and the reason of the model.
import { type Channel, money, type Notice, tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { mailWriter } from '../../src/channels/mail/write-mail.ts';
import { messageOf } from '../../src/channels/slack/message.ts';
import { webhookEvent } from '../../src/channels/webhook/event.ts';
import { startServer } from '../server.ts';

const input = { amount: 12_950.5, currency: 'EUR', due: '2026-11-27' };
const agentReason = 'The invoice is due.';

/** The notice that a channel of a real server gets about a payment. */
async function noticed(options: object = {}): Promise<Notice> {
  const contacts: Record<string, object> = {
    ann: { name: 'Ann Lee', mail: 'ann@example.com', locale: 'de-DE', timeZone: 'Europe/Berlin' },
    carl: { name: 'Carl Sagan' },
  };
  const arrived = Promise.withResolvers<Notice>();
  const channel: Channel = { name: 'post', audience: 'person', deliver: async (notice) => arrived.resolve(notice) };
  const model = scriptedModel([{ calls: [{ name: 'pay', input: { ...input, reason: agentReason } }] }, 'Done.']);
  const people = { contactOf: (id: string) => contacts[id] };
  const { ai } = await startServer({ instance: { model, people }, channels: [channel], publicUrl: 'http://127.0.0.1' });
  const pay = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({
        amount: z.number().meta({ title: 'Amount', ...money({ currencyField: 'currency' }) }),
        currency: z.string(),
        due: z.iso.date().describe('Pay until'),
      }),
      reason: true,
      needsApproval: { policy: { deciders: { people: ['ann'] } } },
      ...options,
    },
    () => 'paid',
  );
  await ai.defineAgent({ name: 'treasurer', tools: [pay] }).start('go', { by: 'carl' });
  return arrived.promise;
}

test('a mail has the labels, and money, dates and names as its reader knows them', async () => {
  const notice = await noticed();
  const { text, html } = mailWriter({ from: 'a@example.com' }, 'mail').about(notice);
  const plain = String(text)
    .replaceAll(/[\u2066-\u2069]/g, '')
    .replaceAll('\u00a0', ' ');
  for (const line of ['Amount: 12.950,50 €', 'Pay until: Fr., 27. Nov. 2026', 'Started by: Carl Sagan (carl)'])
    expect(plain).toContain(line);
  expect(plain).toMatch(/The agent says\s+The invoice is due\./);
  for (const raw of ['12950.5', 'currency', '2026-11-27']) expect(plain).not.toContain(raw);
  expect(html).toContain('Carl Sagan (carl)');
});

test('Slack has them in English', async () => {
  const { blocks } = messageOf(await noticed());
  const shown = JSON.stringify(blocks);
  expect(shown).toContain('Amount     €12,950.50\\nPay until  Fri, Nov 27, 2026');
  expect(shown).toContain('*Started by*\\nCarl Sagan (carl)');
  expect(shown).toContain('*The agent says*\\n```\\nThe invoice is due.\\n```');
});

test('a webhook has the plain values, with the names beside them', async () => {
  const { data } = webhookEvent(await noticed());
  expect(data.request).toMatchObject({ input, agentReason });
});

test('a tool that keeps its requests out of notices tells neither labels nor names', async () => {
  const notice = await noticed({ notice: 'title-only' });
  expect(notice).toMatchObject({ card: null });
  expect(notice).not.toHaveProperty('names');
  expect(notice).not.toHaveProperty('inputSchema');
});
