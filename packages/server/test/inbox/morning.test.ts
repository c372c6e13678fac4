// A morning of a finance team: ann asks, ben edits, cem agrees on a phone. A payment is refused, the server dies in another, many are
// decided at once, and a grant is given and used. At every step each of the three sees what is true.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { campaignSize } from '../../../countersign/test/campaign-size.ts';
import { asking } from '../server.ts';
import { builtInbox } from './built-inbox.ts';
import { browse, card, type Desk, list, PHONE, toast, withBrowser } from './desk.ts';

withBrowser();

/** Runs of ten payments each. */
const RUNS = campaignSize(2, 20);

type Office = Pick<Desk, 'url' | 'as'> & {
  /** The payments that the bank has heard of. */
  readonly effects: () => Promise<readonly string[]>;
  readonly kill: () => Promise<void>;
  readonly comeBack: () => Promise<void>;
  /** Ann asks for these payments; resolves with the run and its requests. */
  readonly asks: (
    ...payments: readonly object[]
  ) => Promise<{ readonly runId: string; readonly ids: readonly string[] }>;
};

async function openOffice(): Promise<Office> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-morning-'));
  const effects = join(folder, 'effects.txt');
  const inbox = await builtInbox();
  let child: ChildProcess | undefined;
  let port = 0;
  const start = async () => {
    const args = [
      join(import.meta.dirname, 'morning-child.ts'),
      join(folder, 'runs.sqlite'),
      String(port),
      inbox,
      effects,
    ];
    const started = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    child = started;
    const [line] = (await once(started.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
    ({ port } = JSON.parse(line.toString()) as { port: number });
  };
  const kill = async () => {
    const gone = child && child.exitCode === null && child.signalCode === null ? once(child, 'close') : undefined;
    child?.kill('SIGKILL');
    await gone;
  };
  await start();
  onTestFinished(async () => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  const as: Desk['as'] = (person) => asking(url, { 'x-user': person });
  return {
    url,
    as,
    kill,
    comeBack: start,
    effects: async () => (await readFile(effects, 'utf8').catch(() => '')).split('\n').filter((line) => line !== ''),
    asks: async (...payments) => {
      const { body } = await as('ann')('POST', '/api/v1/runs', { agent: 'accounts', prompt: JSON.stringify(payments) });
      const requests = async (): Promise<readonly { readonly id: string }[]> =>
        (await as('ann')('GET', `/api/v1/requests?runId=${body.id}&limit=200`)).body.items;
      await expect.poll(async () => (await requests()).length).toBe(payments.length);
      return { runId: body.id, ids: (await requests()).map(({ id }) => id) };
    },
  };
}

const at = (id: string): string => `/requests/${encodeURIComponent(id)}`;
const past = (id: string): string => `/history/${encodeURIComponent(id)}`;

/** Each of the three looks: the one who asked in the chat, the others at the request, cem on a phone. */
async function lookouts(office: Office) {
  const desk = office as unknown as Desk;
  const ann = await browse(desk, 'ann');
  const ben = await browse(desk, 'ben');
  const cem = await browse(desk, 'cem', '/', { viewport: PHONE, colorScheme: 'dark' });
  return async ({ runId, id }: { readonly runId: string; readonly id: string }, text: string | RegExp) => {
    await ann.goto(`${office.url}/chat/accounts/${runId}`);
    for (const page of [ben, cem]) await page.goto(`${office.url}${past(id)}`);
    for (const page of [ann, ben, cem]) await page.getByText(text).filter({ visible: true }).first().waitFor();
  };
}

test('a morning of three people', { timeout: 600_000 }, async () => {
  const office = await openOffice();
  const desk = office as unknown as Desk;
  const see = await lookouts(office);

  // Ann asks. Ben edits, so cem must agree, on a phone.
  const first = await office.asks({ to: 'ACME', amount: 950 });
  const ann = await browse(desk, 'ann', `/chat/accounts/${first.runId}`);
  await ann.getByRole('heading', { name: 'Pay €950 to ACME' }).waitFor();
  const ben = await browse(desk, 'ben', at(first.ids[0] ?? ''));
  await card(ben).getByRole('button', { name: 'Edit' }).click();
  await card(ben).getByLabel('Amount').fill('900');
  await card(ben).getByRole('button', { name: 'Approve with these changes' }).click();
  await ann.getByRole('heading', { name: 'Pay €900 to ACME' }).waitFor();
  const edited = (
    (await office.as('cem')('GET', `/api/v1/requests?runId=${first.runId}`)).body.items as { id: string }[]
  )[0];
  const cem = await browse(desk, 'cem', at(edited?.id ?? ''), { viewport: PHONE });
  await card(cem).getByText('ben').first().waitFor();
  await card(cem).getByRole('button', { name: 'Approve', exact: true }).click();
  await toast(cem, 'approved', /Done: Paid, reference R-900/).waitFor();
  await ann.getByText('Done: Paid, reference R-900').first().waitFor();
  await see({ runId: first.runId, id: edited?.id ?? '' }, 'Done: Paid, reference R-900');
  // The request before the edit says what became of it.
  const before = await browse(desk, 'cem', past(first.ids[0] ?? ''), { viewport: PHONE });
  await before
    .getByText(/Changes proposed by/)
    .filter({ visible: true })
    .first()
    .waitFor();
  expect(await office.effects()).toHaveLength(1);

  // The bank refuses.
  const refused = await office.asks({ to: 'Refused Ltd', amount: 120 });
  await ben.goto(`${office.url}${at(refused.ids[0] ?? '')}`);
  await card(ben).getByRole('button', { name: 'Approve', exact: true }).click();
  await toast(ben, 'failed', /The bank refused: the account is closed/).waitFor();
  await see({ runId: refused.runId, id: refused.ids[0] ?? '' }, /Failed: The bank refused: the account is closed\./);

  // The server dies while the bank is paying.
  const hanging = await office.asks({ to: 'Hanging Ltd', amount: 130 });
  const id = hanging.ids[0] ?? '';
  await office.as('ben')('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, {
    decision: { type: 'approve' },
  });
  await expect.poll(office.effects).toHaveLength(3);
  await see({ runId: hanging.runId, id }, 'Running…');
  await office.kill();
  await office.comeBack();
  const waiting = async () =>
    (await office.as('ben')('GET', `/api/v1/requests?runId=${hanging.runId}`)).body.items as {
      id: string;
      kind: string;
    }[];
  await expect.poll(async () => (await waiting()).map(({ kind }) => kind), { timeout: 60_000 }).toEqual(['doubt']);
  const [doubt] = await waiting();
  await see({ runId: hanging.runId, id }, 'nobody knows yet whether it took effect');
  await ben.goto(`${office.url}${at(doubt?.id ?? '')}`);
  await card(ben).getByText('Look for the key in the journal of the bank.').waitFor();
  await card(ben)
    .getByRole('button', { name: /It happened/ })
    .click();
  await card(ben).getByRole('textbox').first().fill('Paid, says the journal.');
  await card(ben).getByRole('button', { name: 'Send' }).click();
  await see({ runId: hanging.runId, id }, /Done: Paid, says the journal\./);
  expect(await office.effects()).toHaveLength(3);

  // Many payments are decided together: two hundred where the long campaigns run.
  const count = 10 * RUNS;
  const runs = await Promise.all(
    Array.from({ length: RUNS }, (_, run) =>
      office.asks(...Array.from({ length: 10 }, (_, call) => ({ to: `Vendor ${run}-${call}`, amount: 1 + call }))),
    ),
  );
  await ben.goto(`${office.url}/`);
  await list(ben).getByRole('button', { name: 'Decide together' }).click();
  await card(ben)
    .getByRole('heading', { name: `${count} requests selected` })
    .waitFor();
  await card(ben)
    .getByRole('button', { name: `Approve ${count}` })
    .click();
  await card(ben).getByText(`${count} decided.`).waitFor({ timeout: 300_000 });
  await expect.poll(async () => (await office.effects()).length, { timeout: 120_000 }).toBe(count + 3);
  await see({ runId: runs.at(-1)?.runId ?? '', id: runs.at(-1)?.ids[9] ?? '' }, /Done: Paid, reference R-/);

  // A grant is given with an approval, and the next payment needs nobody.
  const small = await office.asks({ to: 'Baker', amount: 20 });
  const grant = { uses: 3, expiresAt: Date.now() + 3_600_000, where: [{ field: 'to', equals: 'Baker' }] };
  const given = await office.as('ben')('POST', `/api/v1/requests/${encodeURIComponent(small.ids[0] ?? '')}/decide`, {
    decision: { type: 'approve' },
    grant,
  });
  expect(given.status).toBe(200);
  const { body: run } = await office.as('ann')('POST', '/api/v1/runs', {
    agent: 'accounts',
    prompt: JSON.stringify([{ to: 'Baker', amount: 21 }]),
  });
  await expect.poll(async () => (await office.effects()).filter((line) => line.startsWith('Baker')).length).toBe(2);
  await ann.goto(`${office.url}/runs/${run.id}`);
  await ann.getByText(/grant/i).first().waitFor();
});
