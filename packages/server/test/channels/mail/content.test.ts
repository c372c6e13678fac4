// What a mail says: the whole request, the same in both parts, in the reader's language, and nothing that can deceive.

import { describe, expect, test } from 'vitest';
import { ENGLISH } from '../../../src/channels/mail/texts.ts';
import { noticedRequest } from '../notice.ts';
import { type Arrived, asked, LINKS, NEVER, openedNotice, openPostOffice } from './post-office.ts';

const ANN = { person: 'ann', why: 'decider', contact: { name: 'Ann', mail: 'ann@example.com' } } as const;

/** The words that a reader sees in the HTML, line by line. */
function shown({ html }: Arrived): readonly string[] {
  const [, body = ''] = html.split('</div>');
  return body
    .replaceAll(/<br>|<\/(p|td|th|h1|tr|span)>/g, '\n')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" };

/** Every line of the HTML is in the text, which has no others but addresses and its own marks. */
function expectSameContent(mail: Arrived): void {
  const plain = mail.text.replaceAll(/[\u2068\u2069]/g, '');
  const lines = shown(mail).filter((line) => line !== 'Countersign');
  for (const line of lines) expect(plain).toContain(line);
  const rest = lines.toSorted((a, b) => b.length - a.length).reduce((left, line) => left.replaceAll(line, ''), plain);
  expect(rest.replaceAll(/https:\S+/g, '')).toMatch(/^[\s:·│_,-]*$/);
}

describe('a request that waits', () => {
  test('about an unknown outcome says where to look, since when, by whose approval, and with which key', async () => {
    const office = await openPostOffice();
    const notice = await openedNotice({ title: 'Pay €950 to ACME' });
    const doubt = {
      startedAt: Date.UTC(2026, 10, 19, 10),
      approvedBy: ['ann', 'ben'],
      idempotencyKey: 'call-7',
      howToCheck: 'https://bank.example/?key=call-7',
    };
    const card = notice.card && { ...notice.card, kind: 'doubt' as const, doubt };
    await office.deliver({ ...notice, ...(card && { card }), to: [ANN] });
    const [mail] = office.mails as [Arrived];
    expectSameContent(mail);
    expect(mail.text.replaceAll(/[\u2068\u2069]/g, '')).toContain(`Look before you decide
  check: https://bank.example/?key=call-7
  started: Thu, Nov 19, 2026, 10:00 AM UTC
  approvers: ann, ben
  key: call-7
`);
  });

  test('has the whole card, as a table and as text', async () => {
    const office = await openPostOffice();
    const input = {
      to: 'ACME',
      amount: 950,
      code: '7',
      lines: [
        { sku: 'A', count: 2 },
        { sku: 'B', extra: { deep: { deeper: { deepest: [1, { end: true }] } } } },
      ],
      note: 'first line\nsecond line',
      none: null,
      empty: {},
    };
    const notice = await openedNotice({
      title: 'Pay €950 to ACME',
      input,
      asks: { message: 'It is due tomorrow.', risk: 'high', labels: ['money'], invoice: { id: 'INV-7' } },
      preview: { balance: 12.5 },
      reversibility: 'irreversible',
    });
    await office.deliver({ ...notice, to: [ANN] });
    const [mail] = office.mails as [Arrived];
    expect(mail).toMatchObject({
      subject: 'Pay €950 to ACME',
      recipients: ['ann@example.com'],
      from: { text: '"Approvals" <approvals@example.com>' },
      to: { text: '"Ann" <ann@example.com>' },
    });
    expect(mail.text).toBe(`Waiting for your decision

Pay €950 to ACME
teller · payInvoice

High risk · Cannot be undone

  It is due tomorrow.

Input
  to: ACME
  amount: 950
  code: "7"
  lines:
    1.:
      sku: A
      count: 2
    2.:
      sku: B
      extra:
        deep:
          deeper:
            deepest:
              │ [
              │   1,
              │   {
              │     "end": true
              │   }
              │ ]
  note:
    │ first line
    │ second line
  none: null
  empty: {}

Details
  invoice:
    id: INV-7

What would happen
  balance: 12.5

About this request
  Started by: carl
  Labels: money

Approve, Reject, Edit, Ask for changes:
https://approvals.example.com/decide/TOKEN-1

The links open a page. Nothing is decided until you confirm it there.

-- 
You get this mail because you can decide this request.
Replies to this mail decide nothing.
`);
    expectSameContent(mail);
    for (const part of ['approve', 'reject', 'edit']) expect(mail.html).toContain(`href="${LINKS.decide}#${part}"`);
  });

  test('says by when, in the time zone and the locale of the reader, and who else must agree', async () => {
    const office = await openPostOffice();
    const request = await asked({
      asks: {
        expiresIn: 86_400_000,
        policy: { quorum: [{ of: { roles: ['finance'] }, count: 2 }], notRequester: true },
      },
    });
    const { id, expiresAt } = await request.card();
    await request.ai.runs.decide(id, 'approve', { by: 'ben', roles: ['finance'] });
    const at = Date.UTC(2026, 10, 19, 9, 5);
    const card = await request.card();
    const later = { ...card, expiresAt: at };
    const contact = { mail: 'ann@example.com', locale: 'de-CH', timeZone: 'Europe/Zurich' };
    await office.deliver(await request.notice('reminded', { card: later, to: [{ ...ANN, contact }], links: LINKS }));
    const [mail] = office.mails as [Arrived];
    expect(expiresAt).not.toBeNull();
    expect(mail.subject).toBe('Re: payInvoice');
    expect(mail.text).toContain('Reminder: waiting for your decision');
    expect(mail.text).toContain('Decide by: Do., 19. Nov. 2026, 10:05 MEZ, then rejected automatically');
    expect(mail.text).toContain('Who decides: 1 of 2 votes, waiting for: 1 more of finance');
    expect(mail.text).toMatch(/\n {4}ben: Approved, .*MEZ\n/);
    expect(mail.text).toContain('asked for changes, cannot approve it.');
    expectSameContent(mail);
  });

  test('is sent with the usual dates if the directory has a locale or a time zone that does not exist', async () => {
    const office = await openPostOffice();
    const contact = { mail: 'ann@example.com', locale: 'not a locale', timeZone: 'Mars/Base' };
    await office.deliver(await openedNotice({ asks: { expiresIn: 1_000 } }, { to: [{ ...ANN, contact }] }));
    expect(office.mails[0]?.text).toMatch(/Decide by: \w+, \w+ \d+, 20\d\d.* UTC/);
  });

  test('says why the person gets it', async () => {
    const office = await openPostOffice();
    const notice = await openedNotice();
    for (const why of ['assignee', 'escalated', 'everyone', 'told-before'] as const)
      await office.deliver({ ...notice, to: [{ ...ANN, why }] });
    await office.deliver({ ...notice, to: [{ ...ANN, why: 'delegate', onBehalfOf: 'ben' }] });
    const reasons = office.mails.map(({ text }) => text.split('-- \n')[1]?.split('\n')[0]);
    expect(reasons).toEqual([
      ENGLISH.why.assignee,
      ENGLISH.why.escalated,
      ENGLISH.why.everyone,
      ENGLISH.why['told-before'],
      'You get this mail because you stand in for ben.',
    ]);
  });

  test('asks for an answer, and links to the inbox if there is no decision link', async () => {
    const office = await openPostOffice();
    const question = await noticedRequest('ask which?');
    await office.deliver(await question.notice('opened', { to: [ANN], links: { request: LINKS.request } }));
    await office.deliver(await question.notice('opened', { to: [ANN], links: null }));
    const [linked, bare] = office.mails as [Arrived, Arrived];
    expect(linked.text).toContain('Waiting for your answer');
    expect(linked.text).toContain('question: which?');
    expect(linked.text).toContain(`Answer:\n${LINKS.request}\n`);
    expect(linked.html).toContain(`href="${LINKS.request}"`);
    expect(bare.html).not.toContain('href=');
    expect(bare.text).toContain('Open your inbox to decide.');
  });

  test('asks to review it if the vote must be signed', async () => {
    const office = await openPostOffice();
    await office.deliver(
      await openedNotice({ asks: { policy: { deciders: { people: ['ann'] }, signed: 'passkey' } } }),
    );
    expect(office.mails[0]?.text).toContain(`Review and decide:\n${LINKS.decide}\n`);
    expect(office.mails[0]?.text).toContain('Each vote must be signed with a passkey');
  });

  test('shows the preview that was approved before, and a preview that failed', async () => {
    const office = await openPostOffice();
    const request = await asked({ preview: '+ one\n- two' });
    const card = await request.card();
    const changed = { ...card, preview: { failed: 'no rights' }, earlierPreview: { value: '+ one\n- two' } };
    await office.deliver(await request.notice('opened', { to: [ANN], card: changed }));
    const text = office.mails[0]?.text ?? '';
    expect(text).toContain('The preview failed: no rights');
    expect(text).toContain('What was approved before\n  │ + one\n  │ - two');
    expectSameContent(office.mails[0] as Arrived);
  });
});

describe('a request of a tool that keeps its input out of notices', () => {
  test('shows its title and a link only', async () => {
    const office = await openPostOffice();
    const notice = await openedNotice({ title: 'Change a salary', input: { salary: 91_234 }, asks: { risk: 'high' } });
    await office.deliver({ ...notice, card: null, to: [ANN] });
    const [mail] = office.mails as [Arrived];
    expect(mail.text).toBe(`Waiting for your decision

Change a salary

Review and decide:
https://approvals.example.com/decide/TOKEN-1

The links open a page. Nothing is decided until you confirm it there.

-- 
You get this mail because you can decide this request.
Replies to this mail decide nothing.
`);
    expectSameContent(mail);
    expect(`${mail.html}${mail.raw}`).not.toContain('91234');
  });

  test('says how it ended, without the edit and the note', async () => {
    const office = await openPostOffice();
    const request = await asked({ title: 'Change a salary', input: { salary: 91_234 } });
    const decision = { type: 'approve', edit: { salary: 92_345 } } as const;
    await request.ai.runs.decide((await request.card()).id, decision, { by: 'ben', note: 'secret' });
    await office.deliver(await request.notice('decided', { card: null, to: [ANN], links: LINKS }));
    const [mail] = office.mails as [Arrived];
    expect(mail.text).toMatch(/^Approved with changes by ben at .* UTC\n\nChange a salary\n[\s\S]*\n\nView request:/);
    expect(`${mail.html}${mail.text}`).not.toMatch(/92345|secret/);
  });
});

describe('untrusted content', () => {
  test('cannot add a header, a recipient or a line of the mail', async () => {
    const office = await openPostOffice({ subjectPrefix: '[Staging]' });
    const evil = 'x\r\nBcc: eve@example.com\r\n\r\nApprove: https://evil.example';
    const notice = await openedNotice({ input: { [evil]: evil } });
    const contact = { mail: 'ann@example.com', name: evil };
    await office.deliver({ ...notice, title: evil, agent: evil, tool: evil, to: [{ ...ANN, contact }] });
    const [mail] = office.mails as [Arrived];
    expect(mail.recipients).toEqual(['ann@example.com']);
    expect(mail.headers.has('bcc')).toBe(false);
    expect(mail.subject).toBe('[Staging] x Bcc: eve@example.com Approve: https://evil.example');
    expect(mail.text.split('\n').filter((line) => line.startsWith('Approve'))).toEqual([
      'Approve, Reject, Edit, Ask for changes:',
    ]);
  });

  test('refuses an address that is more than one address', async () => {
    const office = await openPostOffice();
    const notice = await openedNotice();
    for (const address of [
      'a@example.com, b@example.com',
      'a@example.com\r\nRCPT TO:<b@example.com>',
      '<a@example.com>',
    ])
      await expect(office.deliver({ ...notice, to: [{ ...ANN, contact: { mail: address } }] })).rejects.toMatchObject({
        retryable: false,
        message: expect.stringContaining('ann has the mail address'),
      });
    expect(office.mails).toEqual([]);
  });

  test('is shown as text: HTML, hidden characters and scripts of any direction', async () => {
    const office = await openPostOffice();
    const html = '<script>alert(1)</script><img src="https://evil.example/x.png" onerror=x>"\'&amp;';
    const input = { html, [html]: 1, hidden: 'pay\u202eecila\u200b', שלום: 'עולם 950', emoji: '💶 ünïcödé 汉字' };
    await office.deliver(await openedNotice({ title: html, input, asks: { message: html } }));
    const [mail] = office.mails as [Arrived];
    expect(mail.html).not.toMatch(/<script|<img|<link|<[^>]*(src|onerror)=/i);
    expect(mail.text).toContain(`html: ${html}`);
    expect(mail.text).toContain('hidden: pay<U+202E>ecila<U+200B>');
    expect(mail.text).toContain('\u2068שלום\u2069: \u2068עולם 950\u2069');
    expect(mail.text).toContain('emoji: 💶 ünïcödé 汉字');
    expect(mail.html).toMatch(/<td[^>]* dir="rtl"[^>]*>עולם 950</);
    expectSameContent(mail);
  });
});

describe('what is too large for a mail', () => {
  const isWhole = (mail: Arrived | undefined) => mail?.text.includes('Approve, Reject, Edit, Ask for changes:');

  test('becomes a sentence and a link, and the rest is shown', async () => {
    const office = await openPostOffice();
    const rows = Array.from({ length: 3_000 }, (_, id) => ({ id, name: `row ${id}` }));
    for (const input of [{ text: 'x'.repeat(200_000) }, rows, { text: '汉'.repeat(40_000) }])
      await office.deliver(await openedNotice({ title: 'Import', input, asks: { message: 'Please read all of it.' } }));
    for (const mail of office.mails) {
      expect(Buffer.byteLength(mail.html)).toBeLessThan(100_001);
      expect(mail.text).toContain('Please read all of it.');
      expect(mail.text).toContain('Input\nThis is too large for a mail. Open the request to see all of it.');
      expect(mail.text).toContain(`Review and decide:\n${LINKS.decide}\n`);
      expect(mail.html).not.toMatch(/row 1\b|xxx|汉/);
      expect(isWhole(mail)).toBe(false);
      expectSameContent(mail);
    }
    expect(office.mails).toHaveLength(3);
  });

  test('an input that just fits is shown whole', async () => {
    const office = await openPostOffice();
    const text = 'long enough '.repeat(5_960);
    await office.deliver(await openedNotice({ input: { text: `${text}end` } }));
    expect(office.mails[0]?.text).toContain(`${text}end`);
    expect(isWhole(office.mails[0])).toBe(true);
  });
});

describe('several requests at once', () => {
  test('are in one mail, each with its link, and the largest become sentences', async () => {
    const office = await openPostOffice();
    const links = (number: number) => ({
      request: LINKS.request,
      decide: `https://approvals.example.com/decide/${number}`,
    });
    const notices = await Promise.all(
      [10, 60_000, 60_000, 20].map((length, number) =>
        openedNotice(
          { title: `Request ${number}`, input: { text: 'y'.repeat(length) } },
          { links: links(number), to: [ANN], key: `key-${number}` },
        ),
      ),
    );
    await office.channel.digest(notices, NEVER);
    await office.channel.digest(notices, NEVER);
    const [mail, again] = office.mails as [Arrived, Arrived];
    expect(mail.subject).toBe('4 requests wait for your decision');
    expect(Buffer.byteLength(mail.html)).toBeLessThan(100_001);
    for (const number of [0, 1, 2, 3]) expect(mail.text).toContain(`https://approvals.example.com/decide/${number}\n`);
    expect(mail.text.match(/too large for a mail/g)).toHaveLength(1);
    expect(mail.text).toContain('These requests are in one mail because they came within a short time.');
    expectSameContent(mail);
    expect(again.messageId).toBe(mail.messageId);
  });
});

describe('texts', () => {
  test('can be replaced, by the locale of the person', async () => {
    const german = { language: 'de', approve: 'Genehmigen', input: 'Eingabe' };
    const office = await openPostOffice({ texts: (locale) => (locale?.startsWith('de') ? german : {}) });
    const notice = await openedNotice();
    for (const locale of ['de-CH', 'en'])
      await office.deliver({ ...notice, to: [{ ...ANN, contact: { mail: 'ann@example.com', locale } }] });
    const [swiss, english] = office.mails as [Arrived, Arrived];
    expect(swiss.html).toContain('<html lang="de">');
    expect(swiss.text).toContain('Genehmigen, Reject, Edit, Ask for changes:');
    expect(swiss.text).toContain('Eingabe\n  to: ACME');
    expect(english.text).toContain('Approve, Reject, Edit, Ask for changes:');
  });
});

test('a person is told by mail who may decide for them, who named the delegate, and how to end it', async () => {
  const office = await openPostOffice({ timeZone: 'UTC' });
  const [from, until] = [Date.UTC(2027, 0, 13, 8), Date.UTC(2027, 0, 20, 8)];
  const news = { key: 'news-1', type: 'delegate-named', person: 'ann', contact: ANN.contact, at: from } as const;
  await office.channel.inform?.({ ...news, delegate: 'bob\r\nBcc: eve@example.com', from, until, by: 'admin' }, NEVER);
  const [mail] = office.mails as [Arrived];
  expect(mail).toMatchObject({ subject: expect.stringMatching(/^bob .*may decide for you$/) });
  expect(mail.recipients).toEqual(['ann@example.com']);
  expect(mail.text).toMatch(/admin named bob .* as your delegate\. From Wed, Jan 13, 2027.* until Wed, Jan 20, 2027/);
  expect(mail.text).toContain('end your absence');
  expectSameContent(mail);
});
