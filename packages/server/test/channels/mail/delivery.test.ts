// How mails are sent: threads, headers, updates, refusals, servers that are slow or down, and the set-up.
import { connect } from 'node:net';
import { mail } from '@countersign/server';
import type { SMTPServerOptions } from 'smtp-server';
import { expect, test } from 'vitest';
import { type Arrived, asked, LINKS, NEVER, openedNotice, openPostOffice } from './post-office.ts';

const ANN = { person: 'ann', why: 'decider', contact: { name: 'Ann', mail: 'ann@example.com' } } as const;

/** An answer of the SMTP server. */
const answer = (responseCode: number, message: string) => Object.assign(new Error(message), { responseCode });

test('mails of a run are one thread, and later ones answer the first mail', async () => {
  const office = await openPostOffice({ subjectPrefix: '[Test]' });
  const request = await asked({ title: 'Pay ACME' });
  const sent = await office.deliver(await request.notice('opened', { to: [ANN], links: LINKS }));
  await office.deliver(await request.notice('reminded', { to: [ANN], links: LINKS }));
  await request.ai.runs.decide(
    (await request.card()).id,
    { type: 'reject', reason: 'Not now.' },
    { by: 'ben', note: 'Ask me.' },
  );
  const decided = await request.notice('decided', { to: [ANN], links: LINKS });
  expect(await office.channel.deliver(decided, { ...NEVER, sent: sent ?? null })).toEqual(sent);
  const [opened, reminded, update] = office.mails as [Arrived, Arrived, Arrived];
  expect([opened.subject, reminded.subject, update.subject]).toEqual([
    '[Test] Pay ACME',
    'Re: [Test] Pay ACME',
    'Re: [Test] Pay ACME',
  ]);
  expect(reminded.references).toEqual(opened.references);
  expect(update.references).toEqual([...(opened.references ?? []), opened.messageId]);
  expect(update.inReplyTo).toBe(opened.messageId);
  expect(update.text).toMatch(/^Rejected by ben at .* UTC\n\nPay ACME\n/);
  expect(update.text).toContain('Reason: Not now.\n  Note: Ask me.');
  expect(update.text).toContain(`View request:\n${LINKS.request}\n`);
  expect(update.html).not.toContain(LINKS.decide);
});

test('an update says what was approved instead, answered, or that nobody decided', async () => {
  const office = await openPostOffice();
  const edited = await asked();
  const edit = { to: 'ACME', amount: 900 };
  await edited.ai.runs.decide((await edited.card()).id, { type: 'approve', edit }, { by: 'ben' });
  await office.deliver(await edited.notice('decided', { to: [ANN] }));
  const cancelled = await asked();
  await cancelled.ai.runs.cancel('run', { by: 'carl' });
  await office.deliver(await cancelled.notice('withdrawn', { to: [ANN] }));
  const expired = await asked();
  const settlement = {
    decision: { type: 'reject' },
    by: 'deadline',
    channel: null,
    note: null,
    at: Date.UTC(2026, 10, 18),
  };
  await office.deliver(await expired.notice('expired', { to: [ANN], settlement }));
  const [changed, withdrawn, late] = office.mails.map(({ text }) => text);
  expect(changed).toMatch(/^Approved with changes by ben at /);
  expect(changed).toContain('Approved input\n  to: ACME\n  amount: 900');
  expect(withdrawn).toMatch(/^Withdrawn/);
  expect(late).toMatch(/^Expired, rejected automatically at Wed, Nov 18, 2026/);
});

test('a mail about an outcome says what came of it, and nothing that did not run is called approved', async () => {
  const office = await openPostOffice();
  const request = await asked({ title: 'Pay ACME' });
  await request.ai.runs.decide((await request.card()).id, 'approve', { by: 'ben' });
  const at = Date.UTC(2026, 10, 18);
  const failed = { state: 'failed', at, text: 'No funds.', mayHaveActed: true } as const;
  for (const [type, outcome] of [
    ['done', { state: 'done', at, text: 'receipt 12' }],
    ['failed', failed],
    ['unknown', { state: 'unknown', at }],
    ['decided', { state: 'not-run', at, why: 'changed' }],
    ['decided', { state: 'running' }],
    ['decided', failed],
  ] as const)
    await office.deliver(await request.notice(type, { to: [ANN], links: LINKS, outcome }));
  expect(office.mails.map(({ subject }) => subject)).toEqual([
    'Done: Pay ACME',
    'Failed: Pay ACME',
    'Outcome unknown: Pay ACME',
    'Not run: Pay ACME',
    'Approved by ben: Pay ACME',
    'Failed: Pay ACME',
  ]);
  const [done, failure, unknown, changed, running, late] = office.mails.map(({ text }) => text);
  expect(done).toMatch(/^Done\n\nPay ACME\n/);
  expect(done).toContain('Result: receipt 12\n  Decision: Approved by ben at ');
  expect(failure).toContain('It may have taken effect before it failed.');
  expect(failure).toContain('What went wrong: No funds.');
  expect(unknown).toContain('A person is asked to check.');
  expect(changed).toMatch(/^Not run\n/);
  expect(changed).toContain('What would happen has changed, so it was asked again.');
  expect(changed).not.toContain('Approved');
  expect(running).toMatch(/^Approved by ben at .*\n\nPay ACME\n[\s\S]*It is running\./);
  expect(late).toMatch(/^Failed\n/);
});

test('a digest has its first requests whole and lists the others, and says what they have in common', async () => {
  const office = await openPostOffice();
  const request = await asked({ title: 'Pay ACME' });
  const opened = await request.notice('opened', { to: [ANN], links: LINKS });
  const many = Array.from({ length: 200 }, (_, index) => ({
    ...opened,
    key: `n${index}`,
    title: `Pay invoice ${index}`,
  }));
  await office.channel.digest(many, NEVER);
  await request.ai.runs.decide((await request.card()).id, 'reject', { by: 'ben' });
  const decided = await request.notice('decided', { to: [ANN], links: LINKS });
  await office.channel.digest([decided, { ...decided, key: 'b' }], NEVER);
  await office.channel.digest([opened, decided], NEVER);
  expect(office.mails.map(({ subject }) => subject)).toEqual([
    '200 requests wait for your decision',
    'Rejected by ben: 2 requests',
    '2 requests',
  ]);
  const [first] = office.mails;
  expect(first?.text).toContain('And 190 more');
  expect(first?.text).toContain('Pay invoice 199');
  expect(first?.text).toContain('Open the inbox:\nhttps://approvals.example.com/\n');
  expect(first?.html.match(/>Approve</g)).toHaveLength(10);
  expect(Buffer.byteLength(first?.html ?? '')).toBeLessThan(102_000);
});

test('the same notice has the same id, and other notices and people have others', async () => {
  const office = await openPostOffice();
  const notice = await openedNotice();
  for (const key of ['a', 'a', 'b']) await office.deliver({ ...notice, key });
  const [first, second, third] = office.mails.map(({ messageId }) => messageId);
  expect(first).toMatch(/^<notice-[\da-f]{32}@example\.com>$/);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

test('the headers say that a program wrote the mail, and what it is about', async () => {
  const office = await openPostOffice({ name: 'mail-eu', replyTo: 'Finance <finance@example.com>' });
  await office.deliver(await openedNotice({ asks: { risk: 'high' } }));
  const { headers } = office.mails[0] as Arrived;
  expect(headers.get('auto-submitted')).toBe('auto-generated');
  expect(headers.get('x-auto-response-suppress')).toBe('DR, RN, NRN, OOF, AutoReply');
  expect(headers.get('list')).toEqual({ id: { name: 'Countersign', id: 'mail-eu.countersign.example.com' } });
  expect(headers.get('x-countersign-tool')).toBe('payInvoice');
  expect(headers.get('x-countersign-risk')).toBe('high');
  expect(headers.get('reply-to')).toMatchObject({ text: '"Finance" <finance@example.com>' });
});

test('a person without a contact gets the mail at their id, if it is an address', async () => {
  const office = await openPostOffice();
  const notice = await openedNotice();
  await office.deliver({ ...notice, to: [{ person: 'dörte@example.com', why: 'decider', contact: {} }] });
  expect(office.mails[0]?.recipients).toEqual(['dörte@example.com']);
  const nowhere = office.deliver({ ...notice, to: [{ person: 'eve', why: 'decider', contact: {} }] });
  await expect(nowhere).rejects.toMatchObject({
    name: 'DeliveryError',
    retryable: false,
    message: 'eve has no mail address. Return one as `mail` from `contactOf` of the directory (`people`).',
  });
});

test('a recipient whom the server refuses is not tried again; one whom it defers is', async () => {
  const answers = [answer(550, 'No such user'), answer(451, 'Greylisted, try again later'), undefined];
  const office = await openPostOffice({}, { onRcptTo: (_address, _session, done) => done(answers.shift()) });
  const notice = await openedNotice({}, { to: [ANN] });
  await expect(office.deliver(notice)).rejects.toMatchObject({
    retryable: false,
    message: expect.stringMatching(/refused the mail to Ann <ann@example\.com>: .*550 No such user/),
  });
  await expect(office.deliver(notice)).rejects.toMatchObject({
    retryable: true,
    message: expect.stringContaining('451 Greylisted'),
  });
  await office.deliver(notice);
  expect(office.mails).toHaveLength(1);
});

test('a mail that the server refuses for its content is not tried again', async () => {
  const office = await openPostOffice(
    {},
    {
      onData(stream, _session, done) {
        stream.resume().on('end', () => done(answer(554, 'Looks like spam')));
      },
    },
  );
  await expect(office.deliver(await openedNotice())).rejects.toMatchObject({ retryable: false });
});

test('a server that is down or slow is tried again', async () => {
  const office = await openPostOffice();
  const notice = await openedNotice();
  await office.deliver(notice);
  await office.close();
  await expect(office.deliver(notice)).rejects.toMatchObject({
    retryable: true,
    message: expect.stringContaining(`Cannot reach the mail server 127.0.0.1:${office.port}: `),
  });
  await expect(office.channel.check()).rejects.toThrow('Check the host and the port in `smtp`.');

  const stop = new AbortController();
  const onMailFrom = () => stop.abort(new Error('The delivery took too long.'));
  const silent = await openPostOffice({}, { onMailFrom });
  const slow = silent.channel.deliver(notice, { signal: stop.signal });
  await expect(slow).rejects.toMatchObject({ retryable: true, message: expect.stringContaining('took too long') });
});

test('signs in over an encrypted connection, and says what is wrong without the password', async () => {
  const sessions: boolean[] = [];
  const server: SMTPServerOptions = {
    authOptional: false,
    disabledCommands: [],
    onAuth: (auth, session, done) => {
      sessions.push(session.secure);
      if (auth.password !== 'right') return done(answer(535, 'Wrong password'));
      return done(null, { user: auth.username });
    },
  };
  const first = await openPostOffice({}, server);
  const at = (password: string, query = '') =>
    `smtp://ann:${password}@127.0.0.1:${first.port}/?tls.rejectUnauthorized=false${query}`;
  const channelAt = (smtp: string) => mail({ smtp, from: 'approvals@example.com' });
  const [good, bad] = [channelAt(at('right')), channelAt(at('wrong-secret'))];
  await good.check?.();
  await good.deliver(await openedNotice(), NEVER);
  expect(first.mails).toHaveLength(1);
  expect(sessions).toEqual([true, true]);
  const failure = await bad.check?.().catch((error: Error) => error);
  expect(String(failure)).toMatch(/refused the sign-in: .*535 Wrong password\. Check the user and the password/);
  expect(String(failure)).not.toContain('wrong-secret');
  // A password that is wrong now may be right after the next deploy.
  await expect(bad.deliver(await openedNotice(), NEVER)).rejects.toMatchObject({ retryable: true });
  await expect(channelAt(`smtp://127.0.0.1:${first.port}`).check?.()).rejects.toThrow('No encrypted connection');
  for (const channel of [good, bad]) await channel.close?.();
});

test('another machine must encrypt the connection', async () => {
  const plain = await openPostOffice();
  const lookup = { host: 'smtp.example.com', port: plain.port };
  // The name of another machine, and the socket of this one.
  const getSocket = (_: object, done: (error: null, socket: object) => void) => {
    const connection = connect(plain.port, '127.0.0.1', () => done(null, { connection }));
  };
  const far = mail({ smtp: { ...lookup, getSocket }, from: 'approvals@example.com' });
  await expect(far.check?.()).rejects.toThrow('No encrypted connection to the mail server smtp.example.com:');
  const allowed = mail({ smtp: { ...lookup, getSocket, requireTLS: false }, from: 'approvals@example.com' });
  await allowed.check?.();
});

test('a sample says that it is one', async () => {
  const office = await openPostOffice();
  expect(await office.channel.sample('me@example.com')).toBe(
    `Sent a sample to me@example.com through 127.0.0.1:${office.port}.`,
  );
  expect(office.mails[0]).toMatchObject({ subject: 'Sample: pay €950 to ACME', recipients: ['me@example.com'] });
  expect(office.mails[0]?.text).toContain('This is a sample. Nothing waits for you.');
  await expect(office.channel.sample('me')).rejects.toThrow('me is not a mail address.');
});

test('invalid options are refused', () => {
  const good = { smtp: 'smtp://localhost', from: 'approvals@example.com' };
  expect(mail(good)).toMatchObject({ name: 'mail', audience: 'person' });
  for (const [bad, message] of [
    [{ ...good, smtp: 'localhost:25' }, '`smtp` of mail must be an address such as smtps://'],
    [{ ...good, smtp: undefined }, '`smtp` of mail must be an address such as smtps://'],
    [{ ...good, from: 'Approvals' }, '`from` of mail must be a sender such as'],
    [{ ...good, from: 'a@example.com\nBcc: b@example.com' }, '`from` of mail must be a sender such as'],
    [{ ...good, name: 'to mail' }, '`name` of mail must have letters, digits and dashes only'],
    [{ ...good, subject: 'x' }, 'mail has no option subject'],
  ] as const)
    expect(() => mail(bad as never)).toThrow(message);
});
