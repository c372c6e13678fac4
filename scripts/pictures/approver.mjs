// A mail, and the pictures of the page for approvers: a small company where ann's agent pays invoices, and ben, cem and dora decide.
import { mail, serve } from '@countersign/server';
import { countersign, memoryStore, money, OutcomeUnknown, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { DESKTOP, PHONE, take } from './take.mjs';

const DAY = 24 * 3_600_000;
const PEOPLE = {
  ann: { name: 'Ann Meyer', roles: [] },
  ben: { name: 'Ben Okafor', roles: ['finance'] },
  cem: { name: 'Cem Demir', roles: ['finance'] },
  dora: { name: 'Dora Lind', roles: ['finance'] },
};
const rolesOf = (person) => PEOPLE[person]?.roles ?? [];
const membersOf = (role) => Object.keys(PEOPLE).filter((person) => rolesOf(person).includes(role));
const CONTACT = { locale: 'en-GB', timeZone: 'Europe/Zurich' };
const contactOf = (person) =>
  PEOPLE[person] && { ...CONTACT, name: PEOPLE[person].name, mail: `${person}@example.com` };

export async function approverPictures(browser) {
  await mailPicture(browser);
  const ai = defineCompany();
  const server = await serve(ai, {
    port: 0,
    identify: (request) => {
      const id = request.headers.get('x-user') ?? 'ann';
      return { id, name: PEOPLE[id]?.name, roles: rolesOf(id) };
    },
  });
  const asks = asker(ai);
  const decide = async (id, decision, by) => {
    await ai.runs.decide(id, decision, { by, channel: 'inbox' });
    await ai.runs.settled();
  };
  const pictureOf = (name, path, viewport, scheme, ready, person = 'ben') =>
    take(browser, name, `http://127.0.0.1:${server.port}${path}`, viewport, scheme, ready, { 'x-user': person });
  const at = (id) => `/requests/${encodeURIComponent(id)}`;
  const card = (page) => page.locator('[data-countersign="card"]').first();
  try {
    // The history: one of each kind.
    await decide(await asks('Birch Paper', 320, 'INV-2051'), 'approve', 'cem');
    await decide(await asks('Northwind', 410, 'INV-2052'), 'approve', 'ben');
    await decide(
      await asks('Unknown Trading', 480, 'INV-2053'),
      { type: 'reject', reason: 'We did not order this.' },
      'dora',
    );
    await decide(await asks('Lantern Hosting', 95, 'INV-2054'), 'approve', 'ben');
    await decide(await asks('Harbor Cleaning', 260, 'INV-2055'), 'approve', 'cem');
    const history = async (page) => {
      await page.getByText('Done: Paid').first().waitFor();
      return page.getByRole('list').filter({ hasText: 'Birch' }).first();
    };
    await pictureOf('approver-outcomes', '/history', DESKTOP, 'light', history);
    const doubt = (await ai.runs.requests()).items.find(({ kind }) => kind === 'doubt');
    await pictureOf(
      'approver-doubt',
      at(doubt.id),
      { width: 1280, height: 1000 },
      'light',
      async (page) => {
        await card(page)
          .getByRole('button', { name: /It happened/ })
          .waitFor();
        return card(page);
      },
      'cem',
    );

    const small = await asks('Lantern Hosting', 110, 'INV-2060');
    await pictureOf('approver-grant', at(small), { width: 1280, height: 1000 }, 'light', async (page) => {
      await page.getByRole('button', { name: 'Allow the next ones too…' }).click();
      const dialog = page.getByRole('dialog');
      for (const field of ['due', 'reference']) await dialog.getByRole('checkbox', { name: field }).uncheck();
      await dialog.getByText('requests match these limits').waitFor();
      return dialog;
    });

    const large = await asks('ACME GmbH', 1_950, 'INV-2061');
    const [first] = (await ai.runs.requests({ runId: large.split(':')[0] })).items;
    await pictureOf('approver-card', at(first.id), { width: 1280, height: 1100 }, 'light', async (page) => {
      await card(page).getByRole('button', { name: 'Approve' }).waitFor();
      return card(page);
    });
    await pictureOf('approver-edit', at(first.id), { width: 1280, height: 1200 }, 'light', async (page) => {
      await card(page).getByRole('button', { name: 'Edit' }).click();
      await card(page).getByLabel('Amount', { exact: true }).fill('1900');
      return card(page);
    });
    await ai.runs.decide(first.id, 'approve', { by: 'cem', channel: 'inbox', note: 'The delivery is complete.' });
    await ai.runs.comment(first.id, { text: 'The discount of 2 % is in the total. @ben, can you look?', by: 'cem' });
    await pictureOf('approver-phone', at(first.id), PHONE, 'light', async (page) => {
      await page.getByRole('button', { name: 'Approve' }).waitFor();
    });
    await pictureOf('approver-away', '/away', { width: 760, height: 560 }, 'light', async (page) => {
      await page.getByLabel('Delegate').fill('cem');
      await page.getByLabel('Until').fill('2026-12-04T17:00');
      return page.locator('form');
    });
  } finally {
    await server.close();
  }
}

/** What a person of finance gets about a request. */
async function mailPicture(browser) {
  const ai = defineCompany();
  const mails = await openMailbox();
  const channels = [mail({ smtp: `smtp://127.0.0.1:${mails.port}`, from: 'approvals@example.com' })];
  const server = await serve(ai, { port: 0, publicUrl: 'https://approvals.example.com', channels });
  try {
    await asker(ai)('Birch Paper', 320, 'INV-2051');
    const url = `data:text/html,${encodeURIComponent(await mails.first)}`;
    await take(browser, 'mail', url, { width: 700, height: 920 }, 'light', (page) =>
      page.getByText('Approve', { exact: true }).waitFor(),
    );
  } finally {
    await server.close();
    await mails.close();
  }
}

/** A mail server on this machine, and the first mail that it gets. */
async function openMailbox() {
  const arrived = Promise.withResolvers();
  const onData = (stream, _session, done) =>
    void simpleParser(stream)
      .then(({ html }) => arrived.resolve(html), arrived.reject)
      .then(() => done());
  const server = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'], onData });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => server.close(resolve));
  return { port: server.server.address().port, first: arrived.promise, close };
}

/** Starts a run that asks for one payment, and resolves to its request. */
function asker(ai) {
  return async (to, amount, reference) => {
    const agent = ai.agents.get('accounts');
    const { id } = await agent.start(JSON.stringify({ to, amount, reference }), { by: 'ann' });
    const { pending } = await ai.runs.wait(id);
    return pending[0];
  };
}

function defineCompany() {
  const model = scriptedModel(({ messages }) => {
    if (messages.at(-1)?.role === 'tool') return 'That is done.';
    const { to, amount, reference } = JSON.parse(messages.findLast(({ role }) => role === 'user').content[0].text);
    const input = {
      to,
      amount,
      currency: 'EUR',
      due: '2026-12-04',
      reference,
      reason: 'The invoice matches order 5521, and the goods arrived on Monday.',
    };
    return { calls: [{ name: 'payInvoice', input }] };
  });
  const ai = countersign({ model, store: memoryStore(), retry: false, people: { rolesOf, membersOf, contactOf } });
  ai.defineTool(
    {
      name: 'payInvoice',
      description: 'Pays an invoice.',
      reason: true,
      inputSchema: z.object({
        to: z.string().meta({ title: 'Payee' }),
        amount: z.number().meta({ title: 'Amount', ...money({ currencyField: 'currency' }) }),
        currency: z.string().meta({ title: 'Currency' }),
        due: z.iso.date().meta({ title: 'Pay until' }),
        reference: z.string().meta({ title: 'Invoice' }),
      }),
      title: ({ to, amount }) => `Pay €${amount.toLocaleString('en')} to ${to}`,
      outcome: (output) => `Paid, receipt ${output.receipt}`,
      howToCheck: (_input, { idempotencyKey }) => `Search the bank statement for ${idempotencyKey}.`,
      reversibility: 'irreversible',
      needsApproval: ({ amount }) => ({
        message: amount > 1_000 ? 'Above €1,000: two people of finance must agree.' : 'One person of finance decides.',
        risk: amount > 1_000 ? 'high' : 'medium',
        policy: {
          quorum: [{ of: { roles: ['finance'] }, count: amount > 1_000 ? 2 : 1 }],
          notRequester: true,
          grants: { uses: 20, expiresWithin: '30d' },
        },
        expiresIn: DAY,
      }),
    },
    ({ to, reference }) => {
      if (to === 'Northwind') throw new Error('The bank refused: the account is closed.');
      if (to === 'Harbor Cleaning') throw new OutcomeUnknown('The bank did not answer in time.');
      return { receipt: reference.replace('INV', 'R') };
    },
  );
  ai.defineAgent({ name: 'accounts', description: 'Pays invoices.', tools: ['payInvoice'] });
  return ai;
}
