// A decision counts against the stored run, whatever this process has in memory and whatever other processes changed.
import { DatabaseSync } from 'node:sqlite';
import { type Countersign, countersign, memoryStore, z } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf, type Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../stores/folder.ts';
import { onServer, testServer } from '../stores/postgres-server.ts';

type Opened = {
  readonly store: Store;
  /** Opens the store again, as another process would. */
  readonly another: () => Store;
  readonly change: (sql: string) => Promise<void>;
  readonly close: () => Promise<void>;
};

function opened(make: () => Store, change: Opened['change'], remove: () => void = () => undefined): Opened {
  const stores: Store[] = [];
  const open = () => {
    const store = make();
    stores.push(store);
    return store;
  };
  const close = async () => {
    for (const store of stores) await store.close();
    remove();
  };
  return { store: open(), another: open, change, close };
}

const postgres = await testServer();
const kinds: readonly (readonly [string, () => Promise<Opened>])[] = [
  [
    'SQLite',
    async () => {
      const { path: folder, remove } = temporaryFolder();
      const path = `${folder}/runs.db`;
      const change = async (sql: string) => {
        const file = new DatabaseSync(path);
        file.exec(sql);
        file.close();
      };
      return opened(() => sqliteStore(path), change, remove);
    },
  ],
  ...(postgres
    ? [
        [
          'PostgreSQL',
          async () => {
            const url = await postgres.freshDatabase();
            return opened(
              () => postgresStore(url),
              async (sql) => void (await onServer(url, sql)),
            );
          },
        ] as const,
      ]
    : []),
];

const calls = (...amounts: readonly number[]): ScriptStep => ({
  calls: amounts.map((amount) => ({ name: 'pay', ref: `p${amount}`, input: { amount } })),
});

/** A bank that records its payments. */
function bank(store: Store, script: readonly ScriptStep[] = [calls(5), 'Paid.']) {
  const paid: number[] = [];
  const model = scriptedModel(({ messages }) => script[messages.filter(({ role }) => role === 'tool').length] ?? '');
  const ai = countersign({ model, store, retry: false });
  const inputSchema = z.object({ amount: z.number() });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: true }, ({ amount }) => {
    paid.push(amount);
    return 'paid';
  });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const pause = async (runId = 'run') => {
    await clerk.start('Pay.', { runId, by: 'ann' });
    const { pending } = await internalsOf(ai.runs).rested(runId);
    return pending[0] ?? '';
  };
  return { ai, runs: ai.runs, model, clerk, pay, paid, pause };
}

const outcome = (deciding: Promise<unknown>) =>
  deciding.then(
    () => 'decided',
    ({ code }: { readonly code: string }) => code,
  );

/** Replaces ann by eve everywhere, in place. Frozen values stay. */
function changeAll(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inside] of Object.entries(value)) {
    changeAll(inside);
    if (inside === 'ann') Reflect.set(value, key, 'eve');
  }
}

describe('in the process that paused the run', () => {
  test('a call runs with the recorded input, even if the object in memory changed', async () => {
    const input = { amount: -0, to: { name: 'ann' } };
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Paid.' : { calls: [{ name: 'pay', input }] },
    );
    const received: unknown[] = [];
    const ai = countersign({ model, store: memoryStore() });
    const inputSchema = z.object({ amount: z.number(), to: z.object({ name: z.string() }) });
    const paid: unknown[] = [];
    const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: true }, (given) => {
      paid.push(given);
      return 'paid';
    });
    const onEvent = (event: unknown) => void received.push(event);
    await ai.defineAgent({ name: 'clerk', tools: [pay], onEvent }).start('Pay.', { runId: 'run' });
    const { pending } = await internalsOf(ai.runs).rested('run');
    input.to.name = 'eve';
    changeAll(received);
    await ai.runs.decide(pending[0] ?? '', 'approve');
    await ai.runs.settled();
    expect(paid).toEqual([{ amount: 0, to: { name: 'ann' } }]);
    expect(await ai.runs.verify('run')).toMatchObject({ ok: true });
  });

  test('a decision that came second calls no model and drives nothing', async () => {
    const store = memoryStore();
    const { runs, model, paid, pause } = bank(store);
    const card = await pause();
    await bank(store).runs.decide(card, 'approve', { drive: false });
    const refused = runs.decide(card, { type: 'reject', reason: 'too much' });
    await expect(refused).rejects.toMatchObject({ code: 'already-decided' });
    await runs.settled();
    expect({ paid, asked: model.requests.length }).toEqual({ paid: [], asked: 1 });
    expect(await runs.get('run')).toMatchObject({ status: 'running' });
  });
});

describe.each(kinds)('on %s, a change by another process counts', (_kind, open) => {
  const deeds: readonly (readonly [string, (ai: Countersign, card: string) => Promise<unknown>, object])[] = [
    ['approved it', (ai, card) => ai.runs.decide(card, 'approve', { by: 'bob' }), { by: 'bob' }],
    ['rejected it', (ai, card) => ai.runs.decide(card, 'reject', { by: 'bob' }), { code: 'already-decided' }],
    ['cancelled the run', (ai) => ai.runs.cancel('run', { by: 'bob' }), { code: 'already-decided' }],
    [
      'deleted the run',
      async (ai) => {
        await ai.runs.cancel('run');
        await ai.runs.delete('run');
      },
      { code: 'unknown-request' },
    ],
  ];

  test.each(deeds)('a decision after another process %s reports that outcome', async (_name, deed, expected) => {
    const { store, another, close } = await open();
    const here = bank(store);
    const there = bank(another());
    const card = await here.pause();
    await deed(there.ai, card);
    await there.runs.settled();
    const deciding = here.runs.decide(card, 'approve', { by: 'cid' }).catch((error: unknown) => error);
    expect(await deciding).toMatchObject(expected);
    await here.runs.settled();
    expect(here.paid).toEqual([]);
    await close();
  });

  test('a question that a restored backup does not have is unknown, even if the run has the same length', async () => {
    const { store, another, change, close } = await open();
    const here = bank(store);
    const card = await here.pause();
    for (const table of ['event', 'request', 'run']) await change(`DELETE FROM countersign_${table}`);
    const again = await bank(another()).pause();
    expect(again).not.toBe(card);
    expect(await outcome(here.runs.decide(card, 'approve'))).toBe('unknown-request');
    expect(await outcome(here.runs.decide(again, 'approve'))).toBe('decided');
    await here.runs.settled();
    expect(here.paid).toEqual([5]);
    await close();
  });

  test('of two concurrent decisions in two processes one counts, and the call runs once', async () => {
    const { store, another, close } = await open();
    const here = bank(store);
    const there = bank(another());
    for (let index = 0; index < 20; index++) {
      const card = await here.pause(`run-${index}`);
      const both = [here.runs.decide(card, 'approve', { by: 'ann' }), there.runs.decide(card, 'reject', { by: 'bob' })];
      const results = await Promise.allSettled(both);
      await Promise.all([here.runs.settled(), there.runs.settled()]);
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect(await here.runs.wait(`run-${index}`, { until: 'end' })).toMatchObject({ status: 'done' });
    }
    expect(here.paid.length + there.paid.length).toBeLessThanOrEqual(20);
    await close();
  });
});

describe('when another process was first', () => {
  test.each(['approve', 'reject', { type: 'respond', output: 'paid' }] as const)(
    'a decision that came second fires no event and calls no model: %j',
    async (decision) => {
      const store = memoryStore();
      const received: string[] = [];
      let replies = 0;
      const model = scriptedModel(({ messages }) => {
        replies += 1;
        return messages.at(-1)?.role === 'tool' ? 'Paid.' : calls(5);
      });
      const ai = countersign({ model, store });
      const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
      const onEvent = ({ type }: { readonly type: string }) => void received.push(type);
      await ai.defineAgent({ name: 'clerk', tools: [pay], onEvent }).start('Pay.', { runId: 'run' });
      const { pending } = await internalsOf(ai.runs).rested('run');
      await bank(store).runs.cancel('run');
      const before = { received: [...received], replies };
      expect(await outcome(ai.runs.decide(pending[0] ?? '', decision))).toBe('already-decided');
      await ai.runs.settled();
      expect({ received, replies }).toEqual(before);
    },
  );

  test('whilePending refuse counts a decision that another process recorded', async () => {
    const store = memoryStore();
    const here = bank(store, [calls(1, 2), 'Paid.', 'Paid.']);
    const there = bank(store, [calls(1, 2), 'Paid.', 'Paid.']);
    await here.pause();
    const [first, second] = (await here.runs.requests()).items;
    if (!first || !second) throw new Error('Expected two questions.');
    await there.runs.decide(second.id, 'approve');
    await there.runs.settled();
    const resume = { approve: [here.pay.approve(first.part)] };
    await here.clerk.generate({ runId: 'run', resume, prompt: 'Thanks.', whilePending: 'refuse' });
    expect([here.paid, there.paid]).toEqual([[1], [2]]);
  });
});

const OF_RUN = "WHERE run_seq = (SELECT seq FROM countersign_run WHERE id = 'run')";
const tampered: readonly (readonly [string, string])[] = [
  ['an amount', `UPDATE countersign_event SET events = replace(events, '"amount":5', '"amount":9') ${OF_RUN}`],
  ['a digit of a time', `UPDATE countersign_event SET events = replace(events, '"at":1', '"at":2') ${OF_RUN}`],
  ['the first bracket', `UPDATE countersign_event SET events = '(' || substr(events, 2) ${OF_RUN}`],
  ['the last bracket', `UPDATE countersign_event SET events = substr(events, 1, length(events) - 1) || ')' ${OF_RUN}`],
  ['a leading line break', `UPDATE countersign_event SET events = '\n' || events ${OF_RUN}`],
  ['a trailing list', `UPDATE countersign_event SET events = events || '[]' ${OF_RUN}`],
  [
    'the version of the first list',
    `UPDATE countersign_event SET version = 0 ${OF_RUN} AND version = (SELECT min(version) FROM countersign_event)`,
  ],
  ['all events deleted', `DELETE FROM countersign_event ${OF_RUN}`],
  ['the agent', "UPDATE countersign_run SET agent = 'other' WHERE id = 'run'"],
  ['the starter', "UPDATE countersign_run SET started_by = 'eve' WHERE id = 'run'"],
  ['the starter removed', "UPDATE countersign_run SET started_by = NULL WHERE id = 'run'"],
  ['the hash', "UPDATE countersign_run SET hash = 'AAAAAAAAAAAAAAAAAAAAAA' WHERE id = 'run'"],
  ['the version', "UPDATE countersign_run SET version = version + 1 WHERE id = 'run'"],
  ['the outcome', "UPDATE countersign_run SET outcome = '{' WHERE id = 'run'"],
  ['the question', "UPDATE countersign_request SET settled_at = 1, settlement = '{}' WHERE run_id = 'run'"],
];

describe.each(kinds)('on %s, a row changed in the database', (_kind, open) => {
  test.each(tampered)('makes the run tampered: %s', async (_name, sql) => {
    const { store, another, change, close } = await open();
    const here = bank(store);
    const card = await here.pause();
    await change(sql);
    const there = bank(another());
    for (const { runs } of [here, there]) {
      expect(await outcome(runs.decide(card, 'approve'))).toBe('tampered-run');
      await runs.settled();
    }
    expect([...here.paid, ...there.paid]).toEqual([]);
    await close();
  });

  test.each([
    ['a space', `UPDATE countersign_event SET events = replace(events, '"v":1', '"v": 1') ${OF_RUN}`],
    ['the status', "UPDATE countersign_run SET status = 'failed' WHERE id = 'run'"],
  ])('is accepted if the recorded events stay the same: %s', async (_name, sql) => {
    const { store, change, close } = await open();
    const here = bank(store);
    const card = await here.pause();
    await change(sql);
    await here.runs.decide(card, 'approve');
    await here.runs.settled();
    expect(here.paid).toEqual([5]);
    await close();
  });

  test('fails only its own run among many decided at once', async () => {
    const { store, change, close } = await open();
    const here = bank(store);
    const cards = await Promise.all(Array.from({ length: 20 }, (_, index) => here.pause(index ? `${index}` : 'run')));
    await change(tampered[0]?.[1] ?? '');
    const outcomes = await Promise.all(cards.map((card) => outcome(here.runs.decide(card, 'approve'))));
    await here.runs.settled();
    expect(outcomes).toEqual(['tampered-run', ...Array.from({ length: 19 }, () => 'decided')]);
    expect(here.paid).toHaveLength(19);
    await close();
  });
});

describe('in a process without the agent', () => {
  test('an approval is recorded without driving, and the worker runs it once', async () => {
    const store = memoryStore();
    const { runs, paid, pause } = bank(store);
    const card = await pause();
    const bare = countersign({ store }).runs;
    expect(await outcome(bare.decide(card, 'approve'))).toBe('unknown-agent');
    await bare.assign(card, { to: 'ben' });
    await bare.decide(card, 'approve', { drive: false });
    expect(paid).toEqual([]);
    await runs.drive('run');
    await runs.settled();
    expect(paid).toEqual([5]);
  });

  test.each([
    ['an edit', { type: 'approve', edit: { amount: 6 } }],
    ['an answer', { type: 'respond', output: 'paid' }],
  ] as const)('%s is refused: only the tool can validate it', async (_name, decision) => {
    const store = memoryStore();
    const { runs, pause } = bank(store);
    const card = await pause();
    const bare = countersign({ store }).runs;
    expect(await outcome(bare.decide(card, decision, { drive: false }))).toBe('unknown-agent');
    expect((await runs.request(card)).settledAt).toBeNull();
  });
});
