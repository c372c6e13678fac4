// The store contract: requests found by the words in them, and by who started their runs.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { Json } from '../../core/json.ts';
import type { InterruptQuery, Store } from '../../runs/port/store.ts';
import { addition, type Check, creation, ids, interrupt, type OpenedInterrupt, pagesOf, refused } from './check.ts';

/** A card as the engine writes it. */
function card(input: Json, payload: Json = null): Json {
  return {
    part: {
      toolRequest: { name: 'hidden', ref: 'hidden', input },
      metadata: { interrupt: payload, interruptKind: 'hidden' },
    },
  };
}

async function ask(
  store: Store,
  id: string,
  given: Partial<OpenedInterrupt>,
  startedBy: string | null = null,
): Promise<void> {
  const create = { id, agent: 'agent', startedBy };
  await store.append(creation(id, { create, status: 'waiting', opened: [interrupt(id, id, given)] }));
}

async function found(store: Store, query: Partial<InterruptQuery>, limit = 2): Promise<readonly string[]> {
  return ids((await pagesOf((after) => store.listInterrupts({ limit, ...query, ...after }))).flat());
}

export function searchContract(check: Check): void {
  check('requests are found by the words in them', async ({ store }) => {
    await ask(store, 'a', {
      ...{ tool: 'send_email', agent: 'Clerk', labels: ['needs-legal', 'EMEA'], createdAt: 10 },
      card: card({ to: 'ann.lee@example.com', amount: 12_000.5, lines: [{ text: 'MÜLLER & Söhne' }] }),
    });
    await ask(store, 'b', {
      ...{ tool: 'transferMoney', createdAt: 20 },
      card: card({ iban: 'DE89-3704', amount: 42 }, { message: 'Pay Müller’s “invoice”?', extra: [7] }),
    });
    await ask(store, 'c', { createdAt: 30, card: card('plain text', 'Really, Ann?') });
    await ask(store, 'd', { createdAt: 40, card: card(null, true) });
    await ask(store, 'e', { createdAt: 50, card: { question: 'not of the engine' } });
    await ask(store, 'f', {
      createdAt: 60,
      card: card({ text: `\u0000 \ud800 \\u0000 ann ${'long '.repeat(9_000)}` }),
    });
    await ask(store, 'g', { createdAt: 70, tool: '漢字', card: card({ deep: deep(400, '東京 tower') }) });
    const table: readonly (readonly [string, readonly string[]])[] = [
      ['', ['a', 'b', 'c', 'd', 'e', 'f', 'g']],
      ['  ', ['a', 'b', 'c', 'd', 'e', 'f', 'g']],
      ['– !?', []],
      ['ann', ['a', 'c', 'f']],
      ['ANN', ['a', 'c', 'f']],
      ['an', ['a', 'b', 'c', 'f']],
      ['nn', ['a', 'c', 'f']],
      ['email', ['a']],
      ['send_email', ['a']],
      ['clerk', ['a']],
      ['legal emea', ['a']],
      ['emea nothing', []],
      ['com lee example', ['a']],
      ['lee@exam', ['a']],
      ['ann.lee@example.com', ['a']],
      ['12000.5', ['a']],
      ['2000', ['a']],
      ['müller', ['a', 'b']],
      ['MÜLL invo', ['b']],
      ['söhne', ['a']],
      ['muller', []],
      ['sohn', []],
      ['transfer', ['b']],
      ['money', ['b']],
      ['DE89-3704', ['b']],
      ['42', ['b']],
      ['7', ['b']],
      ['plain\ttext', ['c']],
      ['100%', []],
      ['_email', ['a']],
      ['plain ann', ['c']],
      ['long', ['f']],
      ['漢', ['g']],
      ['東京 tow', ['g']],
      ['hidden', []],
      ['toolRequest', []],
      ['engine', []],
      ["it's", []],
      ['"quoted" * NOT (', []],
    ];
    for (const [search, expected] of table) {
      for (const limit of [1, 9]) {
        const about = `${JSON.stringify(search)}, ${limit} on a page`;
        deepStrictEqual(await found(store, { search }, limit), expected, about);
      }
      deepStrictEqual(await found(store, { search, order: 'newest' }), [...expected].reverse(), search);
    }
    await refused(store.listInterrupts({ limit: 1, search: 'x'.repeat(501) }), 'invalid-options');
  });

  check('a search is combined with the other filters', async ({ store }) => {
    for (const [index, startedBy] of ['ann', 'bob', 'ann', null, 'ann', "o'neil"].entries()) {
      const given = {
        ...{ tool: index % 2 === 0 ? 'pay' : 'ask', kind: index < 3 ? 'approval' : 'question' },
        ...({
          risk: index === 4 ? 'high' : 'low',
          labels: index > 1 ? ['late'] : [],
          createdAt: 10 * index,
        } as const),
      };
      await ask(store, `i${index}`, { ...given, card: card({ text: index === 1 ? 'other' : 'word' }) }, startedBy);
    }
    const table: readonly (readonly [Partial<InterruptQuery>, readonly string[]])[] = [
      [{ startedBy: 'ann' }, ['i0', 'i2', 'i4']],
      [{ startedBy: "o'neil" }, ['i5']],
      [{ startedBy: 'an' }, []],
      [{ startedBy: 'ann', label: 'late' }, ['i2', 'i4']],
      [{ startedBy: 'ann', order: 'newest', createdAfter: 0 }, ['i4', 'i2']],
      [{ search: 'word' }, ['i0', 'i2', 'i3', 'i4', 'i5']],
      [{ search: 'word', startedBy: 'ann' }, ['i0', 'i2', 'i4']],
      [{ search: 'word', startedBy: 'bob' }, []],
      [{ search: 'word', startedBy: "o'neil" }, ['i5']],
      [{ search: 'word', tool: 'ask' }, ['i3', 'i5']],
      [{ search: 'word', agent: 'agent', kind: 'question', risk: 'high' }, ['i4']],
      [{ search: 'word', label: 'late', createdBefore: 50 }, ['i2', 'i3', 'i4']],
      [{ search: 'word', createdAfter: 20, order: 'newest' }, ['i5', 'i4', 'i3']],
      [{ search: 'word', runId: 'i3' }, ['i3']],
      [{ search: 'word', runId: 'i1' }, []],
    ];
    for (const [query, expected] of table) {
      for (const limit of [1, 9]) {
        deepStrictEqual(await found(store, query, limit), expected, `${JSON.stringify(query)}, ${limit} on a page`);
      }
    }
    const { items } = await store.listInterrupts({ limit: 9, search: 'word' });
    deepStrictEqual(
      items.map(({ startedBy }) => startedBy),
      ['ann', 'ann', null, 'ann', "o'neil"],
    );
  });

  check(
    'a request is found among the pending ones until it is settled, and among the settled ones afterwards',
    async ({ store }) => {
      const three = ['a', 'b', 'c'].map((id) =>
        interrupt(id, 'run', { labels: ['red'], card: card({ text: 'word' }) }),
      );
      const create = { id: 'run', agent: 'agent', startedBy: 'ann' };
      await store.append(creation('run', { create, opened: three }));
      deepStrictEqual(await found(store, { search: 'word' }), ['a', 'b', 'c']);
      await store.append(addition('run', 1, { settled: [{ id: 'b', settlement: null }] }));
      for (const query of [{ search: 'word' }, { startedBy: 'ann' }, { label: 'red' }] as const) {
        deepStrictEqual(await found(store, query), ['a', 'c']);
        deepStrictEqual(await found(store, { ...query, settled: true }), ['b']);
      }
    },
  );

  check('many of the same millisecond are found once each, page by page', async ({ store }) => {
    const many = Array.from({ length: 30 }, (_, index) =>
      interrupt(`i${index}`, 'run', { createdAt: 7, card: card({ text: `word${index % 2}` }) }),
    );
    await store.append(creation('run', { opened: many }));
    for (const limit of [1, 4, 30]) {
      const all = await found(store, { search: 'word' }, limit);
      strictEqual(new Set(all).size, 30);
      strictEqual(all.length, 30);
      deepStrictEqual(await found(store, { search: 'word', order: 'newest' }, limit), [...all].reverse());
      strictEqual((await found(store, { search: 'word1' }, limit)).length, 15);
    }
  });
}

function deep(levels: number, text: string): Json {
  let value: Json = text;
  for (let level = 0; level < levels; level += 1) value = { inner: [value] };
  return value;
}
