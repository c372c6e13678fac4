// Takes the pictures of docs/images: of the inbox with a month of work in its store, of a mail, of what approvers see, and of the
// Next.js example.
//
//   npm run pictures [inbox] [approver] [example]
//
// They are set in Inter and made smaller if both are installed (on Debian: apt-get install fonts-inter pngquant).
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import './build-server.mjs';
import { DESKTOP, PHONE, take } from './pictures/take.mjs';
import { root, tool } from './run.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from './test-browser.mjs';

// They are built above.
const { serve } = await import('@countersign/server');
const { countersign, money, z } = await import('countersign');
const { sqliteStore } = await import('countersign/sqlite');
const { scriptedModel } = await import('countersign/testing');
const { approverPictures } = await import('./pictures/approver.mjs');

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** What each prompt makes the model do. */
const plans = new Map();

/** While the store is filled, the clock of this process is in the past. It goes only forward. */
const realNow = Date.now;
let offset = -30 * DAY;
Date.now = () => realNow() + offset;
const goTo = (agoMs) => {
  offset = Math.max(offset, -agoMs);
};
const pass = (ms) => {
  offset += ms;
};

const folder = mkdtempSync(join(tmpdir(), 'countersign-pictures-'));
const store = sqliteStore(join(folder, 'runs.sqlite'));
const browser = await openBrowser();
try {
  const named = process.argv.slice(2);
  const groups = { inbox: inboxPictures, approver, example: examplePictures };
  for (const [name, takeAll] of Object.entries(groups)) if (named.length === 0 || named.includes(name)) await takeAll();
} finally {
  await browser.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Now, not in the past. */
async function approver() {
  offset = 0;
  await approverPictures(browser);
}

async function inboxPictures() {
  const ai = defineOffice();
  const edited = await fill(ai);
  const identify = () => ({ id: 'ada', name: 'Ada Lovelace', roles: ['office'], reach: 'all' });
  const everything = { mayRead: () => true, maySteer: () => true };
  const server = await serve(ai, { port: 0, identify, ...everything, model: { name: 'openai/gpt-5', demo: false } });
  const at = (path) => `http://127.0.0.1:${server.port}${path}`;
  try {
    const ready = (page) => page.getByRole('button', { name: 'Approve' }).waitFor();
    await take(browser, 'inbox', at('/'), DESKTOP, 'light', ready);
    await take(browser, 'inbox-dark', at('/'), DESKTOP, 'dark', ready);
    await take(browser, 'run', at(`/runs/${edited}`), DESKTOP, 'light', (page) => page.getByText('Total').waitFor());
    await take(browser, 'dashboard', at('/dashboard'), DESKTOP, 'light', (page) =>
      page.getByText('Median time').waitFor(),
    );
  } finally {
    await server.close();
  }
}

async function examplePictures() {
  const port = 34_567;
  const env = {
    ...process.env,
    NEXT_TELEMETRY_DISABLED: '1',
    COUNTERSIGN_DB: join(folder, 'chat.sqlite'),
    DEMO_DELAY_MS: '2',
  };
  const [command, next] = tool('next');
  const app = spawn(command, [next, 'dev', '-p', `${port}`], { cwd: join(root, 'examples/nextjs-chat'), env });
  const ended = new Promise((resolve) => app.once('exit', resolve));
  try {
    await new Promise((resolve, reject) => {
      app.stdout.on('data', (text) => `${text}`.includes('Ready in') && resolve());
      app.once('exit', () => reject(new Error('next dev ended')));
    });
    const asked = async (page) => {
      await page.waitForLoadState('networkidle');
      await page.getByLabel('Your message').fill('Pay the two invoices');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Approve' }).nth(1).waitFor();
      // Shown while developing only.
      await page.addStyleTag({ content: 'nextjs-portal { display: none }' });
    };
    const edit = async (page, amount) => {
      await page.getByRole('button', { name: 'Edit' }).first().click();
      await page.getByLabel('amount').fill(amount);
    };
    const url = `http://localhost:${port}/`;
    await take(browser, 'chat', url, DESKTOP, 'light', async (page) => {
      await asked(page);
      await edit(page, '400');
      await page.getByRole('button', { name: 'Approve with these changes' }).click();
      await page.getByText('Approved with changes').waitFor();
    });
    await take(browser, 'chat-phone-dark', url, PHONE, 'dark', async (page) => {
      await asked(page);
      await edit(page, '400');
      await page.getByRole('heading', { name: /Northwind/ }).scrollIntoViewIfNeeded();
    });
  } finally {
    app.kill();
    await ended;
  }
}

/** Three agents, whose model follows the plan of its prompt. */
function defineOffice() {
  const model = scriptedModel(({ messages }) => {
    pass(1_200 + messages.length * 300);
    const step = plans.get(messages[0].content[0].text)[messages.filter(({ role }) => role === 'tool').length];
    const usage = { inputTokens: 1_180, outputTokens: 64, totalTokens: 1_244 };
    return step
      ? { text: step.text, calls: step.calls.map(([name, input]) => ({ name, input })), usage }
      : { text: 'Done.', usage };
  });
  const ai = countersign({ policyFor: () => ({ deciders: { roles: ['office'] } }), model, store });
  const act = (name, properties, options, output = 'ok') =>
    ai.defineTool({ name, description: name, inputSchema: z.object(properties), ...options }, () => {
      pass(640);
      return output;
    });
  const payInvoice = act(
    'payInvoice',
    {
      to: z.string().meta({ title: 'Payee' }),
      amount: z.number().meta({ title: 'Amount', ...money({ currencyField: 'currency' }) }),
      currency: z.string().meta({ title: 'Currency' }),
      due: z.iso.date().meta({ title: 'Pay until' }),
      reference: z.string().meta({ title: 'Invoice' }),
    },
    {
      title: ({ to, amount }) => `Pay €${amount.toLocaleString('en')} to ${to}`,
      needsApproval: () => ({
        message: 'This moves money and cannot be undone.',
        risk: 'high',
        labels: ['payments'],
        expiresIn: DAY,
      }),
    },
    { receipt: 'R-7731' },
  );
  const deploy = act(
    'deploy',
    { service: z.string(), version: z.string(), rollout: z.number() },
    {
      title: ({ service, version }) => `Deploy ${service} ${version} to production`,
      needsApproval: () => ({ message: 'All 214 tests passed.', risk: 'medium', labels: ['deploys'] }),
    },
  );
  const sendMail = act(
    'sendMail',
    { to: z.string(), subject: z.string(), body: z.string() },
    {
      title: ({ to, subject }) => `Send “${subject}” to ${to}`,
      needsApproval: () => ({ message: 'It goes out under your name.', risk: 'low', labels: ['mail'] }),
    },
  );
  const deleteUsers = act(
    'deleteUsers',
    { count: z.number(), sql: z.string() },
    {
      title: ({ count }) => `Delete ${count.toLocaleString('en')} inactive users`,
      needsApproval: () => ({
        message: 'No backup is younger than six hours.',
        risk: 'high',
        labels: ['database'],
      }),
    },
  );
  const lookUpCustomer = act('lookUpCustomer', { id: z.string() }, {}, { name: 'ACME GmbH', openInvoices: 1 });
  const askSlot = ai.defineInterrupt({
    name: 'askSlot',
    description: 'Asks for a time.',
    inputSchema: z.object({ question: z.string(), choices: z.array(z.string()) }),
    outputSchema: z.string(),
  });
  ai.defineAgent({ name: 'bookkeeper', tools: [payInvoice, lookUpCustomer] });
  ai.defineAgent({ name: 'release-manager', tools: [deploy, askSlot] });
  ai.defineAgent({ name: 'support', tools: [sendMail, deleteUsers] });
  return ai;
}

/** Lets a month pass: decides what was asked, and leaves five requests. Resolves to the run of the edited payment. */
async function fill(ai) {
  const invoice = (to, amount, reference) => ({ to, amount, currency: 'EUR', due: '2026-12-04', reference });
  const pay = (to, amount, reference) => [
    { text: 'I look up the customer first.', calls: [['lookUpCustomer', { id: 'C-7' }]] },
    { text: 'The invoice matches purchase order 5521.', calls: [['payInvoice', invoice(to, amount, reference)]] },
  ];
  const one = (text, name, input) => [{ text, calls: [[name, input]] }];
  const ship = (version) => one('The pipeline is green.', 'deploy', { service: 'checkout', version, rollout: 25 });
  const mail = (to, subject) =>
    one('', 'sendMail', { to, subject, body: 'Hello,\n\nyour parcel left our warehouse today.' });
  const slot = one('', 'askSlot', { question: 'When should checkout 4.19 go out?', choices: ['Tuesday', 'Friday'] });
  const SQL = "DELETE FROM users\nWHERE last_login < now() - interval '2 years'\n  AND NOT subscribed;";
  const clean = one('They have not logged in for two years.', 'deleteUsers', { count: 1_284, sql: SQL });

  const begin = async (agent, prompt, steps) => {
    plans.set(prompt, steps);
    const { id } = await ai.agents.get(agent).start(prompt, { by: 'grace' });
    return { id, pending: (await ai.runs.wait(id)).pending[0] };
  };
  const decide = async ({ id, pending }, decision, by, afterMs, note) => {
    pass(afterMs);
    await ai.runs.decide(pending, decision, { by, roles: ['office'], ...(note && { note }) });
    await ai.runs.wait(id, { until: 'end' });
  };

  const people = ['ada', 'grace', 'linus'];
  let count = 0;
  for (let day = 29; day >= 1; day--)
    for (let nth = [6, 5, 7, 6, 4, 1, 2][day % 7]; nth > 0; nth--) {
      goTo(day * DAY + nth * 40 * MINUTE);
      count += 1;
      const kinds = [
        [
          'bookkeeper',
          `Pay invoice INV-${1_000 + count}`,
          pay('Lantern Hosting', 120 + count * 7, `INV-${1_000 + count}`),
        ],
        ['release-manager', `Ship checkout 4.${count}`, ship(`4.${count}.0`)],
        [
          'support',
          `Tell customer ${count} that the parcel left`,
          mail('customer@example.com', 'Your parcel is on its way'),
        ],
        ['release-manager', `Find a slot for release ${count}`, slot],
        ['support', `Clean up inactive users, batch ${count}`, clean],
      ];
      const [agent, prompt, steps] = kinds[(count * 3) % kinds.length];
      const decision =
        steps === slot
          ? { type: 'respond', output: 'Tuesday' }
          : count % 6 === 0
            ? { type: 'reject', reason: 'Not this week.' }
            : { type: 'approve' };
      await decide(await begin(agent, prompt, steps), decision, people[count % 3], (1 + ((count * 7) % 23)) * MINUTE);
    }

  goTo(3 * HOUR);
  const edited = await begin('bookkeeper', 'Pay the open invoice of ACME', pay('ACME GmbH', 1_050, 'INV-1042'));
  const edit = invoice('ACME GmbH', 950, 'INV-1042');
  await decide(edited, { type: 'approve', edit }, 'grace', 4 * MINUTE, 'Their discount was missing.');

  for (const [ago, agent, prompt, steps] of [
    [41, 'bookkeeper', 'Pay the second invoice of ACME', pay('ACME GmbH', 950, 'INV-1043')],
    [28, 'release-manager', 'Ship checkout 4.18', ship('v4.18.0')],
    [17, 'support', 'Delete users who have been inactive for two years', clean],
    [9, 'release-manager', 'When can the next release go out?', slot],
    [3, 'support', 'Tell Bob that the report is ready', mail('bob@example.com', 'The report is ready')],
  ]) {
    goTo(ago * MINUTE);
    await begin(agent, prompt, steps);
  }
  offset = 0;
  return edited.id;
}
