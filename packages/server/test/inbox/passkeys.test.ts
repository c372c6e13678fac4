// Passkeys in a real browser: enrolled on their page, asked for by a decision that must be signed, and good for nothing else.
import { evidenceText, verifyEvidence, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { asking } from '../server.ts';
import { browse, card, cardPath, type Desk, openDesk, PATIENT, withBrowser } from './desk.ts';

withBrowser();

/** Passkeys belong to a host name, so not to an IP address. */
async function vault() {
  const opened = await openDesk();
  const desk: Desk = { ...opened, url: opened.url.replace('127.0.0.1', 'localhost') };
  const open = desk.ai.defineTool(
    {
      name: 'open',
      description: 'Opens the vault.',
      inputSchema: z.object({ door: z.number() }),
      needsApproval: { policy: { deciders: { people: ['ada', 'ben'] }, signed: 'passkey' } },
    },
    (input) => {
      desk.done.push({ tool: 'open', input });
      return 'opened';
    },
  );
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Opened.' : { calls: [{ name: 'open', input: { door: 1 } }] },
  );
  const guard = desk.ai.defineAgent({ name: 'guard', description: 'Guards.', tools: [open], model });
  const ask = async (runId: string) => {
    await guard.start('Open.', { runId, by: 'cid' });
    await desk.ai.runs.wait(runId);
    const [id = ''] = await desk.waiting(runId);
    return desk.ai.runs.request(id);
  };
  return { desk, ask, as: (person: string) => asking(desk.url, { 'x-user': person, origin: desk.url }) };
}

async function withAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const;
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options });
}

const approve = (page: Page) => card(page).getByRole('button', { name: 'Approve', exact: true }).click();

test('a signed approval runs the call once, and its assertion is good for nothing else', async () => {
  const { desk, ask, as } = await vault();
  const first = await ask('first');
  const page = await browse(desk, 'ada', '/passkeys');
  await withAuthenticator(page);
  await page.getByLabel('Name of the new passkey').fill('My laptop');
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByText('My laptop').waitFor(PATIENT);

  const sent: any[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/decide')) sent.push(request.postDataJSON());
  });
  await page.goto(`${desk.url}${cardPath(first.id)}`);
  await approve(page);
  await expect.poll(() => desk.done, PATIENT).toEqual([{ tool: 'open', input: { door: 1 } }]);
  // The browser reports the request later than the server runs the call.
  await expect.poll(() => sent.at(-1)?.signature, PATIENT).toBeDefined();
  const { signature } = sent.at(-1);
  const evidence = await desk.ai.runs.evidence('first');
  expect(evidence.requests[0]?.votes).toMatchObject([{ vote: { by: 'ada', signature: { type: 'passkey' } } }]);
  expect((await verifyEvidence(evidenceText(evidence))).problems).toEqual([]);

  const second = await ask('second');
  const decide = (person: string, body: object) =>
    as(person)('POST', `/api/v1/requests/${encodeURIComponent(second.id)}/decide`, {
      digest: second.digest,
      ...body,
    });
  const refused = { status: 403, body: { code: 'invalid-signature' } };
  const decision = { type: 'approve' };
  expect(await decide('ada', { decision, signature })).toMatchObject(refused);
  expect(await decide('ada', { decision: { ...decision, edit: { door: 2 } }, signature })).toMatchObject(refused);
  expect(await decide('ben', { decision, signature })).toMatchObject(refused);
  expect(await decide('ada', { decision })).toMatchObject({ status: 403, body: { code: 'signature-required' } });

  await page.goto(`${desk.url}/passkeys`);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText(/^Revoked/).waitFor(PATIENT);
  await page.goto(`${desk.url}${cardPath(second.id)}`);
  await approve(page);
  await card(page).getByText('ada has no passkey').first().waitFor(PATIENT);
  // Revoking does not open the first enrolment again.
  expect(await as('ada')('POST', '/api/v1/me/passkeys/options')).toMatchObject({ status: 403 });
  expect(desk.done).toHaveLength(1);
  expect(await desk.ai.runs.verify('first')).toMatchObject({ ok: true });
});

test('a person with a passkey signs the name of their delegate with it', async () => {
  const { desk, as } = await vault();
  await as('ben')('GET', '/api/v1/me');
  const page = await browse(desk, 'ada', '/passkeys');
  await withAuthenticator(page);
  await page.getByLabel('Name of the new passkey').fill('My laptop');
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByText('My laptop').waitFor(PATIENT);
  await page.goto(`${desk.url}/away`);
  await page.getByLabel('Delegate').fill('ben');
  await page.getByLabel('Until').fill(`${new Date(Date.now() + 9 * 86_400_000).toISOString().slice(0, 10)}T09:00`);
  await page.getByRole('button', { name: 'Be away' }).click();
  await page.getByText(/^ben decides for you from/).waitFor(PATIENT);
  expect(await desk.ai.people.absenceOf('ada')).toMatchObject({ delegate: 'ben', by: 'ada', how: 'passkey' });
});
