// Rows that someone edited, or a disk damaged: a run that does not verify is rejected, other unreadable rows are skipped.

import { DatabaseSync } from 'node:sqlite';
import { countersign } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf } from 'countersign/store';
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
  /** Two paused runs, `bad` and `good`, after which someone edits the database. */
  async function afterChange(sql: string) {
    const { store, change, remove } = await open();
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: { to: 'ann' } }] },
    );
    const paid: unknown[] = [];
    const seen: string[] = [];
    const errors: unknown[] = [];
    const ai = countersign({ model, store, retry: false });
    ai.onRequest('reminders', { reminded: ({ requestId }) => void seen.push(requestId) });
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

  test.each([
    ['a card that is not JSON', `card = '{'`, 'store-failed'],
    ['another card', `card = replace(card, 'ann', 'eve')`, 'outdated-card'],
  ])('an interrupt with %s is skipped with one warning, and the others are listed', async (_what, set, code) => {
    const warnings = listenForWarnings();
    const given = await afterChange(`UPDATE countersign_request SET ${set} WHERE run_id = 'bad'`);
    const { runs, bad, good, seen } = given;
    for (const order of ['oldest', 'newest'] as const) {
      for (const query of [{}, { label: 'money' }, { search: 'pay' }]) {
        expect((await runs.requests({ ...query, order })).items).toMatchObject([{ id: good }]);
        expect(await eachPage(runs, { ...query, order })).toEqual([good]);
      }
    }
    await expect(runs.request(bad)).rejects.toMatchObject({ code, message: expect.stringContaining(bad) });
    const worker = given.work();
    await expect.poll(() => seen).toEqual([good]);
    await worker.stop();
    expect(warnings.about(bad)).toMatchObject([{ name: 'CountersignWarning', code }]);
    // A decision is checked against the events, which are unchanged.
    await runs.decide(bad, 'approve', { by: 'ann' });
    expect(await runs.wait('bad', { until: 'end' })).toMatchObject({ status: 'done' });
    warnings.stop();
    await given.end();
  });

  test('a changed settlement does not allow a second decision', async () => {
    const given = await afterChange('SELECT 1');
    await given.runs.decide(given.bad, 'approve');
    await given.runs.wait('bad', { until: 'end' });
    await given.change(`UPDATE countersign_request SET settlement = '[]' WHERE run_id = 'bad'`);
    await expect(given.runs.decide(given.bad, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
    expect(given.paid).toEqual([1]);
    await given.end();
  });

  // SQLite finds the interrupts of a run by their rows.
  if (kind === 'PostgreSQL')
    test('a run whose events name an interrupt of another run neither lists nor deletes it', async () => {
      const given = await afterChange('SELECT 1');
      const { runs, bad, good } = given;
      await given.change(`UPDATE countersign_event SET opened = ARRAY['${bad}', '${good}']
        WHERE run_seq = (SELECT seq FROM countersign_run WHERE id = 'bad')`);
      expect((await runs.requests({ runId: 'bad' })).items).toMatchObject([{ id: bad }]);
      await runs.cancel('bad');
      await runs.delete('bad');
      await runs.decide(good, 'approve');
      expect(await runs.wait('good', { until: 'end' })).toMatchObject({ status: 'done' });
      await given.end();
    });

  test('the interrupts of a run are found, whatever ids the model gives its calls', async () => {
    const { store, remove } = await open();
    const refs = ['a"b\\c', 'ä\n\u0001\u001f\u007f 😀/', '[]', '","'];
    const model = scriptedModel(() => ({ calls: refs.map((ref) => ({ name: 'pay', ref, input: {} })) }));
    const ai = countersign({ model, store });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
    await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'odd' });
    const { pending } = await ai.runs.wait('odd');
    expect(pending).toHaveLength(refs.length);
    expect((await ai.runs.requests({ runId: 'odd' })).items.map(({ id }) => id)).toEqual(pending);
    await ai.runs.stop();
    await store.close();
    remove();
  });

  test('a note that is not JSON is skipped in lists, and reading it is an error', async () => {
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

  test('a run with an outcome that is not JSON is rejected, and the others are listed', async () => {
    const given = await afterChange(`UPDATE countersign_run SET outcome = '{' WHERE id = 'bad'`);
    const { runs, bad } = given;
    expect((await runs.list()).items).toMatchObject([{ id: 'good' }]);
    await expectNotBelieved(runs, bad);
    await given.end();
  });

  test.each(['{', '[null]', '[]'])('a run whose events are %j is rejected as tampered-run', async (events) => {
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
  });

  const ofBad = "run_seq = (SELECT seq FROM countersign_run WHERE id = 'bad')";
  const rowOfBad = (which: string): string =>
    `${ofBad} AND version = (SELECT ${which}(version) FROM countersign_event WHERE ${ofBad})`;

  test.each([
    ['the last row', `version = version + 2 WHERE ${rowOfBad('max')}`],
    ['the first row', `version = version + 1000 WHERE ${rowOfBad('min')}`],
    ['all rows together', `version = version + 100 WHERE ${ofBad}`],
  ])('a run with changed versions of %s is rejected as tampered-run', async (_what, set) => {
    const given = await afterChange('SELECT 1');
    const { runs, store, bad, good } = given;
    await runs.decide(bad, 'approve');
    const { version } = await runs.wait('bad', { until: 'end' });
    const recorded = (await store.read('bad'))?.events ?? [];
    await given.change(`UPDATE countersign_event SET ${set}`);
    await expectNotBelieved(runs, bad);
    expect((await runs.verify('bad')).problem).toMatch('do not follow upon each other');
    // Reading the end returns the old events, nothing, or an unreadable event.
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

  test('one unreadable row of events blocks only its run', async () => {
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
  await expect(internalsOf(runs).resume('bad', { approve: [] })).rejects.toMatchObject(refused);
}

/** The ids of all questions, found one by one. */
async function eachPage(runs: ReturnType<typeof countersign>['runs'], query: object): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | null | undefined;
  for (let pages = 0; cursor !== null; pages += 1) {
    expect(pages).toBeLessThan(5);
    const page = await runs.requests({ ...query, limit: 1, ...(cursor !== undefined && { cursor }) });
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
