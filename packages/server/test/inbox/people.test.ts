// Who should decide, and who decides for whom: a request is assigned on its card, and a person names a delegate on the page Away.
import { expect, test } from 'vitest';
import { account, browse, card, cardPath, list, openDesk, PHONE, withBrowser } from './desk.ts';

withBrowser();

test('a request is assigned to the user, to a person by name, and released; others see it at once', async () => {
  const desk = await openDesk();
  const [id = ''] = await desk.waiting(await desk.start([['pay', { to: 'Northwind', amount: 500 }]]));
  const assignedTo = async () => (await desk.ai.runs.request(id)).progress?.assignedTo;
  const ada = await browse(desk, 'ada', cardPath(id));
  const ben = await browse(desk, 'ben', cardPath(id));
  const choose = async (button: string, entry: string) => {
    await card(ada).getByRole('button', { name: button, exact: true }).click();
    await ada.getByRole('menuitem', { name: entry, exact: true }).click();
  };
  await choose('Assign', 'Assign to me');
  await card(ben).getByRole('article').getByText('Assigned to ada', { exact: true }).waitFor();
  // From now on it waits for another person, to ben.
  await list(ben).getByRole('button', { name: 'Show 1 waiting for others' }).click();
  await list(ben)
    .getByRole('link', { name: /Assigned to ada/ })
    .waitFor();
  await ben.goto(`${desk.url}${cardPath(id)}`);
  expect(await assignedTo()).toBe('ada');

  await choose('Assigned to you', 'Assign to somebody…');
  await ada.getByRole('dialog').getByLabel('Person').fill('ben');
  await ada.getByRole('dialog').getByRole('button', { name: 'Assign' }).click();
  await card(ben).getByRole('button', { name: 'Assigned to you' }).waitFor();
  expect(await assignedTo()).toBe('ben');

  await choose('Assigned to ben', 'Release');
  await card(ben).getByRole('button', { name: 'Assign', exact: true }).waitFor();
  expect(await assignedTo()).toBe(null);
});

/** So many days from now, as a field for a time takes it. */
const dayIn = (days: number): string => `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T09:00`;

test('a person names a delegate for a period, the delegate sees it, and the person ends it', async () => {
  const desk = await openDesk();
  for (const person of ['ben', 'cara']) await desk.as(person)('GET', '/api/v1/me');
  const ada = await browse(desk, 'ada', '/', { viewport: PHONE });
  await account(ada, 'Away');
  await ada.getByLabel('Delegate').fill('ada');
  await ada.getByLabel('Until').fill(dayIn(30));
  await ada.getByRole('button', { name: 'Be away' }).click();
  await ada.getByRole('alert').getByText('ada cannot stand in for themselves').waitFor();
  await ada.getByLabel('Delegate').fill('mallory@elsewhere.example');
  await ada.getByRole('button', { name: 'Be away' }).click();
  await ada.getByRole('alert').getByText('mallory@elsewhere.example is not known here').waitFor();
  await ada.getByLabel('Delegate').fill('ben');
  await ada.getByRole('button', { name: 'Be away' }).click();
  await ada.getByText(/^ben decides for you from/).waitFor();
  expect(await desk.ai.people.actsFor('ben')).toEqual(['ada']);
  const ben = await browse(desk, 'ben', '/away');
  await ben.getByText('You decide for ada, who is away.').waitFor();

  await ada.getByLabel('Delegate').fill('cara');
  await ada.getByLabel('From').fill(dayIn(20));
  await ada.getByLabel('Until').fill(dayIn(30));
  await ada.getByRole('button', { name: 'Replace absence' }).click();
  await ada.getByText(/^cara will decide for you from/).waitFor();
  expect(await desk.ai.people.actsFor('ben')).toEqual([]);
  await ada.getByRole('button', { name: 'Cancel absence' }).click();
  await ada.getByRole('button', { name: 'Be away' }).waitFor();
  expect(await desk.ai.people.absences()).toEqual([]);
});
