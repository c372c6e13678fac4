// Freezes in the inbox: one control with a confirmation, a banner on every page, what a frozen request says, and two people who lift it.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { browse, card, cardPath, openDesk, PATIENT, PHONE, withBrowser } from './desk.ts';

withBrowser();

const SHOTS = process.env.SHOTS;
const freezes = {
  freeze: { deciders: { people: ['ada', 'ben'] } },
  lift: { quorum: [{ of: { people: ['ada', 'ben', 'cem'] }, count: 2 }] },
};

test('ada freezes payments after a confirmation, an approved one waits and says so, and two people lift it', async () => {
  const desk = await openDesk({}, { freezes });
  const run = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [asked = ''] = await desk.waiting(run);
  const shot = async (page: Awaited<ReturnType<typeof browse>>, name: string) =>
    SHOTS && (await page.screenshot({ path: join(SHOTS, `${name}.png`) }));
  const ada = await browse(desk, 'ada', cardPath(asked));
  await ada.getByRole('button', { name: 'Freeze…' }).click();
  const dialog = ada.getByRole('dialog', { name: 'Freeze calls' });
  await dialog.getByLabel('Tools').fill('pay');
  await dialog.getByRole('button', { name: 'Freeze pay' }).click();
  expect(await desk.ai.freezes.list()).toEqual([]);
  await dialog.getByLabel('Why').fill('The mailbox was hacked.');
  await shot(ada, 'dialog');
  await dialog.getByRole('button', { name: 'Freeze pay' }).click();
  await ada.getByText('Frozen. No covered call was running.').waitFor();
  const banner = ada.getByRole('region', { name: 'Freezes' });
  await banner.getByText(/Frozen: pay\.\s+The mailbox was hacked\./).waitFor();
  await shot(ada, 'banner');

  const approved = { decision: { type: 'approve' } };
  await desk.as('ben')('POST', `/api/v1/requests/${encodeURIComponent(asked)}/decide`, approved);
  await ada.goto(`${desk.url}/history/${encodeURIComponent(asked)}`);
  await card(ada)
    .getByText(/frozen/i)
    .first()
    .waitFor();
  await shot(ada, 'frozen-card');
  expect(desk.done).toEqual([]);

  await banner.getByRole('button', { name: 'Lift…' }).click();
  await ada.getByRole('dialog', { name: 'Lift this freeze?' }).getByRole('button', { name: 'Lift' }).click();
  await ada.getByText('Recorded. Others must agree, too.').waitFor();
  await banner.getByText(/1 of 2/).waitFor();
  await shot(ada, 'one-vote');
  const ben = await browse(desk, 'ben', '/', { viewport: PHONE, colorScheme: 'dark' });
  const other = ben.getByRole('region', { name: 'Freezes' });
  await other.getByText(/1 of 2/).waitFor();
  await shot(ben, 'phone-dark');
  await other.getByRole('button', { name: 'Lift…' }).click();
  const lifting = ben.getByRole('dialog', { name: 'Lift this freeze?' });
  await lifting.getByText('The mailbox was hacked.').waitFor();
  await shot(ben, 'lift-phone-dark');
  await lifting.getByRole('button', { name: 'Lift' }).click();
  await ben.getByText('Lifted. Waiting calls continue.').waitFor();
  await desk.ai.runs.wait(run, { until: 'end' });
  expect(desk.done).toHaveLength(1);
  await expect.poll(() => other.getByText(/Frozen/).count(), PATIENT).toBe(0);
});

test('on a phone, the account menu leads to the dialog', async () => {
  const desk = await openDesk({}, { freezes });
  await desk.ai.freezes.freeze(
    { reason: 'An incident that takes a long sentence to tell on a small screen.' },
    { by: 'ben' },
  );
  const ada = await browse(desk, 'ada', '/', { viewport: PHONE });
  await ada
    .getByRole('button', { name: /^Account/ })
    .filter({ visible: true })
    .click();
  await ada.getByRole('menuitem', { name: 'Freeze…' }).click();
  await ada.getByRole('dialog', { name: 'Freeze calls' }).waitFor();
  if (SHOTS) await ada.screenshot({ path: join(SHOTS, 'dialog-phone.png') });
});
