// The store contract: appends are all or nothing, in order, and can be read back.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import {
  addition,
  type Check,
  countDone,
  creation,
  ids,
  interrupt,
  LONG_MS,
  leavesNothing,
  load,
  pass,
  pausedRun,
  refused,
  stepDone,
} from './check.ts';

export function appendContract(check: Check): void {
  check('a created run can be read, with its events and its record', async ({ store }) => {
    const before = await store.now();
    const events = [stepDone('one'), stepDone('two')];
    const create = { id: 'run', agent: 'clerk', startedBy: 'ann' };
    await store.append(creation('run', { create, events, hash: 'abc', wakeAt: 7, outcome: { so: ['far'] } }));
    const { run, events: stored } = await load(store, 'run');
    deepStrictEqual(stored, events);
    const { createdAt, updatedAt, ...rest } = run;
    deepStrictEqual(rest, {
      ...{ id: 'run', agent: 'clerk', startedBy: 'ann', status: 'running', version: 2, hash: 'abc', wakeAt: 7 },
      outcome: { so: ['far'] },
    });
    ok(createdAt >= before && updatedAt >= createdAt && updatedAt <= (await store.now()));
  });

  check('an append adds its events and replaces the record of the run', async ({ store }) => {
    await store.append(creation('run', { outcome: 'before', wakeAt: 5 }));
    const created = await load(store, 'run');
    const change = { events: [stepDone('a'), stepDone('b')], hash: 'next', status: 'done', outcome: 'after' } as const;
    await store.append(addition('run', 1, { ...change, wakeAt: null }));
    const { run, events } = await load(store, 'run');
    deepStrictEqual(events, [...created.events, ...change.events]);
    const { updatedAt, ...rest } = run;
    const { updatedAt: createdAt, ...was } = created.run;
    deepStrictEqual(rest, { ...was, version: 3, hash: 'next', status: 'done', outcome: 'after', wakeAt: null });
    ok(updatedAt >= createdAt);
  });

  check('the time of the last append is that of the store', async (subject) => {
    const { store } = subject;
    await store.append(creation('run'));
    const { createdAt } = (await load(store, 'run')).run;
    await pass(subject, 5);
    const before = await store.now();
    await store.append(addition('run', 1));
    const { run } = await load(store, 'run');
    strictEqual(run.createdAt, createdAt);
    ok(run.updatedAt >= before && run.updatedAt > createdAt);
  });

  check('an append has room for many events, and opens and settles many questions', async ({ store }) => {
    const events = Array.from({ length: 300 }, (_, index) => stepDone(`${index}`));
    const opened = Array.from({ length: 150 }, (_, index) => interrupt(`q${index}`, 'run', { createdAt: index }));
    await store.append(creation('run', { events, opened }));
    deepStrictEqual((await load(store, 'run')).events, events);
    const all = opened.map(({ id }) => id);
    deepStrictEqual(ids((await store.listInterrupts({ limit: 200 })).items), all);
    await store.append(addition('run', 300, { settled: all.map((id) => ({ id, settlement: id })) }));
    const settled = (await store.listInterrupts({ settled: true, limit: 200 })).items;
    deepStrictEqual(
      settled.map(({ settlement }) => settlement),
      all,
    );
  });

  check('a run is read from any of its events on', async ({ store }) => {
    const steps = ['0', '1', '2', '3', '4', '5'].map((step) => stepDone(step));
    await store.append(creation('run', { events: steps.slice(0, 3) }));
    await store.append(addition('run', 3, { events: steps.slice(3, 4) }));
    await store.append(addition('run', 4, { events: steps.slice(4) }));
    for (const after of [0, 1, 2, 3, 4, 5, 6, 7]) {
      const loaded = await store.read('run', { after });
      deepStrictEqual(loaded?.events, steps.slice(after), `after ${after}`);
      strictEqual(loaded?.run.version, 6);
      for (const limit of [1, 2, 3, 5, 99]) {
        const part = await store.read('run', { after, limit });
        deepStrictEqual(part?.events, steps.slice(after, after + limit), `${limit} after ${after}`);
        deepStrictEqual(part?.run, loaded?.run);
      }
    }
    for (const limit of [0, -1, 1.5, Number.NaN]) await refused(store.read('run', { limit }), 'invalid-options');
    strictEqual(await store.read('none', { limit: 1 }), undefined);
  });

  check('a run or interrupt that does not exist is undefined', async ({ store }) => {
    strictEqual(await store.read('none'), undefined);
    strictEqual(await store.claim('none', 'me', LONG_MS), undefined);
    strictEqual(await store.interrupt('none'), undefined);
    strictEqual(await store.renew('none', 'me', LONG_MS), false);
    await store.release('none', 'me');
    deepStrictEqual(await store.due(10), []);
    deepStrictEqual(await store.takeReminders(10, LONG_MS), []);
    deepStrictEqual(await store.listRuns({ limit: 10 }), { items: [], cursor: null });
    deepStrictEqual(await store.listInterrupts({ limit: 10 }), { items: [], cursor: null });
  });

  check('a run is created once', async ({ store }) => {
    await store.append(creation('run'));
    const opened = [interrupt('question', 'run')];
    await leavesNothing(store, creation('run', { hash: 'other', opened }), 'run-exists', ['question']);
    strictEqual(
      await countDone(
        Array.from({ length: 20 }, () => store.append(creation('raced'))),
        'run-exists',
      ),
      1,
    );
    strictEqual((await load(store, 'raced')).run.version, 1);
  });

  check('an append at another version than that of the run is refused', async ({ store }) => {
    await store.append(creation('run', { events: [stepDone('0'), stepDone('1')] }));
    for (const version of [0, 1, 3]) await leavesNothing(store, addition('run', version), 'stale-version');
    await leavesNothing(store, addition('none', 0), 'stale-version');
    strictEqual(await store.read('none'), undefined);
  });

  check('of fifty appends at the same version exactly one happens', async ({ store }) => {
    await store.append(creation('run'));
    const appends = Array.from({ length: 50 }, (_, index) => {
      return store.append(addition('run', 1, { events: [stepDone(`${index}`)], hash: `${index}` }));
    });
    strictEqual(await countDone(appends, 'stale-version'), 1);
    const { run, events } = await load(store, 'run');
    strictEqual(events.length, 2);
    deepStrictEqual(events[1], stepDone(run.hash));
  });

  check('concurrent appends to many runs do not disturb each other', async ({ store }) => {
    const runIds = Array.from({ length: 30 }, (_, index) => `run-${index}`);
    const drive = async (runId: string): Promise<void> => {
      await store.append(creation(runId, { opened: [interrupt(`${runId}-question`, runId)], status: 'waiting' }));
      await store.append(addition(runId, 1, { settled: [{ id: `${runId}-question`, settlement: runId }] }));
      await store.append(addition(runId, 2, { status: 'done' }));
    };
    await Promise.all(runIds.map(drive));
    for (const runId of runIds) {
      const { events } = await load(store, runId);
      deepStrictEqual(events, [stepDone(`${runId}-0`), stepDone(`${runId}-1`), stepDone(`${runId}-2`)]);
      strictEqual((await store.interrupt(`${runId}-question`))?.settlement, runId);
    }
  });

  check('concurrent appends keep odd names and values apart, byte for byte', async ({ store }) => {
    const runIds = ODD.map((odd, index) => `${odd}#${index}`);
    const appends = ODD.map((odd, index) => {
      const runId = `${odd}#${index}`;
      const given = { agent: odd, tool: odd, kind: odd, digest: odd, labels: index % 2 === 0 ? [] : [odd, 'all'] };
      const times = { createdAt: index, expiresAt: index % 3 === 0 ? index : null };
      const opened = [`${runId}:a`, `${runId}:b`]
        .slice(index % 3 === 0 ? 1 : 0)
        .map((id) => interrupt(id, runId, { ...given, ...times, card: { odd } }));
      return creation(runId, {
        ...{ create: { id: runId, agent: odd, startedBy: index % 2 === 0 ? odd : null }, status: 'waiting' },
        ...{ events: [stepDone(odd, odd), stepDone('two', null)], hash: odd, outcome: index % 2 === 0 ? odd : null },
        opened,
      });
    });
    await Promise.all(appends.map((append) => store.append(append)));
    const settling = ODD.map((odd, index) =>
      addition(`${odd}#${index}`, 2, {
        hash: odd,
        settled: (appends[index]?.opened ?? []).map(({ id }) => ({ id, settlement: { odd } })),
      }),
    );
    const waiting = await store.listInterrupts({ label: 'all', limit: 100 });
    strictEqual(
      waiting.items.length,
      appends.flatMap(({ opened }) => opened.filter((one) => one.labels.length)).length,
    );
    await Promise.all(settling.map((append) => store.append(append)));
    for (const [index, { create, opened, hash, events }] of appends.entries()) {
      const loaded = await load(store, runIds[index] ?? '');
      deepStrictEqual(
        [loaded.run.agent, loaded.run.startedBy, loaded.run.hash],
        [create?.agent, create?.startedBy, hash],
      );
      deepStrictEqual(loaded.events, [...events, ...(settling[index]?.events ?? [])]);
      for (const one of opened) {
        const { settledAt: _, ...kept } = (await store.interrupt(one.id)) ?? {};
        deepStrictEqual(kept, { ...one, startedBy: create?.startedBy, settlement: one.card });
      }
    }
    deepStrictEqual((await store.listInterrupts({ label: 'all', limit: 100 })).items, []);
    const settled = await store.listInterrupts({ label: 'all', settled: true, limit: 100 });
    strictEqual(settled.items.length, waiting.items.length);
  });

  check('concurrent appends settle none, one or several interrupts each, or are refused alone', async ({ store }) => {
    const runIds = Array.from({ length: 12 }, (_, index) => `run-${index}`);
    const asked = (runId: string) => ['a', 'b', 'c'].map((name) => `${runId}:${name}`);
    const ask = (runId: string) => asked(runId).map((id) => interrupt(id, runId, { labels: ['all'] }));
    await Promise.all([...runIds, 'bad'].map((runId) => pausedRun(store, runId, ask(runId))));
    const settle = (runId: string, version: number, ids: readonly string[]) =>
      store.append(addition(runId, version, { settled: ids.map((id) => ({ id, settlement: `so ${id}` })) }));
    const firstOf = (runId: string, index: number) => asked(runId).slice(0, index % 2);
    const restOf = (runId: string, index: number) => asked(runId).slice(index % 2, 1 + (index % 3));

    await Promise.all(runIds.map((runId, index) => settle(runId, 1, firstOf(runId, index))));
    const rest = runIds.map((runId, index) => settle(runId, 2, restOf(runId, index)));
    await refused(settle('bad', 1, ['bad:a', 'run-0:c']), 'invariant');
    await Promise.all(rest);
    await refused(settle('bad', 1, ['bad:a', 'bad:a']), 'invariant');

    const settled = runIds.flatMap((runId, index) => [...firstOf(runId, index), ...restOf(runId, index)]);
    for (const id of [...runIds, 'bad'].flatMap(asked)) {
      strictEqual((await store.interrupt(id))?.settlement, settled.includes(id) ? `so ${id}` : null, id);
    }
    const waiting = await store.listInterrupts({ label: 'all', limit: 100 });
    strictEqual(waiting.items.length, 3 * 13 - settled.length);
  });

  check('each of many concurrent appends is refused or happens by itself', async ({ store }) => {
    await pausedRun(store, 'old', [interrupt('asked', 'old')]);
    await pausedRun(store, 'other', [interrupt('answered', 'other')]);
    await store.append(addition('other', 1, { settled: [{ id: 'answered', settlement: 'so' }] }));
    const good = Array.from({ length: 12 }, (_, index) => creation(`good-${index}`));
    const bad = [
      ...[creation('old'), addition('none', 1), addition('other', 1)],
      addition('other', 2, { settled: [{ id: 'answered', settlement: 'again' }] }),
      creation('new', { opened: [interrupt('asked', 'new')] }),
      addition('old', 1, { claim: { how: 'hold', token: 'me', leaseMs: LONG_MS } }),
    ];
    const results = await Promise.allSettled([...good, ...bad].map((append) => store.append(append)));
    const codes = results.map((result) => (result.status === 'fulfilled' ? 'done' : result.reason.code));
    deepStrictEqual(codes, [
      ...good.map(() => 'done'),
      ...['run-exists', 'stale-version', 'stale-version', 'invariant', 'invariant', 'claim-lost'],
    ]);
    for (const { runId } of good) strictEqual((await load(store, runId)).events.length, 1);
    strictEqual((await load(store, 'old')).run.version, 1);
    strictEqual((await load(store, 'other')).run.version, 2);
    strictEqual(await store.read('new'), undefined);
  });

  check('an interrupt of a refused concurrent append is not opened', async ({ store }) => {
    for (const [round, own] of [[], ['own']].entries()) {
      const [good, late] = [`good-${round}`, `late-${round}`];
      await Promise.all([good, late].map((runId) => pausedRun(store, runId, [])));
      const opened = (runId: string, names: readonly string[]) =>
        names.map((name) => interrupt(`${runId}:${name}`, runId));
      await Promise.all([
        store.append(addition(good, 1, { opened: opened(good, own) })),
        refused(store.append(addition(late, 0, { opened: opened(late, ['a', 'b']) })), 'stale-version'),
      ]);
      for (const name of ['a', 'b']) strictEqual(await store.interrupt(`${late}:${name}`), undefined);
      const { items } = await store.listInterrupts({ runId: good, limit: 10 });
      deepStrictEqual(
        items.map(({ id }) => id),
        own.map((name) => `${good}:${name}`),
      );
    }
  });

  check('an interrupt is pending from the append that opens it to the one that settles it', async ({ store }) => {
    const given = { tool: 'pay', kind: 'question', risk: 'high', labels: ['b', 'a', 'b'], createdAt: 5 } as const;
    const opened = interrupt('question', 'run', { ...given, expiresAt: 8, remindAt: 7, card: { to: ['ann'] } });
    await pausedRun(store, 'run', [opened, interrupt('other', 'run')]);
    deepStrictEqual(await store.interrupt('question'), {
      ...opened,
      startedBy: null,
      settledAt: null,
      settlement: null,
    });
    const before = await store.now();
    await store.append(addition('run', 1, { settled: [{ id: 'question', settlement: { by: 'ann' } }] }));
    const { settledAt, ...settled } = (await store.interrupt('question')) ?? { settledAt: null };
    deepStrictEqual(settled, { ...opened, startedBy: null, settlement: { by: 'ann' } });
    ok(settledAt !== null && settledAt >= before);
    strictEqual((await store.interrupt('other'))?.settledAt, null);
  });

  check('several interrupts are settled at once, each in its own way', async ({ store }) => {
    const three = ['c', 'a', 'b'];
    await pausedRun(
      store,
      'run',
      three.map((id) => interrupt(id, 'run', { labels: [`label of ${id}`] })),
    );
    await store.append(addition('run', 1, { settled: three.map((id) => ({ id, settlement: `so ${id}` })) }));
    for (const id of three) strictEqual((await store.interrupt(id))?.settlement, `so ${id}`);
  });

  check('an append that cannot open or settle an interrupt leaves nothing at all', async ({ store }) => {
    await pausedRun(store, 'run', [interrupt('one', 'run'), interrupt('two', 'run')]);
    await pausedRun(store, 'other', [interrupt('foreign', 'other')]);
    await store.append(addition('run', 1, { settled: [{ id: 'two', settlement: 'first' }] }));
    const all = ['one', 'two', 'foreign', 'new'];
    const claim = { how: 'take', token: 'me', leaseMs: LONG_MS } as const;
    const settles = (...settled: readonly string[]) => ({
      ...({ claim, status: 'running', wakeAt: 1, opened: [interrupt('new', 'run')] } as const),
      settled: settled.map((id) => ({ id, settlement: 'second' })),
    });
    const opens = (...opened: readonly string[]) => ({
      ...({ claim, status: 'running', settled: [{ id: 'one', settlement: 'second' }] } as const),
      opened: ['new', ...opened].map((id) => interrupt(id, 'run')),
    });
    for (const change of [settles('two'), settles('one', 'none'), settles('one', 'foreign'), settles('one', 'one')]) {
      await leavesNothing(store, addition('run', 2, change), 'invariant', all);
    }
    for (const change of [opens('foreign'), opens('two'), opens('new')]) {
      await leavesNothing(store, addition('run', 2, change), 'invariant', all);
    }
    await refused(store.append(creation('third', { opened: [interrupt('one', 'third')] })), 'invariant');
    await refused(store.append(creation('third', { settled: [{ id: 'one', settlement: 'theirs' }] })), 'invariant');
    strictEqual((await store.interrupt('one'))?.settledAt, null);
    strictEqual(await store.read('third'), undefined);
    ok((await store.claim('run', 'someone else', LONG_MS)) !== undefined, 'A refused append took the claim.');
  });

  check('an append that no store can keep is refused before anything is written', async ({ store }) => {
    await store.append(creation('run'));
    const wrong = [
      addition('run', 1, { events: [] }),
      addition('run', 1, { wakeAt: 1.5 }),
      addition('run', 1, { opened: [interrupt('a', 'other')] }),
      addition('run', 1, { opened: [interrupt('a', 'run', { tool: 'nul \0' })] }),
      addition('run', 1, { opened: [interrupt('a', 'run', { labels: ['half \ud800'] })] }),
    ];
    for (const append of wrong) await leavesNothing(store, append, 'invalid-options', ['a']);
    const create = { id: 'new', agent: 'agent', startedBy: null };
    await refused(store.append(creation('new', { expectedVersion: 1, create })), 'invalid-options');
    await refused(store.append(creation('other name', { create })), 'invalid-options');
    await refused(store.append(creation('', { create: { ...create, id: '' } })), 'invalid-options');
    strictEqual(await store.read('new'), undefined);
  });
}

/** Texts that a store could take for something else on their way. */
const ODD: readonly string[] = [
  ...[
    'NULL',
    'null',
    '{}',
    '{"a","b"}',
    '"',
    '""',
    '\\',
    '\\"',
    "'",
    '$1',
    'a\nb',
    '\n',
    '\r\n',
    '\t',
    ',',
    ' ',
    'ä€😀',
  ],
  ...['\\n', '\u2028', '%s', '?', '--', '[null]', '\u007f', 'x'.repeat(3_000)],
];
