// The pages of decision links: what they show, and their forms.
import { money, z } from 'countersign';
import { expect, test } from 'vitest';
import { decide, digestIn, linkedRequest, open, send } from './linked-request.ts';

test('the page shows the whole request, and dates and numbers as the person reads them', async () => {
  const server = await linkedRequest({
    title: 'Pay ACME',
    message: 'Invoice 7',
    input: { to: 'ACME', amount: 1234567.5 },
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
  });
  const page = await open(await server.link(), { 'accept-language': 'en;q=0.1, not a tag, de-DE;q=0.9' });
  for (const text of [
    '<h1>Pay ACME</h1>',
    'Invoice 7',
    'ACME',
    '<code>1234567.5</code>',
    '(1.234.567,5)',
    'ann can decide.',
    'carl',
    'UTC',
  ])
    expect(page.body).toContain(text);
  const contact = { locale: 'en-IN', timeZone: 'Asia/Tokyo' };
  const own = await open(await server.link('ann', contact), { 'accept-language': 'de' });
  expect(own.body).toContain('(12,34,567.5)');
  expect(own.body).toContain('GMT+9');
});

test('an edit starts with the input, is checked, confirmed as a whole, and runs exactly so', async () => {
  const { link, ran, settled, request } = await linkedRequest();
  const url = await link();
  const page = await open(url);
  expect(page.body).toContain('<input type="number" name="f1" required step="any" value="1250.5">');
  const digest = digestIn(page);
  const unread = await send(url, { digest, decision: 'edit', f0: 'Bob & Co', f1: '1,5' });
  expect(unread).toMatchObject({ status: 422, body: expect.stringContaining('Enter a number, such as 1250.5.') });
  expect(unread.body).toContain('value="Bob &amp; Co"');
  // The form does not know every rule of the schema; the engine does.
  const refused = await send(url, { digest, decision: 'edit', f0: 'Bob', f1: '6000', confirmed: 'yes' });
  expect(refused).toMatchObject({ status: 422, body: expect.stringContaining('5000') });
  const same = await send(url, { digest, decision: 'edit', f0: 'ACME', f1: '1250.5' });
  expect(same).toMatchObject({ status: 422, body: expect.stringContaining('Nothing was changed') });
  const confirm = await send(url, { digest, decision: 'edit', f0: 'Bob', f1: '0' });
  expect(confirm.body).toContain('New input, which would run');
  expect(confirm.body).toContain('Input before the change');
  expect((await request()).settlement).toBeNull();
  expect((await decide(url, { decision: 'edit', f0: 'Bob', f1: '0' })).body).toContain('Approved with changes');
  await settled();
  expect(ran).toEqual([{ to: 'Bob', amount: 0 }]);
});

test('a person asks for changes: the comment is entered where it is confirmed, and must say something', async () => {
  const { link, ran, settled, request } = await linkedRequest();
  const url = await link();
  const digest = digestIn(await open(url));
  const confirm = await send(url, { digest, decision: 'revise' });
  expect(confirm.body).toContain('Which changes? The model sees this');
  for (const reason of ['', ' \r\n', 'x'.repeat(2_001)])
    expect(await send(url, { digest, decision: 'revise', reason, confirmed: 'yes' })).toMatchObject({ status: 422 });
  expect((await request()).settlement).toBeNull();
  const done = await decide(url, { decision: 'revise', reason: 'Only <b>420</b>.' });
  expect(done.body).toContain('Changes asked for');
  await settled();
  expect((await request()).settlement).toMatchObject({ decision: { type: 'revise', comment: 'Only <b>420</b>.' } });
  expect(ran).toEqual([]);
});

test('an input that a plain form cannot show is approved or rejected here, and edited in the inbox', async () => {
  const inputSchema = z.object({ lines: z.array(z.string()) });
  const { link, id } = await linkedRequest({ inputSchema, input: { lines: ['one', 'two'] } });
  const { body } = await open(await link());
  expect(body).toContain('&quot;two&quot;');
  expect(body).toContain('Approve</button>');
  expect(body).not.toContain('Edit …');
  expect(body).toContain('The inbox has more ways');
  expect(body).toContain(`href="/requests/${encodeURIComponent(id)}"`);
});

test('a question is answered by a form from its schema', async () => {
  const asks = z.object({
    when: z.iso.date(),
    urgent: z.boolean(),
    team: z.enum(['red', 'blue']),
    why: z.string().optional(),
  });
  const { link, request } = await linkedRequest({ asks, input: { question: 'When?' } });
  const url = await link();
  const digest = digestIn(await open(url));
  const empty = await send(url, { digest, decision: 'respond', f0: '2026-02-30', f1: '', f2: '', f3: '' });
  expect(empty.status).toBe(422);
  expect(empty.body.match(/class="problem"/g)).toHaveLength(3);
  await decide(url, { decision: 'respond', f0: '2026-11-18', f1: 'false', f2: '1', f3: '' });
  expect((await request()).settlement).toMatchObject({
    by: 'ann',
    channel: 'mail',
    decision: { type: 'respond', output: { when: '2026-11-18', urgent: false, team: 'blue' } },
  });
});

test('a question offers its own choices, and a text of several lines stays as it is', async () => {
  const { link, request } = await linkedRequest({
    asks: z.string(),
    input: { question: 'Which?', choices: ['A & B', 'C'] },
  });
  const url = await link();
  expect((await open(url)).body).toContain('<option value="A &amp; B">');
  await decide(url, { decision: 'respond', f0: '\r\nfirst\r\n second ' });
  expect((await request()).settlement).toMatchObject({ decision: { output: '\nfirst\n second ' } });
});

test('no link is made for people who may not decide', async () => {
  const { link, links, request } = await linkedRequest({ identifyPerson: (id) => ({ id }) });
  expect(await link('eve')).toBeUndefined();
  expect(await link('ann')).toMatch(/\/decide\/[\w-]+\.[\w-]{43}$/);
  expect(await links.make(await request(), { person: '', contact: {} }, 'mail')).toBeUndefined();
});

test('the page has the labels of the schema, and money and names as the person reads them', async () => {
  const people = { contactOf: (id: string) => (id === 'carl' ? { name: 'Carl <i>Sagan</i>' } : undefined) };
  const { link } = await linkedRequest({
    instance: { people },
    input: { amount: 1250.5, currency: 'CHF' },
    inputSchema: z.object({
      amount: z.number().meta({ title: 'Amount', ...money({ currencyField: 'currency' }) }),
      currency: z.string(),
    }),
  });
  const { body } = await open(await link('ann', { locale: 'de-CH' }));
  expect(body).toMatch(/<dt><bdi>Amount<\/bdi><\/dt><dd><p class="text">CHF\s1(?:’|&#39;)250\.50<\/p><\/dd>/);
  expect(body).toContain(
    '<summary>Exact input</summary><pre>{&quot;amount&quot;:1250.5,&quot;currency&quot;:&quot;CHF&quot;}</pre>',
  );
  expect(body).toContain('Carl &lt;i&gt;Sagan&lt;/i&gt; (carl)');
});
