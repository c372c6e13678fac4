// The store contract: notes, each with one version at a time.
import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Json } from '../../core/json.ts';
import type { Note, Notes } from '../../runs/port/notes.ts';
import { type Check, codesOf, LONG_MS, pagesOf, pass, refused } from './check.ts';

export function notesContract(check: Check): void {
  check('a note is read back by its collection and key', async ({ store: { notes } }) => {
    const values: readonly Json[] = [null, false, 0, '', 'text', [1, [2]], { a: { b: '\u0000\ud800 – 漢' } }];
    for (const [index, value] of values.entries()) {
      const key = `${index}`;
      strictEqual(await notes.put('values', key, value), true);
      const note = await noteAt(notes, 'values', key);
      deepStrictEqual(note, { key, value, version: note.version, expiresAt: null });
      ok(Number.isSafeInteger(note.version) && note.version > 0);
    }
    strictEqual(await notes.get('values', 'none'), undefined);
    strictEqual(await notes.get('other', '0'), undefined);
  });

  check('a note is written at the version it has, or not at all', async ({ store: { notes } }) => {
    strictEqual(await notes.put('claims', 'card', 'too early', { version: 1 }), false);
    strictEqual(await notes.put('claims', 'card', 'ann', { version: 0 }), true);
    strictEqual(await notes.put('claims', 'card', 'bob', { version: 0 }), false);
    const first = await noteAt(notes, 'claims', 'card');
    strictEqual(first.value, 'ann');
    strictEqual(await notes.put('claims', 'card', 'ann again', { version: first.version }), true);
    strictEqual(await notes.put('claims', 'card', 'too late', { version: first.version }), false);
    strictEqual(await notes.put('claims', 'card', 'whatever'), true);
    strictEqual((await noteAt(notes, 'claims', 'card')).value, 'whatever');
  });

  check('a removed note is gone, and its versions are never used again', async ({ store: { notes } }) => {
    const seen: number[] = [];
    await notes.put('claims', 'other', 2);
    for (let round = 0; round < 3; round += 1) {
      await notes.put('claims', 'card', 1, { version: 0 });
      const { version } = await noteAt(notes, 'claims', 'card');
      for (const old of seen) strictEqual(await notes.put('claims', 'card', 2, { version: old }), false);
      ok(!seen.includes(version), `Version ${version} was used twice.`);
      seen.push(version);
      strictEqual(await notes.remove('claims', 'card'), true);
      strictEqual(await notes.remove('claims', 'card'), false);
      strictEqual(await notes.get('claims', 'card'), undefined);
    }
    strictEqual(await notes.remove('none', 'other'), false);
    strictEqual((await noteAt(notes, 'claims', 'other')).value, 2);
  });

  check('an expired note does not exist for any caller', async (subject) => {
    const { store } = subject;
    const { notes } = store;
    // A clock that cannot be set must not reach the time before the note was read.
    const shortMs = subject.advance === undefined ? 1_500 : 50;
    const now = await store.now();
    await notes.put('sessions', 'long', 1, { expiresAt: now + LONG_MS });
    await notes.put('sessions', 'short', 2, { expiresAt: now + shortMs });
    await notes.put('sessions', 'stays', 3, { expiresAt: now + shortMs });
    strictEqual((await noteAt(notes, 'sessions', 'long')).expiresAt, now + LONG_MS);
    const { version } = await noteAt(notes, 'sessions', 'short');
    // A write without an expiry removes it.
    await notes.put('sessions', 'stays', 3);
    await pass(subject, shortMs + 10);
    strictEqual(await notes.get('sessions', 'short'), undefined);
    deepStrictEqual(keysOf(await notes.getMany('sessions', ['short', 'long', 'stays'])), ['long', 'stays']);
    deepStrictEqual(keysOf((await notes.list('sessions', { limit: 9 })).items), ['long', 'stays']);
    strictEqual(await notes.remove('sessions', 'short'), false);
    strictEqual(await notes.put('sessions', 'short', 4, { version }), false);
    strictEqual(await notes.put('sessions', 'short', 4, { version: 0 }), true);
    const again = await noteAt(notes, 'sessions', 'short');
    deepStrictEqual([again.value, again.expiresAt], [4, null]);
    notStrictEqual(again.version, version);
  });

  check('several notes come in the order of the given keys', async ({ store: { notes } }) => {
    const names = Array.from({ length: 200 }, (_, index) => `card ${index}`);
    await Promise.all(names.map((name) => notes.put('claims', name, name)));
    const asked = [...names].reverse().flatMap((name) => [name, `no ${name}`, name]);
    deepStrictEqual(keysOf(await notes.getMany('claims', asked)), [...names].reverse());
    deepStrictEqual(await notes.getMany('claims', []), []);
    deepStrictEqual(await notes.getMany('none', names), []);
  });

  check('a list has every note of its collection once, in the order of the keys', async ({ store: { notes } }) => {
    // U+1F600 comes after U+FF5E, although its first UTF-16 unit comes before.
    const keys = ['A', 'Z', 'a', 'a b', 'aa', 'b', 'é', '漢', '\uff5e', '\u{1f600}'];
    for (const key of [...keys].reverse()) await notes.put('list', key, key);
    await notes.put('lis', 'x', 1);
    await notes.put('list2', 'x', 1);
    for (const limit of [1, 3, 10, 99]) {
      const pages = await pagesOf((after) => notes.list('list', { limit, ...after }));
      for (const page of pages) ok(page.length <= limit);
      deepStrictEqual(keysOf(pages.flat()), keys);
    }
    deepStrictEqual(keysOf((await notes.list('list', { after: 'aa', limit: 2 })).items), ['b', 'é']);
    deepStrictEqual(await notes.list('none', { limit: 2 }), { items: [], cursor: null });
  });

  check('of concurrent writes at the same version exactly one happens', async ({ store, another }) => {
    const stores = another === undefined ? [store] : [store, await another(), await another()];
    const race = async (version: number): Promise<Note> => {
      const racers = Array.from({ length: 20 }, (_, index) => {
        const { notes } = stores[index % stores.length] ?? store;
        return notes.put('claims', 'card', index, { version });
      });
      const won = (await Promise.all(racers)).flatMap((done, index) => (done ? [index] : []));
      const note = await noteAt(store.notes, 'claims', 'card');
      deepStrictEqual(won, [note.value]);
      return note;
    };
    const first = await race(0);
    const second = await race(first.version);
    notStrictEqual(second.version, first.version);
    await store.notes.remove('claims', 'card');
    await race(0);
  });

  check('an invalid note is refused, and nothing is written', async ({ store: { notes } }) => {
    for (const name of ['', 'x'.repeat(600), 'zero \0', 'half \ud83d']) {
      const attempts = [
        ...[notes.put(name, 'key', 1), notes.put('bad', name, 1), notes.get('bad', name), notes.remove(name, 'key')],
        ...[notes.getMany('bad', ['key', name]), notes.list(name, { limit: 1 })],
      ];
      deepStrictEqual(await codesOf(attempts), new Array(attempts.length).fill('invalid-options'), name);
    }
    await refused(notes.put('bad', 'key', undefined as unknown as Json), 'not-json');
    await refused(notes.put('bad', 'key', 1, { version: -1 }), 'invalid-options');
    await refused(notes.put('bad', 'key', 1, { expiresAt: Number.NaN }), 'invalid-options');
    await refused(notes.list('bad', { limit: 0 }), 'invalid-options');
    deepStrictEqual((await notes.list('bad', { limit: 9 })).items, []);
  });
}

async function noteAt(notes: Notes, collection: string, key: string): Promise<Note> {
  const note = await notes.get(collection, key);
  ok(note !== undefined, `Note ${key} does not exist in ${collection}.`);
  return note;
}

function keysOf(notes: readonly Note[]): readonly string[] {
  return notes.map(({ key }) => key);
}
