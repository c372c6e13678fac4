// Whose turn it is: what waits for a person and for others, how many there are, and what stands out.
import { createClient } from '@countersign/server/client';
import { tool, z } from 'countersign';
import { expect, test } from 'vitest';
import { type Ask, startServer } from './server.ts';

const path = (id: string): string => `/api/v1/requests/${encodeURIComponent(id)}`;
const approve = { decision: { type: 'approve' } };
const FINANCE = { roles: ['finance'] };

/** Payments that finance approves, two people above 1,000. Ann asks; ben and cara are of finance. */
async function treasury() {
  const server = await startServer();
  const { ai, as } = server;
  const pay = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      needsApproval: ({ amount }) => ({
        policy: amount > 1_000 ? { quorum: [{ of: FINANCE, count: 2 }] } : { deciders: FINANCE },
      }),
    },
    () => 'paid',
  );
  const treasurer = ai.defineAgent({ name: 'treasurer', tools: [pay] });
  const ask = async (to: string, amount: number, by = 'ann'): Promise<string> => {
    const { id } = await treasurer.start(`pay ${to} ${amount}`, { by });
    await ai.runs.wait(id);
    return (await ai.runs.get(id)).pending[0] ?? '';
  };
  const [ann, ben, cara] = [await as('ann'), await as('ben', FINANCE), await as('cara', FINANCE)];
  const boss = await as('boss', { reach: 'all' });
  const listed = async (by: Ask, filters: string): Promise<readonly string[]> =>
    (await by('GET', `/api/v1/requests?${filters}`)).body.items.map(({ id }: { id: string }) => id);
  const counted = async (by: Ask, filters: string) => (await by('GET', `/api/v1/requests/count?${filters}`)).body;
  return { ...server, ask, ann, ben, cara, boss, listed, counted };
}

test('a request waits for those who may decide it, until they have voted; to the others it waits for others', async () => {
  const { ask, ann, ben, cara, boss, listed, counted } = await treasury();
  const [small, large] = [await ask('ACME', 500), await ask('Birch', 5_000)];
  for (const by of [ben, cara]) {
    expect(await listed(by, 'for=me')).toEqual([small, large]);
    expect(await listed(by, 'for=others')).toEqual([]);
  }
  // Ann asked, and a person who sees everything is not of finance.
  for (const by of [ann, boss]) {
    expect(await listed(by, 'for=me')).toEqual([]);
    expect(await listed(by, 'for=others')).toEqual([small, large]);
  }
  await ben('POST', `${path(large)}/decide`, approve);
  expect(await listed(ben, 'for=me')).toEqual([small]);
  expect(await listed(ben, 'for=others')).toEqual([large]);
  expect(await listed(cara, 'for=me')).toEqual([small, large]);
  expect(await counted(ben, 'for=me')).toEqual({ count: 1, isComplete: true });
  expect(await counted(cara, 'for=me')).toEqual({ count: 2, isComplete: true });
  expect(await counted(ann, 'for=others&search=birch')).toEqual({ count: 1, isComplete: true });
});

test('a request that is assigned waits for that person only, and is found by them', async () => {
  const { ask, ann, ben, cara, listed } = await treasury();
  const [one, other] = [await ask('ACME', 500), await ask('Birch', 600)];
  await ben('POST', `${path(one)}/assignee`, { to: 'cara' });
  expect(await listed(cara, 'for=me')).toEqual([one, other]);
  expect(await listed(cara, 'assignee=me')).toEqual([one]);
  expect(await listed(ben, 'for=me')).toEqual([other]);
  expect(await listed(ben, 'for=others')).toEqual([one]);
  expect(await listed(ben, 'assignee=me')).toEqual([]);
  expect(await listed(ann, 'mine=1')).toEqual([one, other]);
});

test('what waits for a person is found by their names, not by reading all that they can see', async () => {
  const { ai, ask, boss, listed } = await treasury();
  for (const to of ['a', 'b', 'c']) await ask(to, 500);
  const read: number[] = [];
  const { listRequests } = ai.runs.store;
  ai.runs.store.listRequests = async (query) => {
    const page = await listRequests.call(ai.runs.store, query);
    read.push(page.items.length);
    return page;
  };
  expect(await listed(boss, 'for=me')).toEqual([]);
  expect(read).toEqual([0]);
});

test('history is filtered by who decided, and a vote that counted is a decision too', async () => {
  const { ai, ask, ann, ben, cara, listed } = await treasury();
  const [one, two, three] = [await ask('ACME', 500), await ask('Birch', 5_000), await ask('Cedar', 700)];
  await ben('POST', `${path(one)}/decide`, approve);
  for (const by of [ben, cara]) await by('POST', `${path(two)}/decide`, approve);
  await cara('POST', `${path(three)}/decide`, { decision: { type: 'reject', reason: '=1+1' } });
  for (const id of [one, two, three]) await ai.runs.wait(id.slice(0, id.indexOf(':')));
  expect(await listed(ann, 'decidedBy=ben')).toEqual([one, two]);
  expect(await listed(ann, 'decidedBy=cara&order=newest')).toEqual([three, two]);
  expect(await listed(ann, 'decidedBy=cara&outcome=rejected')).toEqual([three]);
  expect(await listed(ann, 'decidedBy=dora')).toEqual([]);
});

test('the export has exactly the filtered requests, and no cell is a formula', async () => {
  const { url, tokenFor, ask, cara } = await treasury();
  const [one, two] = [await ask('ACME', 500), await ask('Birch,Ltd', 700)];
  await cara('POST', `${path(one)}/decide`, { decision: { type: 'reject', reason: '=1+1' } });
  await cara('POST', `${path(two)}/decide`, { ...approve, note: 'checked' });
  const client = createClient(url, { token: await tokenFor('ann') });
  const lines = (await client.requests.csv({ status: 'settled' })).trimEnd().split('\r\n');
  const [head = '', ...rows] = lines;
  expect(head.split(',').slice(0, 5)).toEqual(['id', 'title', 'tool', 'agent', 'kind']);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toContain(`${one},Pay 500 to ACME,pay,treasurer,approval`);
  expect(rows[0]).toMatch(/,rejected,cara,\d{4}-\d\d-\d\dT/);
  expect(rows[0]).toContain(`"'=1+1"`);
  expect(rows[1]).toContain('"{""to"":""Birch,Ltd"",""amount"":700}"');
  expect((await client.requests.csv({ status: 'settled', outcome: 'rejected' })).trimEnd().split('\r\n')).toHaveLength(
    2,
  );
  expect((await client.requests.csv()).trimEnd().split('\r\n')).toEqual([head]);
  expect(await client.requests.count({ status: 'settled' })).toEqual({ count: 2, isComplete: true });
});

test('an export of many requests is sent while it is read', async () => {
  const { ai, ask, url, tokenFor } = await treasury();
  for (let index = 0; index < 3; index++) await ask(`to${index}`, 500);
  const { listRequests } = ai.runs.store;
  let hold: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    hold = resolve;
  });
  ai.runs.store.listRequests = async (query) => {
    // One request a page; the last page waits.
    const page = await listRequests.call(ai.runs.store, { ...query, limit: Math.min(query.limit, 1) });
    if (page.cursor === null) await held;
    return page;
  };
  const headers = { authorization: `Bearer ${await tokenFor('ann')}` };
  const { body } = await fetch(`${url}/api/v1/requests.csv`, { headers });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('to1')) text += (await reader?.read())?.value ?? '';
  expect(text).not.toContain('to2');
  hold();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value;
  expect(text).toContain('to2');
});

test('what stands out in a request is told to those who can see the requests that it is compared with', async () => {
  const { ai, ask, ann, ben, as } = await treasury();
  for (let index = 0; index < 5; index++) {
    const id = await ask('ACME', 100 + index);
    await ben('POST', `${path(id)}/decide`, approve);
    await ai.runs.wait(id.slice(0, id.indexOf(':')));
  }
  const [fresh] = [await ask('Cedar', 900), await ask('ACME', 104)];
  const { body } = await ann('GET', '/api/v1/requests');
  expect(body.items.map(({ remarks }: { remarks: unknown }) => remarks)).toMatchObject([
    [
      { type: 'new-recipient', field: 'to', value: 'Cedar', among: 5 },
      { type: 'larger-than-usual', field: 'amount', amount: 900, most: 104, among: 5 },
    ],
    [{ type: 'same-as-before', by: 'ben' }],
  ]);
  expect((await ann('GET', path(fresh))).body.remarks).toHaveLength(2);
  // Eve sees only her own requests, and hears of no others.
  const own = await ask('Cedar', 900, 'eve');
  const eve = await as('eve');
  expect((await eve('GET', path(own))).body).not.toHaveProperty('remarks');
  const { items } = (await ann('GET', '/api/v1/requests?status=settled')).body;
  expect(items.some((item: object) => 'remarks' in item)).toBe(false);
});
