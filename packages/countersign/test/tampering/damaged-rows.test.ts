// One row that somebody changed in the database, or a disk damaged: it is not believed, and nobody else is held up.
import { DatabaseSync } from 'node:sqlite';
import { countersign } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../src/runs/port/store.ts';
import { temporaryFolder } from '../stores/folder.ts';
import { onServer, testServer } from '../stores/postgres-server.ts';

type Opened = { readonly store: Store; readonly change: (sql: string) => Promise<void>; readonly remove: () => void };

async function onSqlite(): Promise<Opened> {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const change = async (sql: string): Promise<void> => {
    const file = new DatabaseSync(path);
    file.exec(sql);
    file.close();
  };
  return { store: sqliteStore(path), change, remove: folder.remove };
}

const postgres = await testServer();

async function onPostgres(): Promise<Opened> {
  const url = (await postgres?.freshDatabase()) ?? '';
  const change = async (sql: string): Promise<void> => void (await onServer(url, sql));
  return { store: postgresStore(url), change, remove: () => undefined };
}

const kinds: readonly (readonly [string, () => Promise<Opened>])[] = [
  ['SQLite', onSqlite],
  ...(postgres ? [['PostgreSQL', onPostgres] as const] : []),
];

describe.each(kinds)('on %s', (kind, open) => {
  /** Two runs that wait, after which somebody changes the first: `%` stands for its id. */
  async function afterChange(sql: string) {
    const { store, change, remove } = await open();
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: { to: 'ann' } }] },
    );
    const paid: unknown[] = [];
    const seen: string[] = [];
    const errors: unknown[] = [];
    const ai = countersign({ model, store, retry: false, onReminder: ({ id }) => void seen.push(id) });
    const pay = ai.defineTool(
      { name: 'pay', description: '', needsApproval: true, labels: ['money'], remindAfter: 1 },
      () => {
        paid.push(1);
        return 'paid';
      },
    );
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
    const ask = async (runId: string): Promise<string> => {
      await clerk.start('Pay.', { runId });
      return (await ai.runs.wait(runId)).pending[0] ?? '';
    };
    const [bad, good] = [await ask('bad'), await ask('good')];
    await change(sql);
    const end = async (): Promise<void> => {
      await ai.runs.stop();
      await store.close();
      remove();
    };
    const work = () => ai.runs.work({ pollMs: 10, onError: (error) => errors.push(error) });
    return { runs: ai.runs, store, bad, good, paid, seen, errors, change, work, end };
  }

  const ofCards: readonly (readonly [string, string, string])[] = [
    ['another card', `card = replace(card, 'ann', 'eve')`, 'outdated-card'],
    ['another tool beside its card', `tool = 'look'`, 'outdated-card'],
    ['another kind beside its card', `kind = 'unknown-outcome'`, 'outdated-card'],
    ['another digest', `digest = 'another'`, 'outdated-card'],
    ['a card that is nothing', `card = 'null'`, 'outdated-card'],
    ['a card that is no JSON', `card = '{'`, 'store-failed'],
    ...(kind === 'SQLite'
      ? ([
          ['labels that are no JSON', `labels = '['`, 'store-failed'],
          ['labels that are no texts', `labels = '5'`, 'store-failed'],
        ] as const)
      : []),
  ];

  test.each(ofCards)('with %s, the others are listed, found and reminded of', async (_what, set, code) => {
    const warnings = listenForWarnings();
    const given = await afterChange(`UPDATE countersign_interrupt SET ${set} WHERE run_id = 'bad'`);
    const { runs, store, bad, good, seen } = given;
    const listed = async (query: object = {}) => (await runs.interrupts(query)).items.map(({ id }) => id);
    for (const query of [{}, { label: 'money' }, { search: 'pay' }, { order: 'newest' }])
      expect(await listed(query)).toEqual([good]);
    await store.prepareSearch();
    expect(await listed({ search: 'pay' })).toEqual([good]);
    expect(await listed({ runId: 'bad' })).toEqual([]);
    const first = await runs.interrupts({ limit: 1 });
    expect(first.items).toEqual([]);
    expect((await runs.interrupts({ limit: 1, cursor: first.cursor ?? '' })).items).toMatchObject([{ id: good }]);
    await expect(runs.interrupt(bad)).rejects.toMatchObject({ code, message: expect.stringContaining(bad) });
    const worker = given.work();
    await expect.poll(() => seen).toEqual([good]);
    await worker.stop();
    expect(warnings.about(bad)).toMatchObject([{ name: 'CountersignWarning', code }]);
    // What is decided is in the events, which are as they were.
    await runs.decide(bad, 'approve', { by: 'ann' });
    expect(await runs.wait('bad', { until: 'end' })).toMatchObject({ status: 'done' });
    warnings.stop();
    await given.end();
  });

  const most = '9223372036854775807';
  const outOfReach = ['created_at', 'expires_at', 'remind_at'].flatMap((column) => [
    [column, most] as const,
    [column, `-${most}`] as const,
  ]);

  test.each(outOfReach)('with a %s of %s, the others are listed, and reminded of', async (column, number) => {
    const warnings = listenForWarnings();
    const given = await afterChange(`UPDATE countersign_interrupt SET ${column} = ${number} WHERE run_id = 'bad'`);
    const { runs, bad, good } = given;
    for (const order of ['oldest', 'newest'] as const) {
      for (const query of [{}, { search: 'pay' }, { label: 'money' }]) {
        expect((await runs.interrupts({ ...query, order })).items).toMatchObject([{ id: good }]);
        expect(await eachPage(runs, { ...query, order })).toEqual([good]);
      }
    }
    expect(await runs.stats()).toMatchObject({ waiting: 2 });
    await expect(runs.interrupt(bad)).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringMatching(new RegExp(`The ${column} of interrupt bad:.* cannot be read`)),
    });
    const worker = given.work();
    await expect.poll(() => given.seen).toEqual([good]);
    await worker.stop();
    expect(warnings.about(bad)).toMatchObject([{ name: 'CountersignWarning', code: 'store-failed' }]);
    await runs.decide(bad, 'approve', { by: 'ann' });
    expect(await runs.wait('bad', { until: 'end' })).toMatchObject({ status: 'done' });
    expect(await runs.stats()).toMatchObject({ waiting: 1, decided: 1 });
    await runs.delete('bad');
    warnings.stop();
    await given.end();
  });

  test('pages come to an end where all questions have times that no cursor has', async () => {
    for (const number of [most, `-${most}`]) {
      const given = await afterChange(`UPDATE countersign_interrupt SET created_at = ${number}`);
      for (const order of ['oldest', 'newest'] as const) expect(await eachPage(given.runs, { order })).toEqual([]);
      await given.end();
    }
  });

  const ofRuns = ['created_at', 'updated_at', 'wake_at', ...(kind === 'SQLite' ? ['version'] : [])];

  test.each(ofRuns)(
    'with a %s of a run that no number stands for, the others are listed and worked on',
    async (column) => {
      const given = await afterChange(`UPDATE countersign_run SET ${column} = ${most}, due_at = 1 WHERE id = 'bad'`);
      const { runs, good } = given;
      expect((await runs.list()).items).toMatchObject([{ id: 'good' }]);
      const [newest, oldest] = [await runs.list({ limit: 1 }), await runs.list({ limit: 1, order: 'oldest' })];
      expect((await runs.list({ limit: 1, cursor: newest.cursor ?? '' })).items).toEqual([]);
      expect((await runs.list({ limit: 1, order: 'oldest', cursor: oldest.cursor ?? '' })).items).toHaveLength(1);
      if (kind === 'SQLite')
        await expect(runs.get('bad')).rejects.toMatchObject({
          code: 'store-failed',
          message: expect.stringContaining('is not one that was written there'),
        });
      const worker = given.work();
      await runs.decide(good, 'approve');
      expect(await runs.wait('good', { until: 'end' })).toMatchObject({ status: 'done' });
      await worker.stop();
      await given.end();
    },
  );

  test.each([most, `-${most}`])(
    'a reminder that was given %s times keeps none of the others back',
    async (attempts) => {
      const given = await afterChange(`UPDATE countersign_interrupt
      SET reminder_attempts = ${kind === 'SQLite' ? attempts : 2147483647} WHERE run_id = 'bad'`);
      const worker = given.work();
      await expect.poll(() => given.seen).toEqual(expect.arrayContaining([given.bad, given.good]));
      await worker.stop();
      await given.end();
    },
  );

  test.each([
    ['{"decision":{"type":"reject"},"at":1e300}', 1],
    ['{"decision":5,"by":{},"at":{}}', 1],
    ['[]', 1],
    ['{}', 8_640_000_000_000_001],
  ])('with a settlement that is %s at %s, who decides is told that it is decided', async (settlement, at) => {
    const given = await afterChange('SELECT 1');
    await given.runs.decide(given.bad, 'approve');
    await given.runs.wait('bad', { until: 'end' });
    await given.change(`UPDATE countersign_interrupt SET settlement = '${settlement}', settled_at = ${at}
      WHERE run_id = 'bad'`);
    await expect(given.runs.decide(given.bad, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
    expect(given.paid).toEqual([1]);
    await given.end();
  });

  test('with a settlement that is no JSON, the others are listed', async () => {
    const given = await afterChange('SELECT 1');
    const { runs, bad, good } = given;
    await runs.decide(bad, 'approve');
    await runs.decide(good, 'approve');
    await given.change(`UPDATE countersign_interrupt SET settlement = '{' WHERE run_id = 'bad'`);
    const listed = async (query: object) => (await runs.interrupts({ settled: true, ...query })).items;
    expect(await listed({})).toMatchObject([{ id: good }]);
    if (kind === 'SQLite') expect(await listed({ outcome: 'approved' })).toMatchObject([{ id: good }]);
    if (kind === 'SQLite') expect(await runs.stats()).toMatchObject({ decided: 1 });
    await expect(runs.interrupt(bad)).rejects.toMatchObject({
      code: 'store-failed',
      retryable: false,
      message: expect.stringMatching(/The settlement of interrupt bad:.* cannot be read/),
    });
    await given.end();
  });

  test.each([
    ['holder', 'claim_token = NULL, claim_until = 9007199254740991'],
    ['end', `claim_token = 'somebody', claim_until = NULL`],
  ])('a claim without its %s holds nobody up', async (_what, set) => {
    const given = await afterChange(`UPDATE countersign_run SET ${set}, due_at = 1`);
    const { runs, store, bad, good } = given;
    expect(await store.due(5)).toEqual(expect.arrayContaining(['bad', 'good']));
    expect(await store.claim('bad', 'us', 1_000)).toMatchObject({ run: { id: 'bad' } });
    await given.change(`UPDATE countersign_run SET ${set}`);
    for (const id of [bad, good]) await runs.decide(id, 'approve');
    expect(await runs.wait('bad', { until: 'end' })).toMatchObject({ status: 'done' });
    expect(await runs.wait('good', { until: 'end' })).toMatchObject({ status: 'done' });
    await given.change(`UPDATE countersign_run SET ${set}`);
    await runs.delete('bad');
    await given.end();
  });

  // SQLite finds the questions of a run by their own rows.
  if (kind === 'PostgreSQL')
    test('a run whose events name the question of another neither shows it nor takes it along', async () => {
      const given = await afterChange('SELECT 1');
      const { runs, bad, good } = given;
      await given.change(`UPDATE countersign_event SET opened = '["${bad}", "${good}"]'
        WHERE run_seq = (SELECT seq FROM countersign_run WHERE id = 'bad')`);
      expect((await runs.interrupts({ runId: 'bad' })).items).toMatchObject([{ id: bad }]);
      await runs.cancel('bad');
      await runs.delete('bad');
      await runs.decide(good, 'approve');
      expect(await runs.wait('good', { until: 'end' })).toMatchObject({ status: 'done' });
      await given.end();
    });

  if (kind === 'PostgreSQL')
    test.each(['[', '{}', '5', '', '["a', '["\\u0000"]', '["a",]', '[["a"]]'])(
      'a run whose events opened %j is read, and goes on',
      async (opened) => {
        const given = await afterChange(`UPDATE countersign_event SET opened = '${opened}'
          WHERE opened IS NOT NULL AND run_seq = (SELECT seq FROM countersign_run WHERE id = 'bad')`);
        const { runs, bad, good } = given;
        expect((await runs.interrupts({ runId: 'bad' })).items).toEqual([]);
        expect((await runs.interrupts({ runId: 'good' })).items).toMatchObject([{ id: good }]);
        await runs.decide(bad, 'approve');
        expect(await runs.wait('bad', { until: 'end' })).toMatchObject({ status: 'done' });
        await given.end();
      },
    );

  test('the questions of a run are found by it, whatever the model calls them', async () => {
    const { store, remove } = await open();
    const refs = ['a"b\\c', 'ä\n\u0001\u001f\u007f 😀/', '[]', '","'];
    const model = scriptedModel(() => ({ calls: refs.map((ref) => ({ name: 'pay', ref, input: {} })) }));
    const ai = countersign({ model, store });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
    await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'odd' });
    const { pending } = await ai.runs.wait('odd');
    expect(pending).toHaveLength(refs.length);
    expect((await ai.runs.interrupts({ runId: 'odd' })).items.map(({ id }) => id)).toEqual(pending);
    await ai.runs.stop();
    await store.close();
    remove();
  });

  test('a note that is no JSON is left out of lists, and says so where it is asked for', async () => {
    const given = await afterChange('SELECT 1');
    const { notes } = given.store;
    for (const key of ['a', 'b', 'c']) await notes.put('notes', key, key);
    await given.change(`UPDATE countersign_note SET value = '{' WHERE key = 'b'`);
    const first = await notes.list('notes', { limit: 2 });
    expect(first).toMatchObject({ items: [{ key: 'a' }], cursor: 'b' });
    expect(await notes.list('notes', { limit: 2, after: 'b' })).toMatchObject({ items: [{ key: 'c' }], cursor: null });
    expect(await notes.getMany('notes', ['c', 'b', 'a'])).toMatchObject([{ key: 'c' }, { key: 'a' }]);
    await expect(notes.get('notes', 'b')).rejects.toMatchObject({ code: 'store-failed', retryable: false });
    expect(await notes.put('notes', 'b', 'mended')).toBe(true);
    expect(await notes.get('notes', 'b')).toMatchObject({ value: 'mended' });
    await given.end();
  });

  test('with an outcome that is no JSON, the others are listed, and the run is not believed', async () => {
    const given = await afterChange(`UPDATE countersign_run SET outcome = '{' WHERE id = 'bad'`);
    const { runs, bad } = given;
    expect((await runs.list()).items).toMatchObject([{ id: 'good' }]);
    await expectNotBelieved(runs, bad);
    await given.end();
  });

  test.each(['{', 'null', '5', '{}', '', '[null]', '[5]', '[{}', '[]'])(
    'events that are %j are not what was recorded',
    async (events) => {
      const given = await afterChange(`UPDATE countersign_event SET events = '${events}'
      WHERE run_seq = (SELECT seq FROM countersign_run WHERE id = 'bad')`);
      const { runs, bad, good, paid, errors } = given;
      await expectNotBelieved(runs, bad);
      await given.change(`UPDATE countersign_run SET status = 'running', due_at = 1 WHERE id = 'bad'`);
      await expect(runs.drive('bad')).rejects.toMatchObject({ code: 'tampered-run' });
      const worker = given.work();
      await expect.poll(() => errors.length).toBeGreaterThan(0);
      expect(errors[0]).toMatchObject({ code: 'tampered-run' });
      await runs.decide(good, 'approve');
      expect(await runs.wait('good', { until: 'end' })).toMatchObject({ status: 'done' });
      await worker.stop();
      expect(paid).toEqual([1]);
      await given.end();
    },
  );

  const ofBad = "run_seq = (SELECT seq FROM countersign_run WHERE id = 'bad')";
  const rowOfBad = (which: string): string =>
    `${ofBad} AND version = (SELECT ${which}(version) FROM countersign_event WHERE ${ofBad})`;

  test.each([
    ['the last row up', `version = version + 2 WHERE ${rowOfBad('max')}`],
    ['the last row up by one', `version = version + 1 WHERE ${rowOfBad('max')}`],
    ['the last row down', `version = version - 1 WHERE ${rowOfBad('max')}`],
    ['the first row up', `version = version + 1 WHERE ${rowOfBad('min')}`],
    ['the first row down', `version = 1 WHERE ${rowOfBad('min')}`],
    ['a row in the middle', `version = version - 1 WHERE ${ofBad} AND version = 5`],
    ['all rows together', `version = version + 100 WHERE ${ofBad}`],
  ])('events whose versions were changed, %s, are not what was recorded', async (_what, set) => {
    const given = await afterChange('SELECT 1');
    const { runs, store, bad, good } = given;
    await runs.decide(bad, 'approve');
    const { version } = await runs.wait('bad', { until: 'end' });
    const recorded = (await store.read('bad'))?.events ?? [];
    await given.change(`UPDATE countersign_event SET ${set}`);
    await expectNotBelieved(runs, bad);
    expect((await runs.verify('bad')).problem).toMatch('do not follow upon each other');
    // Whoever reads the end of it is given what was there, nothing, or what nobody takes for an event.
    const unreadable = expect.objectContaining({ v: 0, type: 'unreadable' });
    for (let after = 0; after < version; after += 1) {
      const { events } = (await store.read('bad', { after })) ?? {};
      expect([recorded.slice(after), [], [unreadable]]).toContainEqual(events);
    }
    const listening = (async () => {
      for await (const event of runs.events('bad')) expect(event).toBeUndefined();
    })();
    await expect(listening).rejects.toMatchObject({ code: 'tampered-run' });
    expect((await runs.list()).items).toHaveLength(2);
    await runs.decide(good, 'approve');
    expect(await runs.wait('good', { until: 'end' })).toMatchObject({ status: 'done' });
    await given.end();
  });

  test('a question of a run whose last version was changed is not decided by who has to read it', async () => {
    const given = await afterChange(`UPDATE countersign_event SET version = version + 2 WHERE ${rowOfBad('max')}`);
    const another = countersign({ store: given.store });
    another.defineAgent({ name: 'clerk', model: scriptedModel([]) });
    await expect(another.runs.decide(given.bad, 'approve')).rejects.toMatchObject({ code: 'tampered-run' });
    await given.end();
  });

  test('one batch of events that cannot be read spoils the run, not the store', async () => {
    const given = await afterChange('SELECT 1');
    const { runs, store, bad } = given;
    await runs.decide(bad, 'approve');
    await runs.wait('bad', { until: 'end' });
    await given.change(`UPDATE countersign_event SET events = '{' WHERE ${rowOfBad('min')}`);
    const { events = [] } = (await store.read('bad', { after: 0, limit: 1 })) ?? {};
    expect(events).toHaveLength(1);
    await expectNotBelieved(runs, bad);
    await given.end();
  });
});

async function expectNotBelieved(runs: ReturnType<typeof countersign>['runs'], bad: string): Promise<void> {
  expect(await runs.verify('bad')).toMatchObject({ ok: false, problem: expect.any(String) });
  expect(await runs.verify('good')).toMatchObject({ ok: true });
  const refused = { name: 'ConflictError', code: 'tampered-run' };
  await expect(runs.get('bad')).rejects.toMatchObject(refused);
  await expect(runs.decide(bad, 'approve')).rejects.toMatchObject(refused);
  await expect(runs.resume('bad', { approve: [] })).rejects.toMatchObject(refused);
}

/** The ids of all questions, found one by one. */
async function eachPage(runs: ReturnType<typeof countersign>['runs'], query: object): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | null | undefined;
  for (let pages = 0; cursor !== null; pages += 1) {
    expect(pages).toBeLessThan(5);
    const page = await runs.interrupts({ ...query, limit: 1, ...(cursor !== undefined && { cursor }) });
    found.push(...page.items.map(({ id }) => id));
    cursor = page.cursor;
  }
  return found;
}

function listenForWarnings() {
  const heard: Error[] = [];
  const listener = (warning: Error): void => void heard.push(warning);
  process.on('warning', listener);
  return {
    about: (id: string) => heard.filter(({ message }) => message.includes(id)),
    stop: () => process.off('warning', listener),
  };
}
