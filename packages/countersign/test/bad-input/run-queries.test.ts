// Invalid queries to `ai.runs` are rejected with the same message on every store.

import { countersign, memoryStore, type Tool } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/runs/port/store.ts';
import type { Runs } from '../../src/runs/runs.ts';
import { testServer } from '../stores/postgres-server.ts';

const postgres = await testServer();
const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore(':memory:')],
  ...(postgres ? [['PostgreSQL', async () => postgresStore(await postgres.freshDatabase())] as const] : []),
];

/** A value from JSON that has no string form. */
const noText = JSON.parse('{"toString":1}');

describe.each(stores)('on %s', (_name, open) => {
  let store: Store;
  let runs: Runs;
  let start: (options: object) => Promise<unknown>;
  let pay: Tool;
  let other: Tool;
  let asked: string;
  beforeAll(async () => {
    store = await open();
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: {} }] },
    );
    const ai = countersign({ model, store, retry: false });
    pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
    other = ai.defineTool({ name: 'other', description: '' }, () => 'done');
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
    runs = ai.runs;
    start = (options) => clerk.start('Pay.', options);
    await start({ runId: 'run', by: 'ann' });
    asked = (await runs.wait('run')).pending[0] ?? '';
  });
  afterAll(() => store.close());

  test('the questions of one tool are listed', async () => {
    const listed = async (tool: Tool) => (await runs.requestsOf(tool)).items.map(({ id }) => id);
    expect({ pay: await listed(pay), other: await listed(other) }).toEqual({ pay: [asked], other: [] });
  });

  test.each([
    ['createdBefore', 1.5],
    ['createdBefore', Number.POSITIVE_INFINITY],
    ['createdAfter', Number.NaN],
    ['outcome', 'paid'],
    ['order', 'random'],
    ['risk', 'some'],
    ['kind', 'approvals'],
    ['kind', 5],
    ['startedBy', null],
    ['label', 5],
    ['tool', noText],
    ['runId', 5n],
    ['search', 5],
    ['settled', 'false'],
  ])('questions cannot be listed by a %s of %s', async (field, value) => {
    for (const settled of [false, true])
      await refused(runs.requests({ settled, [field]: value }), new RegExp(`\`${field}\` of \`\\w+\` must be `));
  });

  test.each([
    ['order', 'random'],
    ['status', 'lost'],
    ['agent', noText],
    ['startedBy', 5],
  ])('runs cannot be listed by a %s of %s', async (field, value) => {
    await refused(runs.list({ [field]: value }), new RegExp(`\`${field}\` of \`\\w+\` must be `));
  });

  test('an unknown list option is rejected, and the error lists the known ones', async () => {
    await refused(runs.list({ after: 'run' } as never), /`list` has no option after/);
    await refused(runs.requests({ after: 'run' } as never), /`requests` has no option after/);
    await refused(runs.list({ label: 'money' } as never), /it takes .*cursor/);
  });

  test('statistics reject a startedBy that is not a string', async () => {
    await refused(runs.stats({ startedBy: 5 as never }), /`startedBy` of `\w+` must be a string/);
  });

  test.each([null, 5, '', {}])('a run id of %j is rejected, and no run starts', async (runId) => {
    const before = (await runs.list({ limit: 200 })).items.length;
    await refused(start({ runId }), /`runId` must be a string|A run's id must be/);
    expect((await runs.list({ limit: 200 })).items).toHaveLength(before);
  });

  test('the error lists the allowed values', async () => {
    await refused(
      runs.requests({ kind: 'recalled' as never }),
      /one of approval, .*unavailable, recall, not "recalled"/,
    );
    await refused(runs.requests({ order: 'random' as never }), /one of newest, oldest, not "random"/);
    await refused(
      runs.requests({ outcome: 'paid' as never }),
      /one of approved, edited, .*expired, .*unknown, not-run, granted, observed, not "paid"/,
    );
  });

  test.each([1.5, Number.NaN, -1, Number.POSITIVE_INFINITY, '1'])('events after %s are rejected', async (after) => {
    await refused(runs.events('run', { after: after as number }).next(), /`after` must be the number of an event/);
    await refused(internalsOf(runs).find('run', { after: after as number }), /`after` must be the number of an event/);
  });

  test('a position after the last event returns the run without events', async () => {
    for (const after of [2 ** 31 - 1, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
      const found = await Promise.all([
        internalsOf(runs).find('run', { after }),
        internalsOf(runs).find('run', { after }),
        internalsOf(runs).find('none'),
      ]);
      const loaded = { run: { id: 'run' }, events: [] };
      expect(found).toMatchObject([loaded, loaded, undefined]);
    }
  });

  test.each(['a\0b', 'run\0', '\0'])('a name with a zero character matches nothing: %j', async (name) => {
    const nothing = { items: [], cursor: null };
    for (const field of ['agent', 'startedBy']) expect(await runs.list({ [field]: name })).toEqual(nothing);
    for (const field of ['runId', 'agent', 'tool', 'label', 'startedBy'])
      for (const settled of [false, true]) expect(await runs.requests({ settled, [field]: name })).toEqual(nothing);
    expect(await Promise.all([internalsOf(runs).find(name), internalsOf(runs).find('none')])).toEqual([
      undefined,
      undefined,
    ]);
    await expect(runs.get(name)).rejects.toMatchObject({ code: 'unknown-run' });
    await expect(runs.request(`run:${name}`)).rejects.toMatchObject({ code: 'unknown-request' });
    await expect(runs.decide(`${name}:call`, 'approve')).rejects.toMatchObject({ code: 'unknown-request' });
  });

  test.each([noText, 5, 5n, null, ['run']])('an id that is not a string is rejected: %s', async (id) => {
    const calls = [
      runs.get(id),
      internalsOf(runs).find(id),
      runs.wait(id),
      runs.verify(id),
      runs.cancel(id),
      runs.request(id),
    ];
    for (const call of [...calls, runs.decide(id, 'approve'), runs.drive(id), runs.delete(id), runs.events(id).next()])
      await refused(call, /`(runId|requestId)` must be a string, not /);
  });

  test("the user's name, note, channel and reason must be strings", async () => {
    await refused(start({ by: { name: 'ann' } }), /`by` of `\w+` must be a string/);
    await refused(runs.decide(asked, 'approve', { by: ['ann'] as never }), /`by` of `\w+` must be a string/);
    await refused(runs.decide(asked, 'approve', { note: 5n as never }), /`note` of `\w+` must be a string/);
    await refused(runs.decide(asked, 'approve', { channel: 5n as never }), /`channel` of `\w+` must be a string/);
    await refused(runs.cancel('run', { reason: 5n as never }), /`reason` of `\w+` must be a string/);
    expect(await runs.get('run')).toMatchObject({ status: 'waiting', pending: [asked] });
  });

  test.each<readonly [unknown, string, RegExp]>([
    [null, 'invalid-options', /`resume` must be a list of decisions, or an object/],
    ['approve', 'invalid-options', /`resume` must be a list of decisions, or an object/],
    [{ approved: [] }, 'invalid-resume', /approved, which is not a kind of decision/],
    [{ approve: { toolRequest: null } }, 'invalid-resume', /not a decision/],
    [{ reject: { toolResponse: 5 } }, 'invalid-resume', /not a decision/],
  ])('an invalid resume is rejected: %j', async (resume, code, says) => {
    const message = expect.stringMatching(says);
    const resuming = internalsOf(runs).resume('run', resume as never);
    await expect(resuming).rejects.toMatchObject({ name: 'UsageError', code, message });
    expect(await runs.get('run')).toMatchObject({ status: 'waiting', pending: [asked] });
  });

  test('an invalid listener is rejected, and nothing is decided', async () => {
    await refused(runs.decide(asked, 'approve', { onChunk: 5 as never }), /`onChunk` of `decide` must be a function/);
    expect(await runs.get('run')).toMatchObject({ status: 'waiting', pending: [asked] });
  });

  test('the store rejects a name that is not a string', async () => {
    const { run } = (await store.read('run')) ?? {};
    const append = { runId: 'other', expectedVersion: 0, events: (await runs.recorded('run')).slice(0, 1) };
    const rest = { hash: run?.hash ?? '', status: 'running', wakeAt: null, outcome: null, settled: [] } as const;
    const create = { id: 'other', agent: 'clerk', startedBy: { name: 'ann' } as never };
    await refused(store.append({ ...append, ...rest, create, opened: [] }), /A name of the run cannot be stored/);
    const record = await store.request(asked);
    if (record === undefined) throw new Error('Question not found.');
    const opened = [{ ...record, id: 'other:1', runId: 'other', risk: 5 as never }];
    await refused(
      store.append({ ...append, ...rest, create: { ...create, startedBy: null }, opened }),
      /A name of the request cannot be stored/,
    );
  });
});

async function refused(call: Promise<unknown>, says: RegExp): Promise<void> {
  await expect(call).rejects.toMatchObject({
    name: 'UsageError',
    code: 'invalid-options',
    message: expect.stringMatching(says),
  });
}
