// Signing in by a link in a mail: asked for on the sign-in page, opened in Chromium, and refused where it must be.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { ServeOptions } from '@countersign/server';
import { type CountersignOptions, memoryStore } from 'countersign';
import { expect, onTestFinished, test, vi } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../../../scripts/free-port.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../scripts/test-browser.mjs';
import { openPostOffice } from './channels/mail/post-office.ts';
import { startServer } from './server.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const CONTACTS: Record<string, { name: string; mail: string }> = {
  ann: { name: 'Ann Meier', mail: 'ann@example.com' },
  ben: { name: 'Ben', mail: 'shared@example.com' },
  cem: { name: 'Cem', mail: 'shared@example.com' },
  away: { name: 'Away', mail: 'away@example.com' },
};
const PEOPLE: NonNullable<CountersignOptions['people']> = {
  contactOf: (person) => CONTACTS[person],
  roles: ['finance'],
  membersOf: () => ['ann', 'ben', 'cem', 'away'],
};

type Options = ServeOptions & { readonly people?: CountersignOptions['people']; readonly clock?: () => number };

async function openDesk({ people = PEOPLE, clock, ...options }: Options = {}) {
  const office = await openPostOffice();
  // The port of the server is known only once it listens, so it is taken first.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const started = await startServer({
    channels: [office.channel],
    publicUrl: url,
    port,
    store: memoryStore(clock ? { now: clock } : {}),
    instance: { people, notify: { everyone: ['eve@example.com'] } },
    ...options,
  });
  const headers = { origin: url };
  const post = (path: string, body = '') =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body,
      redirect: 'manual',
    });
  const ask = (name: string) => post('/login/mail', `${new URLSearchParams({ name })}`);
  const linkIn = (index: number): string =>
    /http\S+\/login\/mail\/\S+/.exec(office.mails[index]?.text ?? '')?.[0] ?? '';
  /** Asks and waits for the mail. */
  const link = async (name: string): Promise<string> => {
    const before = office.mails.length;
    await ask(name);
    await vi.waitFor(() => expect(office.mails).toHaveLength(before + 1), 5_000);
    return linkIn(before);
  };
  return { ...started, url, office, post, ask, link, linkIn };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 300));

test('a person asks for a link, opens it from the mail and is signed in, in a browser', async () => {
  const { url, office, linkIn } = await openDesk();
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const page = await (await browser.newContext({ viewport: { width: 390, height: 844 }, isMobile: true })).newPage();
  await page.goto(`${url}/login`);
  expect(await page.getByText(/token/).isVisible()).toBe(false);
  await page.evaluate(axe);
  expect(await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')).toEqual([]);
  await page.getByLabel('Your mail address or user name').fill(' Ann@Example.com ');
  await page.getByRole('button', { name: 'Mail me a link' }).click();
  await page.getByText('If we know you, a link is on its way.').waitFor();
  await vi.waitFor(() => expect(office.mails).toHaveLength(1), 5_000);
  const [mail] = office.mails;
  expect(mail).toMatchObject({ subject: 'Sign in to Countersign', recipients: ['ann@example.com'] });
  expect(mail?.text).toContain('Hello Ann Meier');
  // A program that reads mails opens the link, as often as it likes.
  for (const method of ['GET', 'HEAD', 'GET']) expect((await fetch(linkIn(0), { method })).status).toBe(200);
  await page.goto(linkIn(0));
  await page.getByText('This link signs you in as Ann Meier.').waitFor();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${url}/`);
  const me = await page.evaluate('fetch("/api/v1/me").then((answer) => answer.json())');
  expect(me).toMatchObject({ id: 'ann', name: 'Ann Meier' });
  // Back, reload and a second visit lead to the inbox.
  await page.goto(linkIn(0));
  expect(page.url()).toBe(`${url}/`);
}, 60_000);

test('a link works once, for its person, for ten minutes, on the server that made it', async () => {
  let now = Date.now();
  const desk = await openDesk({ clock: () => now });
  const pathOf = (link: string) => new URL(link).pathname;
  const used = pathOf(await desk.link('ann'));
  expect(await desk.post(used)).toMatchObject({ status: 303 });
  const [token = '', signature = ''] = (
    pathOf(await desk.link('ann'))
      .split('/')
      .at(-1) ?? ''
  ).split('.');
  const [other = '', otherSignature = ''] = (
    pathOf(await desk.link('away'))
      .split('/')
      .at(-1) ?? ''
  ).split('.');
  const refused = [
    used,
    `/login/mail/${token}.${otherSignature}`,
    `/login/mail/${other}.${signature}`,
    `/login/mail/${token}`,
    `/login/mail/${token}.${'A'.repeat(43)}`,
    `/login/mail/${'A'.repeat(43)}.${signature}`,
    `/login/mail/x`,
  ];
  for (const path of refused) {
    expect((await fetch(`${desk.url}${path}`)).status).toBe(401);
    const answer = await desk.post(path);
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
    expect(await answer.text()).toContain('This sign-in link no longer works');
  }
  // What a mail carries does not work where a link is used up by opening it, and the other way round.
  expect((await fetch(`${desk.url}/login?token=${token}`, { redirect: 'manual' })).status).toBe(401);
  const made = (await desk.server.app.loginPath({ id: 'ann' })).split('=').at(-1);
  expect((await desk.post(`/login/mail/${made}.${signature}`)).status).toBe(401);
  expect((await fetch(`${desk.url}/login/mail/${token}.${signature}`)).status).toBe(200);
  now += 11 * 60_000;
  expect((await desk.post(`/login/mail/${token}.${signature}`)).status).toBe(401);
});

test('a page of another site cannot ask or sign in, and someone without rights any more is refused', async () => {
  let known = true;
  const desk = await openDesk({ identifyPerson: (id) => (known ? { id, roles: ['finance'] } : undefined) });
  const link = new URL(await desk.link('ann')).pathname;
  for (const path of ['/login/mail', link]) {
    const answer = await fetch(`${desk.url}${path}`, { method: 'POST', headers: { origin: 'https://evil.example' } });
    expect(answer.status).toBe(403);
  }
  known = false;
  expect((await desk.post(link)).status).toBe(401);
  known = true;
  const cookie = (await desk.post(link)).headers.get('set-cookie')?.split(';')[0] ?? '';
  const me = await (await fetch(`${desk.url}/api/v1/me`, { headers: { cookie } })).json();
  expect(me).toMatchObject({ id: 'ann', roles: ['finance'] });
});

test('people whom nothing knows, and addresses of several people, are answered the same way, without waiting', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const contactOf = async (person: string) => {
    await answered;
    return CONTACTS[person];
  };
  const { ask, office } = await openDesk({ people: { ...PEOPLE, contactOf } });
  // Each is answered while the directory still looks.
  for (const name of ['ann', 'nobody', 'nobody@example.com', 'shared@example.com', '', 'x'.repeat(300)]) {
    const { status, headers } = await ask(name);
    expect([status, headers.get('location')]).toEqual([303, '/login/mail']);
  }
  answer();
  await vi.waitFor(() => expect(office.mails).toHaveLength(1), 30_000);
  await settle();
  expect(office.mails.map(({ recipients }) => recipients)).toEqual([['ann@example.com']]);
});

test('a person gets three mails in ten minutes, and a known address needs no directory', async () => {
  const { ask, office } = await openDesk({ people: {} });
  for (let time = 0; time < 5; time += 1) {
    await ask('eve@example.com');
    await settle();
  }
  expect(office.mails.map(({ recipients }) => recipients)).toEqual([1, 2, 3].map(() => ['eve@example.com']));
});

test('a stranger who sends hundreds of names keeps nobody out', async () => {
  const { ask, link } = await openDesk();
  for (let round = 0; round < 20; round += 1)
    await Promise.all(Array.from({ length: 20 }, (_, index) => ask(`nobody-${round}-${index}@example.com`)));
  expect(await link('ann')).toContain('/login/mail/');
});

test.each<[string, ServeOptions]>([
  ['without mail', { channels: [] }],
  ['if it is off', { mailSignIn: false }],
  ['where a proxy signs people in', { identify: () => null }],
])('the page does not offer it %s', async (_, options) => {
  const { url, post } = await openDesk(options);
  const page = await (await fetch(`${url}/login`)).text();
  expect(page).not.toContain('Mail me a link');
  expect(page).toContain('Ask the person who gave you this address for a sign-in link.');
  expect((await post('/login/mail', 'name=ann')).status).toBe(405);
});
