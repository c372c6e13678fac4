// The store contract: lists come in pages, with each matching item once.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Json } from '../../core/json.ts';
import { FULL_PAGE_SIZE } from '../../runs/port/page.ts';
import type { RequestOutcome, RequestQuery, RunQuery } from '../../runs/port/store.ts';
import {
  addition,
  type Check,
  creation,
  ids,
  listed,
  type OpenedRequest,
  pagesOf,
  pass,
  pausedRun,
  refused,
  request,
  settling,
} from './check.ts';

/** A card with the fields that a search covers, and some that it does not. */
function card(input: Json, payload: Json = null): Json {
  const toolRequest = { name: 'hidden', ref: 'hidden', input };
  return { part: { toolRequest, metadata: { interrupt: payload, interruptKind: 'hidden' } } };
}

/** The kinds of the requests that are no approvals. */
const KINDS: Readonly<Record<string, string>> = { leftInDoubt: 'doubt', recalled: 'recall' };

export function listContract(check: Check): void {
  check('requests come oldest first, newest first when asked, each once', async ({ store }) => {
    const times = { d: 40, a: 10, e: 50, c: 30, b: 20, f: 50, g: 50 };
    for (const [id, createdAt] of Object.entries(times)) {
      const fields = { createdAt, labels: ['all'], card: card('word') };
      await pausedRun(store, `run-${id}`, [request(id, `run-${id}`, fields)]);
    }
    const find = async (query: Partial<RequestQuery>, limit = 2) => (await listed(store, query, limit)).join('');
    for (const query of [{}, { label: 'all' }, { search: 'word' }]) {
      for (const limit of [1, 2, 7, 9]) {
        strictEqual(await find(query, limit), 'abcdefg');
        strictEqual(await find({ ...query, order: 'newest' }, limit), 'gfedcba');
      }
    }
    strictEqual(await find({ createdAfter: 20 }), 'cdefg');
    strictEqual(await find({ createdBefore: 40 }), 'abc');
    strictEqual(await find({ createdAfter: 10, createdBefore: 50, order: 'newest' }), 'dcb');
    // A page ends with a cursor exactly when another one follows.
    for (const [limit, pages] of [1, 2, 6, 7].map((size) => [size, Math.ceil(7 / size)])) {
      strictEqual((await pagesOf((after) => store.listRequests({ limit: limit ?? 1, ...after }))).length, pages);
    }
  });

  check('a page ends early with the item that makes it large', async ({ store }) => {
    const large = card('x'.repeat(FULL_PAGE_SIZE / 2));
    for (const id of ['a', 'b', 'c', 'd', 'e'])
      await pausedRun(store, `run-${id}`, [request(id, `run-${id}`, { card: large })]);
    const pages = await pagesOf((after) => store.listRequests({ limit: 9, ...after }));
    deepStrictEqual(
      pages.map((page) => ids(page).join('')),
      ['ab', 'cd', 'e'],
    );
  });

  check('a card with very many values is kept and found', async ({ store }) => {
    const values = Array.from({ length: 150_000 }, (_, index) => index % 10);
    await pausedRun(store, 'run', [request('many', 'run', { card: card(['word', values]) })]);
    deepStrictEqual(await listed(store, { search: 'word' }), ['many']);
  });

  check('a list continues after its cursor, whatever happened to earlier items', async ({ store }) => {
    const opened = [10, 20, 30, 40].map((createdAt) => request(`at-${createdAt}`, 'run', { createdAt }));
    await pausedRun(store, 'run', opened);
    const { cursor } = await store.listRequests({ limit: 2 });
    ok(cursor !== null);
    const late = [request('late', 'run', { createdAt: 5 })];
    await store.append(addition('run', 1, { ...settling(null, 'at-10', 'at-20'), opened: late }));
    deepStrictEqual(ids((await store.listRequests({ limit: 9, after: cursor })).items), ['at-30', 'at-40']);
  });

  check('requests are found by each filter, pending or settled', async ({ store }) => {
    const [clerk, judge] = [{ agent: 'clerk' }, { agent: 'judge', runId: 'two' }];
    const [approval, question, recall] = [{ kind: 'approval' }, { kind: 'question' }, { kind: 'recall' }];
    const word = { card: card({ text: 'word' }) };
    const all: Readonly<Record<string, Partial<OpenedRequest>>> = {
      a: { ...clerk, ...approval, ...word, tool: 'pay', risk: 'high', labels: ['red', 'blue'] },
      b: { ...clerk, ...question, tool: 'ask', risk: 'low', labels: ['blue', 'blue'] },
      c: { ...judge, ...recall, ...word, tool: 'pay', risk: null },
      d: { ...judge, ...question, ...word, tool: 'pay', risk: 'high', labels: ['red'] },
    };
    const opened = Object.entries(all).map(([id, given], index) =>
      request(id, given.runId ?? 'one', { ...given, createdAt: index + 1 }),
    );
    for (const [id, startedBy] of Object.entries({ one: 'ann', two: "o'neil" })) {
      const own = opened.filter(({ runId }) => runId === id);
      await store.append(creation(id, { create: { id, agent: 'agent', startedBy }, opened: own, status: 'waiting' }));
    }
    const table: readonly (readonly [Partial<RequestQuery>, string])[] = [
      [{}, 'abcd'],
      [{ runId: 'one' }, 'ab'],
      [{ runId: 'none' }, ''],
      [{ agent: 'judge' }, 'cd'],
      [{ tool: 'pay' }, 'acd'],
      [{ kind: 'approval' }, 'a'],
      [{ kind: 'question' }, 'bd'],
      [{ kind: 'recall' }, 'c'],
      [{ risk: 'high' }, 'ad'],
      [{ label: 'blue' }, 'ab'],
      [{ label: 'green' }, ''],
      [{ startedBy: "o'neil" }, 'cd'],
      [{ startedBy: 'an' }, ''],
      [{ search: 'word', startedBy: 'ann', label: 'red' }, 'a'],
      [{ search: 'word', agent: 'judge', kind: 'question', risk: 'high', runId: 'two' }, 'd'],
      [{ search: 'word', label: 'red', createdBefore: 4 }, 'a'],
      [{ runId: 'two', tool: 'pay', kind: 'recall', createdAfter: 2, createdBefore: 4 }, 'c'],
    ];
    const look = async (query: Partial<RequestQuery>, expected: string): Promise<void> =>
      strictEqual((await listed(store, query, 1)).join(''), expected, text(query));
    for (const [query, expected] of table) {
      await look(query, expected);
      await look({ ...query, settled: true }, '');
    }
    await store.append(addition('one', 1, settling(null, 'a', 'b')));
    for (const [query, expected] of table) {
      await look(query, expected.replace(/[ab]/g, ''));
      await look({ ...query, settled: true }, expected.replace(/[cd]/g, ''));
    }
  });

  check('settled requests come in the order of their settlement when asked', async ({ store }) => {
    const times = [
      ['c', 1, 30],
      ['a', 5, 10],
      ['d', 2, 40],
      ['b', 3, 20],
      ['e', 4, 40],
    ] as const;
    for (const [id, createdAt, settledAt] of times) {
      const runId = `run-${id}`;
      const create = { id: runId, agent: 'agent', startedBy: id === 'b' ? 'sue' : 'ann' };
      const deciders = { people: [id === 'd' ? 'ben' : 'ann'], roles: [] };
      const opened = [request(id, runId, { createdAt, deciders, card: card('word') })];
      await store.append(creation(runId, { create, status: 'waiting', opened, at: createdAt }));
      const settled = settling({ decision: { type: 'approve' }, by: 'ann', at: settledAt }, id);
      await store.append(addition(runId, 1, { status: 'done', at: settledAt, ...settled }));
    }
    await pausedRun(store, 'other', [request('f', 'other')]);
    const look = async (query: Partial<RequestQuery>, expected: string): Promise<void> => {
      for (const limit of [1, 2, 50]) {
        const all = { settledSince: 0, settled: true, ...query };
        strictEqual((await listed(store, all, limit)).join(''), expected, `${limit} ${text(query)}`);
        const newest = await listed(store, { ...all, order: 'newest' }, limit);
        strictEqual(newest.join(''), [...expected].reverse().join(''), `newest ${limit} ${text(query)}`);
      }
    };
    await look({}, 'abcde');
    await look({ settledSince: 20 }, 'bcde');
    await look({ settledSince: 41 }, '');
    await look({ settledBefore: 40 }, 'abc');
    await look({ settledSince: 20, settledBefore: 30 }, 'b');
    const ofAnn = { deciders: { people: ['ann'], roles: [] } };
    await look({ settledBefore: 40, ...ofAnn }, 'abc');
    deepStrictEqual(await listed(store, { settled: true, settledBefore: 30, ...ofAnn }, 1), ['a', 'b']);
    await look({ createdAfter: 2 }, 'abe');
    await look({ startedBy: 'ann', search: 'word' }, 'acde');
    await look({ deciders: { people: ['ann'], roles: [] } }, 'abce');
    await look({ settledSince: 20, outcome: 'approved', deciders: { people: ['ben'], roles: [] } }, 'd');
    await look({ settled: false }, '');
  });

  check('requests are found by their deciders, in pages, also after these change', async ({ store }) => {
    const who = (people: string, roles = '') => ({ people: people.split(' '), roles: roles ? [roles] : [] });
    const all: Readonly<Record<string, OpenedRequest['deciders']>> = {
      a: who('ann'),
      b: null,
      c: who('ben', 'board'),
      d: who("o'neil ann", 'board'),
      e: { people: [], roles: ['p:ann', '*'] },
    };
    const opened = Object.entries(all).map(([id, deciders], createdAt) => {
      return request(id, 'run', { deciders, createdAt, labels: id === 'd' ? ['red'] : [] });
    });
    await store.append(
      creation('run', { create: { id: 'run', agent: 'agent', startedBy: 'sue' }, status: 'waiting', opened }),
    );
    await pausedRun(store, 'other', [request('f', 'other', { createdAt: 9 })]);
    deepStrictEqual((await store.request('c'))?.deciders, all.c);
    deepStrictEqual((await store.request('b'))?.deciders, null);
    deepStrictEqual((await store.request('e'))?.deciders, all.e);
    const look = async (query: Partial<RequestQuery>, expected: string): Promise<void> => {
      for (const limit of [1, 2, 50])
        strictEqual((await listed(store, query, limit)).join(''), expected, `${limit} ${text(query)}`);
      const newest = await listed(store, { ...query, order: 'newest' }, 2);
      strictEqual(newest.join(''), [...expected].reverse().join(''), `newest ${text(query)}`);
    };
    const none = { people: [], roles: [] };
    await look({ deciders: none }, 'bf');
    await look({ deciders: { people: ['ann'], roles: [] } }, 'abdf');
    await look({ deciders: { people: ['ann', 'ben'], roles: ['board'] } }, 'abcdf');
    await look({ deciders: { people: [], roles: ['ann', 'boar'] } }, 'bf');
    await look({ deciders: { people: ['*', 'p:ann', 's:sue', 'sue'], roles: [] } }, 'bf');
    await look({ deciders: { people: ['ann'], roles: [] }, label: 'red' }, 'd');
    await look({ deciders: { people: ['ann'], roles: [] }, createdAfter: 0, createdBefore: 9 }, 'bd');
    await look({ deciders: { people: ['ann'], roles: [] }, runId: 'run' }, 'abd');
    await look({ deciders: { people: ['ann'], roles: [] }, settled: true }, '');
    await look({ deciders: { ...none, startedBy: 'sue' } }, 'abcde');
    await look({ deciders: { people: ['ann'], roles: [], startedBy: 'eve' } }, 'ad');

    const progressed = [
      { id: 'a', progress: 1, deciders: { people: ['cara'], roles: [] } },
      { id: 'b', progress: 1 },
      { id: 'c', progress: 1, deciders: null },
    ];
    await store.append(addition('run', 1, { status: 'waiting', progressed }));
    await look({ deciders: { people: ['ann'], roles: [] } }, 'bcdf');
    await look({ deciders: { people: ['cara'], roles: [], startedBy: 'eve' } }, 'a');
    await look({ deciders: { ...none, startedBy: 'sue' } }, 'abcde');
    await store.append(addition('run', 2, { status: 'done', ...settling(null, 'a', 'b', 'c', 'd', 'e') }));
    await look({ deciders: { people: ['cara', 'ann'], roles: [] } }, 'f');
    await look({ deciders: { people: ['cara', 'ann'], roles: [] }, settled: true }, 'abcd');
    strictEqual(await store.delete('run'), true);
    await look({ deciders: { people: ['cara', 'ann'], roles: [], startedBy: 'sue' }, settled: true }, '');
  });

  check('requests are found by the words in them', async ({ store }) => {
    const all: Readonly<Record<string, Partial<OpenedRequest>>> = {
      a: {
        tool: 'send_email',
        agent: 'Clerk',
        labels: ['EMEA'],
        card: card({ to: 'ann.lee@example.com', n: 12_000.5 }),
      },
      b: { card: card({ lines: [{ text: 'MÜLLER & Söhne' }] }, { message: 'Müller’s “invoice”?' }) },
      c: { card: card('plain text', 'Really, Ann?') },
      d: { card: { question: 'unknown form' } },
      e: { card: card({ text: `\u0000 \ud800 \\u0000 ann ${'long '.repeat(9_000)}` }) },
    };
    const opened = Object.entries(all).map(([id, given], createdAt) => request(id, 'run', { ...given, createdAt }));
    await pausedRun(store, 'run', opened);
    const searches: Readonly<Record<string, string>> = {
      abcde: '|  ',
      a: 'send_email|_email|clerk emea|com lee example|lee@exam|12000.5|2000',
      b: 'MÜLL invo|söhne',
      ace: 'ann|ANN|nn',
      c: 'plain\ttext|plain ann',
      e: 'long',
      '': `– !?|emea nothing|muller|100%|hidden|toolRequest|unknown|it's|"quoted" * NOT (`,
    };
    for (const [expected, words] of Object.entries(searches)) {
      for (const search of words.split('|')) {
        strictEqual((await listed(store, { search })).join(''), expected, search);
      }
    }
    await refused(store.listRequests({ limit: 1, search: 'x'.repeat(501) }), 'invalid-options');
  });

  check('settled requests are found by their outcome', async ({ store }) => {
    const by = (decision: Json, given: object = {}): Json => ({
      ...{ decision, by: 'ann', channel: 'inbox', note: null, at: 1, ...given },
    });
    const strange = '\u0000 \ud800 \\u0000 "edit": 1 deadline';
    const late = { by: 'deadline', channel: null, note: strange };
    const settlements: Readonly<Record<string, Json>> = {
      approved: by({ type: 'approve' }, { note: strange }),
      restarted: by({ type: 'restart', resumed: { edit: strange } }),
      edited: by({ type: 'approve', edit: { a: strange } }),
      editedToNull: by({ type: 'approve', edit: null }),
      replaced: by({ type: 'restart', resumed: true, replaceInput: false }),
      rejected: by({ type: 'reject', reason: strange }),
      sentBack: by({ type: 'revise', comment: strange }),
      answered: by({ type: 'respond', output: { type: 'reject', edit: strange } }),
      cancelled: by({ type: 'cancel' }),
      withdrawn: { withdrawn: true, by: 'deadline', at: 1, note: strange },
      unsaid: null,
      late: by({ type: 'reject' }, late),
      lateApproved: by({ type: 'approve' }, late),
      namesake: by({ type: 'reject' }, { by: 'deadline' }),
      leftInDoubt: by({ type: 'cancel' }),
      recalled: by({ type: 'reject' }),
      granted: { granted: { id: 'grant' }, by: 'ann', at: 1 },
      grantedLater: { granted: { id: 'grant' }, by: 'ann', at: 1 },
      observed: { observed: { why: ['A rule.'] }, by: null, at: 1 },
    };
    const opened = [...Object.keys(settlements), 'pending'].map((id, createdAt) =>
      request(id, 'run', { createdAt, ...(KINDS[id] && { kind: KINDS[id] }) }),
    );
    await pausedRun(store, 'run', opened);
    const settled = Object.entries(settlements).map(([id, settlement]) => ({ id, settlement }));
    await store.append(addition('run', 1, { settled }));
    const ended = (id: string, state: string) => ({ id, outcome: { state, text: strange } });
    const came = [ended('approved', 'done'), ended('restarted', 'failed'), ended('edited', 'not-run')];
    const later = [ended('editedToNull', 'unknown'), ended('grantedLater', 'not-run')];
    await store.append(addition('run', 2, { ended: [...came, ...later] }));
    const outcomes: Readonly<Record<RequestOutcome, readonly string[]>> = {
      approved: ['approved', 'restarted', 'edited', 'editedToNull', 'replaced', 'lateApproved'],
      edited: ['edited', 'editedToNull', 'replaced'],
      rejected: ['rejected', 'sentBack', 'late', 'namesake', 'recalled'],
      'changes-asked': ['sentBack'],
      answered: ['answered'],
      cancelled: ['cancelled', 'withdrawn', 'unsaid', 'leftInDoubt'],
      expired: ['late', 'lateApproved'],
      done: ['approved'],
      failed: ['restarted'],
      unknown: ['editedToNull'],
      'not-run': [
        'edited',
        'rejected',
        'sentBack',
        'cancelled',
        'withdrawn',
        'unsaid',
        'late',
        'namesake',
        'recalled',
        'grantedLater',
      ],
      granted: ['granted', 'grantedLater'],
      observed: ['observed'],
    };
    for (const [outcome, found] of Object.entries(outcomes) as [RequestOutcome, readonly string[]][]) {
      for (const query of [{}, { runId: 'run', order: 'newest' }] as const) {
        const expected = query.order === 'newest' ? [...found].reverse() : found;
        deepStrictEqual(await listed(store, { ...query, outcome, settled: true }, 2), expected, outcome);
      }
      deepStrictEqual(await listed(store, { outcome, settled: true, tool: 'none' }), []);
      deepStrictEqual(await listed(store, { outcome }), [], `pending: ${outcome}`);
    }
  });

  check('runs come newest first, oldest first when asked, each once', async (subject) => {
    const { store } = subject;
    const statuses = ['running', 'waiting', 'done', 'failed', 'done'] as const;
    for (const [index, status] of statuses.entries()) {
      const id = `${index}`;
      const create = { id, agent: `agent-${index % 2}`, startedBy: index > 2 ? 'ann' : null };
      await store.append(creation(id, { create, status }));
      await pass(subject, 2);
    }
    const find = async (query: Partial<RunQuery>): Promise<string> =>
      ids((await pagesOf((after) => store.listRuns({ limit: 2, ...query, ...after }))).flat()).join('');
    strictEqual(await find({}), '43210');
    strictEqual(await find({ order: 'oldest' }), '01234');
    strictEqual(await find({ status: 'done' }), '42');
    strictEqual(await find({ agent: 'agent-0', limit: 1 }), '420');
    strictEqual(await find({ startedBy: 'ann', status: 'failed' }), '3');
    strictEqual(await find({ startedBy: 'bob' }), '');
    await store.append(addition('0', 1, { status: 'failed' }));
    strictEqual(await find({ status: 'failed' }), '30');
    const [first] = (await store.listRuns({ order: 'oldest', limit: 1 })).items;
    deepStrictEqual(first, (await store.read('0'))?.run);
  });

  check('a page of no items, or after an unknown cursor, is refused', async ({ store }) => {
    const limits = [0, -1, 1.5, Number.NaN].map((limit) => ({ limit }));
    const cursors = ['', 'nonsense', Buffer.from('["a",1]').toString('base64url')].map((after) => ({
      limit: 1,
      after,
    }));
    for (const query of [...limits, ...cursors]) {
      await refused(store.listRuns(query), 'invalid-options');
      await refused(store.listRequests(query), 'invalid-options');
    }
  });
}

function text(query: object): string {
  return JSON.stringify(query);
}
