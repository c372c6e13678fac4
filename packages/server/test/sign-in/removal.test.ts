// A removed person loses everything at once: sessions, tokens, links, passkeys, grants and votes on requests that wait.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken } from '@countersign/server';
import { sqliteStore } from 'countersign/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { softKey } from '../../../countersign/test/passkeys/soft-key.ts';
import { removeThoseWhoLeft } from '../../src/sign-in/removal.ts';
import { workplaceForEach } from '../cli/workplace.ts';
import { linkedRequest } from '../links/linked-request.ts';
import { asking, begin } from '../server.ts';
import { openBrowserOf, openCompany } from './company.ts';

vi.setConfig({ testTimeout: 60_000 });
const place = workplaceForEach({ agents: false });
const ANN = 'ann@example.com';

async function openOffice() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-removal-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'runs.sqlite');
  const two = { quorum: [{ of: { roles: ['finance'] }, count: 2 }] };
  const office = await openCompany({
    store: sqliteStore(file),
    company: { roles: { Payments: 'finance' } },
    instance: {
      policyFor: ({ input }) =>
        (input as { amount: number }).amount > 1_000 ? two : { deciders: { roles: ['finance'] } },
    },
  });
  const people = (...args: readonly string[]) =>
    place.countersign(['people', ...args, '--store', `sqlite:${file}`, '--json']);
  const decide = (browser: ReturnType<typeof openBrowserOf>, { requests: [card] }: any, more: object = {}) => {
    const path = `/api/v1/requests/${encodeURIComponent(card.id)}/decide`;
    return browser.api(office.url, 'POST', path, { decision: { type: 'approve' }, digest: card.digest, ...more });
  };
  return { ...office, people, decide };
}

test('what a removed person has ends at once, and the record says so', async () => {
  const { url, ai, as, server, people, decide, paid } = await openOffice();
  const paul = await as('paul');
  const ann = openBrowserOf();
  await ann.signIn(url, 'ann');
  const { token } = await createToken(ai.runs.notes, { person: ANN, roles: ['finance'] });
  const link = await server.app.loginPath({ id: ANN });
  await ai.runs.passkeys.add(ANN, softKey().passkey);
  const grant = { where: [{ field: 'to', equals: 'bob' }], uses: 5, expiresAt: Date.now() + 3_600_000 };
  const small = await begin(paul, ai, 'pay bob 500');
  expect(await decide(ann, small, { grant })).toMatchObject({ status: 200 });
  await ai.runs.wait(small.id);
  const large = await begin(paul, ai, 'pay cem 5000');
  expect(await decide(ann, large)).toMatchObject({ body: { status: 'waiting' } });
  expect((await begin(paul, ai, 'pay bob 500')).status).toBe('done');

  const removed = await people('remove', ANN, '--reason', 'has left', '--by', 'root');
  expect(removed.stderr).toBe('');
  const ended = { sessions: 1, tokens: 1, links: 1, passkeys: 1, grants: 1, votes: 1 };
  expect(JSON.parse(removed.stdout)).toEqual({ person: ANN, removed: true, ...ended });

  expect(await ann.me(url)).toBe(401);
  expect((await asking(url, { authorization: `Bearer ${token}` })('GET', '/api/v1/me')).status).toBe(401);
  expect((await openBrowserOf().go(`${url}${link}`)).status).toBe(401);
  expect(await ai.runs.passkeys.list(ANN)).toMatchObject([{ revokedAt: expect.any(Number) }]);
  const [revoked] = (await ai.grants.list({})).items;
  expect(revoked?.revoked).toMatchObject({ by: 'root', reason: `${ANN} was removed: has left` });
  expect((await begin(paul, ai, 'pay bob 500')).status).toBe('waiting');
  const [{ id }] = large.requests;
  expect((await ai.runs.request(id)).progress).toMatchObject({ votes: [], missing: [{ count: 2 }] });
  const [event] = (await ai.runs.recorded(large.id)).filter(({ type }) => type === 'votes-withdrawn');
  expect(event).toMatchObject({ of: ANN, by: 'root', reason: 'has left' });
  expect(paid).toHaveLength(2);
  // Doing it again changes nothing.
  const again = JSON.parse((await people('remove', ANN)).stdout);
  expect(again).toMatchObject({ sessions: 0, tokens: 0, links: 0, passkeys: 0, grants: 0, votes: 0 });
  expect(JSON.parse((await people('list')).stdout).items).toMatchObject([
    { person: ANN, by: 'root', reason: 'has left' },
  ]);
});

test('a removed person gets nothing new until they are restored', async () => {
  const { url, ai, as, server, people, decide } = await openOffice();
  const ann = openBrowserOf();
  const early = await server.app.loginPath({ id: ANN });
  await people('remove', ANN);
  const page = await ann.signIn(url, 'ann');
  expect(page).toMatchObject({ status: 403, text: expect.stringContaining('was removed') });
  expect((await openBrowserOf().go(`${url}${early}`)).status).toBe(401);
  const refused = { code: 'not-allowed' };
  await expect(server.app.loginPath({ id: ANN })).rejects.toMatchObject(refused);
  await expect(createToken(ai.runs.notes, { person: ANN })).rejects.toMatchObject(refused);
  await people('restore', ANN);
  await ann.signIn(url, 'ann');
  expect(await ann.me(url)).toMatchObject({ id: ANN, roles: ['finance'] });
  expect(await decide(ann, await begin(await as('paul'), ai, 'pay bob 500'))).toMatchObject({ status: 200 });
});

test('a person whom a proxy still signs in decides nothing after their removal', async () => {
  const { url, ai, as, people } = await openCompany({
    identify: (request) => (request.headers.get('x-user') ? { id: ANN, roles: ['finance'] } : null),
    instance: { policyFor: () => ({ deciders: { roles: ['finance'] } }) },
  }).then((opened) => ({ ...opened, people: opened.ai.people }));
  const { requests } = await begin(await as('paul'), ai, 'pay bob 500');
  const ann = asking(url, { 'x-user': 'ann', 'sec-fetch-site': 'same-origin' });
  const path = `/api/v1/requests/${encodeURIComponent(requests[0].id)}`;
  expect((await ann('GET', path)).status).toBe(200);
  await people.remove(ANN, { by: 'root' });
  expect((await ann('GET', path)).status).toBe(404);
  const decision = { decision: { type: 'approve' }, digest: requests[0].digest };
  expect((await ann('POST', `${path}/decide`, decision)).status).toBe(404);
});

test('an operator signs a person out, who signs in again with the roles of that moment', async () => {
  const { url, accounts, people } = await openOffice();
  const ann = openBrowserOf();
  await ann.signIn(url, 'ann');
  accounts.set('ann', { ...accounts.get('ann'), groups: [] });
  expect(JSON.parse((await people('sign-out', ANN)).stdout)).toEqual({ person: ANN, sessions: 1, tokens: 0 });
  expect(await ann.me(url)).toBe(401);
  await ann.signIn(url, 'ann');
  expect(await ann.me(url)).toMatchObject({ roles: [] });
});

test('an account takes a new name only after an operator allows it', async () => {
  const { url, accounts, people } = await openOffice();
  await openBrowserOf().signIn(url, 'ann');
  accounts.set('ann', { ...accounts.get('ann'), email: 'ann.meier@example.com' });
  expect((await openBrowserOf().signIn(url, 'ann')).status).toBe(403);
  expect(JSON.parse((await people('restore', ANN)).stdout)).toEqual({ person: ANN, restored: false });
  const browser = openBrowserOf();
  await browser.signIn(url, 'ann');
  expect(await browser.me(url)).toMatchObject({ id: 'ann.meier@example.com' });
});

test('a decision link in a mail decides nothing after the removal', async () => {
  const { ai, link, ran, request } = await linkedRequest();
  const url = String(await link());
  expect((await fetch(url)).status).toBe(200);
  await ai.people.remove('ann', { by: 'root' });
  expect((await fetch(url)).status).not.toBe(200);
  const body = new URLSearchParams({ digest: (await request()).digest, decision: 'approve', confirmed: 'yes' });
  const sent = await fetch(url, { method: 'POST', body, headers: { origin: new URL(url).origin } });
  expect(sent.ok).toBe(false);
  expect(ran).toEqual([]);
  expect((await request()).settledAt).toBeNull();
});

test('a person whom the directory no longer knows decides nothing, does not sign in, and is removed', async () => {
  const left = new Set<string>();
  const isActive = (person: string) => !left.has(person);
  const { url, ai, as } = await openCompany({
    company: { roles: { Payments: 'finance' } },
    instance: { people: { isActive }, policyFor: () => ({ quorum: [{ of: { roles: ['finance'] }, count: 2 }] }) },
  });
  const ann = openBrowserOf();
  await ann.signIn(url, 'ann');
  const { requests } = await begin(await as('paul'), ai, 'pay bob 500');
  const path = `/api/v1/requests/${encodeURIComponent(requests[0].id)}/decide`;
  const decision = { decision: { type: 'approve' }, digest: requests[0].digest };
  expect(await removeThoseWhoLeft(ai)).toEqual([]);
  expect(await ann.api(url, 'POST', path, decision)).toMatchObject({ body: { status: 'waiting' } });
  left.add(ANN);
  expect((await ann.api(url, 'POST', path, decision)).status).toBe(404);
  expect((await openBrowserOf().signIn(url, 'ann')).status).toBe(403);
  expect(await removeThoseWhoLeft(ai)).toEqual([ANN]);
  expect(await ann.me(url)).toBe(401);
  expect((await ai.runs.request(requests[0].id)).progress?.votes).toEqual([]);
  expect(await ai.people.removals()).toMatchObject([{ person: ANN, by: 'directory' }]);
  expect(await removeThoseWhoLeft(ai)).toEqual([]);
});
