// The evidence of a run is checked without its store, and every change of the file is found.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countersign, type Evidence, evidenceText, memoryStore, type Runs, verifyEvidence, z } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentHash } from '../../src/runs/evidence/evidence.ts';
import { linkAll } from '../../src/runs/port/chain.ts';
import { testServer } from '../stores/postgres-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-evidence-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const server = await testServer();

const AMOUNT = z.object({ amount: z.number() });

/** A run with an edit, a rejection, a deadline, an answer, a sub-agent, and a message instead of a decision. */
async function busyRun(store: Store): Promise<Runs> {
  const ai = countersign({ store, retry: false });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: AMOUNT, needsApproval: () => ({ message: 'Pay?' }) },
    () => 'paid',
  );
  const late = ai.defineTool(
    {
      name: 'late',
      description: '',
      inputSchema: AMOUNT,
      needsApproval: () => ({ expiresIn: 1, onExpiry: 'approve' }),
    },
    () => 'paid late',
  );
  const ask = ai.defineInterrupt({ name: 'ask', description: '', inputSchema: z.object({ why: z.string() }) });
  const inside = ai.defineAgent({
    name: 'inside',
    tools: [pay],
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: { amount: 3 } }] },
    ),
  });
  const clerk = ai.defineAgent({
    name: 'clerk',
    tools: [pay, late, ask, inside],
    model: scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role === 'tool') return 'Done.';
      const first = [
        { name: 'pay', input: { amount: 5 } },
        { name: 'pay', input: { amount: 7 } },
        { name: 'late', input: { amount: 9 } },
        { name: 'ask', input: { why: 'Ünïcode " \\ \u2028 \ud800' } },
        { name: 'inside', input: { prompt: 'Pay 3.' } },
      ];
      return { calls: messages.length < 3 ? first : [{ name: 'pay', input: { amount: 11 } }] };
    }),
  });
  await clerk.start('Pay.', { runId: 'one', by: 'ann' });
  await ai.runs.wait('one');
  await ai.runs.settled();
  const worker = ai.runs.work({ pollMs: 5 });
  for (const { id, input, tool, digest } of (await ai.runs.requests({ runId: 'one' })).items) {
    const { amount } = input as { readonly amount?: number };
    const by = { by: 'bob', channel: 'inbox', note: 'checked', digest };
    if (tool === 'ask') await ai.runs.decide(id, { type: 'respond', output: 'because' }, by);
    else if (amount === 5) await ai.runs.decide(id, { type: 'approve', edit: { amount: 4 } }, by);
    else if (amount === 7) await ai.runs.decide(id, { type: 'reject', reason: 'too much' }, by);
    else if (amount === 3) await ai.runs.decide(id, 'approve', { by: 'cid' });
  }
  await ai.runs.wait('one', { until: 'end' });
  await worker.stop();
  const chat = clerk.chat({ runId: 'one', by: 'ann' });
  await chat.send('Another.');
  await chat.send('Never mind.');
  await ai.runs.settled();
  return ai.runs;
}

let evidence: Evidence;
let text: string;

beforeAll(async () => {
  const runs = await busyRun(memoryStore());
  evidence = await runs.evidence('one');
  text = evidenceText(evidence);
});

const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore(join(folder, 'runs.db'))],
  ...(server
    ? [
        [
          'PostgreSQL',
          async () => postgresStore(new pg.Pool({ connectionString: await server.freshDatabase() })),
        ] as const,
      ]
    : []),
];

test.each(stores)('the evidence of a run verifies without its store (%s)', async (_name, open) => {
  const store = await open();
  await store.migrate();
  const runs = await busyRun(store);
  const found = await runs.evidence('one');
  await store.close();
  const verified = await verifyEvidence(Buffer.from(evidenceText(found)));
  expect(verified.problems).toEqual([]);
  expect(verified).toMatchObject({ ok: true, evidence: found });
  expect(found.requests.map(({ tool, settled }) => [tool, settled?.decision?.type, settled?.decision?.by])).toEqual(
    expect.arrayContaining([
      ['pay', 'approve', 'bob'],
      ['pay', 'reject', 'bob'],
      ['pay', 'approve', 'cid'],
      ['ask', 'respond', 'bob'],
      ['late', 'approve', 'deadline'],
      ['pay', undefined, undefined],
    ]),
  );
});

test('each changed, added or removed byte is found', async () => {
  const bytes = Buffer.from(text);
  const step = Math.max(1, Math.floor(bytes.length / 200));
  for (let place = 0; place < bytes.length; place += step) {
    const flipped = Buffer.from(bytes);
    flipped[place] = (flipped[place] ?? 0) ^ (1 << (place % 8));
    const space = Buffer.concat([bytes.subarray(0, place), Buffer.from(' '), bytes.subarray(place)]);
    const without = Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)]);
    for (const changed of [flipped, space, without])
      expect((await verifyEvidence(changed)).ok, `byte ${place}`).toBe(false);
  }
});

test('other forms of the same JSON are found', async () => {
  const forms = [
    JSON.stringify(JSON.parse(text)),
    text.replace('"amount": 5', '"amount": 5.0'),
    text.replace('"amount": 5', '"amount": 9,\n"amount": 5'),
    text.replace('paid', '\\u0070aid'),
    `\ufeff${text}`,
    `${text}\n`,
  ];
  for (const form of forms) expect(form).not.toBe(text);
  for (const form of forms) expect(await verifyEvidence(form)).toMatchObject({ ok: false });
});

/** What a forger writes who can compute the hash of the document. */
function forged(change: (draft: { -readonly [key in keyof Evidence]: any }) => void): string {
  const draft = JSON.parse(text);
  change(draft);
  const { hash: _hash, ...content } = draft;
  return evidenceText({ ...content, hash: contentHash(content) });
}

/** As `forged`, and the chain is made to fit. */
const rechained = (change: (draft: { -readonly [key in keyof Evidence]: any }) => void): string =>
  forged((draft) => {
    change(draft);
    draft.run.version = draft.events.length;
    draft.run.hash = linkAll('', draft.events);
  });

const indexOf = (type: string, more: (event: any) => boolean = () => true): number =>
  evidence.events.findIndex((event) => event.type === type && more(event));

describe('a document whose hash was made to fit', () => {
  test.each([
    ['an event', (draft) => (draft.events[0].messages[0].content[0].text = 'Pay all.'), 'run.hash'],
    ['when it happened', (draft) => (draft.events[1].at += 1), 'run.hash'],
    ['who started the run', (draft) => (draft.run.startedBy = 'eve'), 'run.hash'],
    ['an event less', (draft) => draft.events.pop(), 'run.hash'],
    ['the end of the chain', (draft) => (draft.run.hash = 'AAAAAAAAAAAAAAAAAAAAAA'), 'run.hash'],
    ['a card', (draft) => (draft.requests[0].shown.card.part.toolRequest.input.amount = 6), 'requests[0].shown.digest'],
    ['what is asked', (draft) => (draft.requests[0].part.toolRequest.input.amount = 6), 'requests[0].part'],
    ['a digest', (draft) => (draft.requests[0].digest = 'AAAAAAAAAAAAAAAAAAAAAA'), 'requests[0].digest'],
    ['who decided', (draft) => (draft.requests[0].settled.decision.by = 'eve'), 'requests[0].settled'],
    [
      'the row of the decision',
      (draft) => (draft.requests[0].shown.settlement.by = 'eve'),
      'requests[0].shown.settlement',
    ],
    ['a missing card', (draft) => (draft.requests[0].shown = null), 'requests[0].shown'],
    ['a missing question', (draft) => draft.requests.shift(), 'requests'],
    ['a question that was not asked', (draft) => (draft.requests[0].id = 'one:x'), 'requests[0]'],
    ['no run', (draft) => delete draft.run, 'file'],
    ['a later format', (draft) => (draft.format = 'countersign-evidence/2'), 'file'],
  ] as readonly (readonly [string, (draft: any) => unknown, string])[])('%s', async (_name, change, where) => {
    const { ok, problems } = await verifyEvidence(forged(change));
    expect(ok).toBe(false);
    expect(problems.map((problem) => problem.where)).toContain(where);
  });
});

test('a request has no card if its deadline was over before the store had it', async () => {
  const file = forged((draft) => {
    draft.requests.find(({ tool }: { tool: string }) => tool === 'late').shown = null;
  });
  expect(await verifyEvidence(file)).toMatchObject({ ok: true, problems: [] });
});

describe('a document whose chain was made to fit', () => {
  const approvalOf5 = () => indexOf('decision-made', ({ decision }) => decision.input?.amount === 4);

  test('a call that starts without a decision is found', async () => {
    const at = approvalOf5();
    const file = rechained((draft) => draft.events.splice(at, 1));
    const { problems } = await verifyEvidence(file);
    expect(problems).toContainEqual({
      where: expect.stringMatching(/^events\[\d+\]$/),
      problem: expect.stringContaining('starts without a decision on its request'),
    });
  });

  test('a call that starts before its decision is found', async () => {
    const decided = approvalOf5();
    const { callId } = evidence.events[decided] as { readonly callId: string };
    const started = indexOf('call-started', (event) => event.callId === callId);
    expect(started).toBeGreaterThan(decided);
    const file = rechained(({ events }) => events.splice(decided, 0, ...events.splice(started, 1)));
    const { problems } = await verifyEvidence(file);
    expect(problems.map(({ problem }) => problem).join()).toContain('starts without a decision on its request');
  });

  test('a deadline that decides too early is found', async () => {
    const at = indexOf('decision-made', ({ decision }) => decision.by === 'deadline');
    const { problems } = await verifyEvidence(rechained(({ events }) => (events[at].at = 1)));
    expect(problems[0]?.problem).toContain('decides before its time');
  });

  test('only an anchor shows that everything was written anew', async () => {
    const { run, events, hash } = evidence;
    const file = rechained(({ events }) => (events[0].messages[0].content[0].text = 'Pay all.'));
    expect(await verifyEvidence(file)).toMatchObject({ ok: true, anchor: null });
    expect(await verifyEvidence(file, { anchor: hash })).toMatchObject({ ok: false, anchor: null });
    expect(await verifyEvidence(file, { anchor: run.hash })).toMatchObject({ ok: false });
    expect(await verifyEvidence(text, { anchor: hash })).toMatchObject({ ok: true, anchor: 'this document' });
    expect(await verifyEvidence(text, { anchor: run.hash })).toMatchObject({
      ok: true,
      anchor: `the chain after event ${events.length} of ${events.length}`,
    });
  });
});
