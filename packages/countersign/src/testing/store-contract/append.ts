// The store contract: appends are all or nothing, in order, and can be read back.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from '../../runs/port/page.ts';
import { readRun } from '../../runs/port/read-run.ts';
import {
  addition,
  type Check,
  claim,
  codesOf,
  countDone,
  creation,
  ids,
  LONG_MS,
  leavesNothing,
  listed,
  load,
  pass,
  pausedRun,
  refused,
  request,
  settling,
  stepDone,
} from './check.ts';

export function appendContract(check: Check): void {
  check('an append adds its events and replaces the record of the run', async (subject) => {
    const { store } = subject;
    const before = await store.now();
    const first = [stepDone('one'), stepDone('two')];
    const create = { id: 'run', agent: 'clerk', startedBy: 'ann' };
    await store.append(creation('run', { create, events: first, hash: 'abc', wakeAt: 7, outcome: { so: ['far'] } }));
    const { run, events } = await load(store, 'run');
    deepStrictEqual(events, first);
    const { createdAt, updatedAt, ...record } = run;
    deepStrictEqual(record, {
      ...{ id: 'run', agent: 'clerk', startedBy: 'ann', status: 'running', version: 2, hash: 'abc', wakeAt: 7 },
      outcome: { so: ['far'] },
    });
    ok(createdAt >= before && updatedAt >= createdAt && updatedAt <= (await store.now()));

    await pass(subject, 5);
    const later = await store.now();
    const change = { hash: 'next', status: 'done', outcome: 'after', wakeAt: null } as const;
    await store.append(addition('run', 2, { events: [stepDone('a'), stepDone('b')], ...change }));
    const next = await load(store, 'run');
    deepStrictEqual(next.events, [...first, stepDone('a'), stepDone('b')]);
    deepStrictEqual(next.run, { ...run, version: 4, ...change, updatedAt: next.run.updatedAt });
    ok(next.run.updatedAt >= later && next.run.updatedAt > createdAt);
    deepStrictEqual((await store.listRuns({ limit: 2 })).items, [next.run], 'a list has the same record');
  });

  check('a copy of an append keeps the time of the original', async ({ store }) => {
    const now = await store.now();
    await store.append(creation('run', { at: 1_000, opened: [request('question', 'run')] }));
    await store.append(addition('run', 1, { at: 2_000, status: 'done', ...settling('so', 'question') }));
    const { run } = await load(store, 'run');
    deepStrictEqual([run.createdAt, run.updatedAt], [1_000, 2_000]);
    strictEqual((await store.request('question'))?.settledAt, 2_000);
    await store.append(creation('held', { at: now, ...claim('take', 'me', LONG_MS) }));
    strictEqual(await store.claim('held', 'other', LONG_MS), undefined);
  });

  check('one append can hold many events, and open or settle many requests', async ({ store }) => {
    const events = Array.from({ length: 300 }, (_, index) => stepDone(`${index}`));
    const opened = Array.from({ length: 150 }, (_, index) => request(`q${index}`, 'run', { createdAt: index }));
    await store.append(creation('run', { events, opened }));
    deepStrictEqual((await load(store, 'run')).events, events);
    const all = opened.map(({ id }) => id);
    deepStrictEqual(await listed(store, {}, 200), all);
    await store.append(addition('run', 300, { settled: all.map((id) => ({ id, settlement: id })) }));
    const settled = (await store.listRequests({ settled: true, limit: 200 })).items;
    deepStrictEqual(
      settled.map(({ settlement }) => settlement),
      all,
    );
  });

  check('a pending request has the progress that was written last', async ({ store }) => {
    const { progress, ...settled } = { progress: { votes: ['ann'] }, ...settling('so', 'a') };
    const progressOf = async (id: string) => (await store.request(id))?.progress;
    await pausedRun(store, 'run', [request('a', 'run'), request('b', 'run', { progress }), request('c', 'run')]);
    deepStrictEqual([await progressOf('a'), await progressOf('b')], [null, progress]);
    const both = ['a', 'b'].map((id) => ({ id, progress: { of: id } }));
    const opened = [request('new', 'run', { progress })];
    await store.append(addition('run', 1, { status: 'waiting', progressed: both, opened, ...settling('so', 'c') }));
    const { items } = await store.listRequests({ runId: 'run', limit: 9 });
    deepStrictEqual(
      items.map(({ id, progress }) => ({ id, progress })),
      [...both, { id: 'new', progress }],
    );
    await store.append(
      addition('run', 2, { status: 'waiting', ...settled, progressed: [{ id: 'b', progress: null }] }),
    );
    deepStrictEqual([await progressOf('a'), await progressOf('b')], [{ of: 'a' }, null]);
  });

  check('a settled request has what came of its call, as the last append said it', async ({ store }) => {
    const outcomeOf = async (id: string) => (await store.request(id))?.outcome;
    await pausedRun(store, 'other', [request('foreign', 'other')]);
    await pausedRun(store, 'run', [request('a', 'run'), request('b', 'run')]);
    deepStrictEqual(await outcomeOf('a'), null);
    const outcome = { state: 'done', text: null };
    const { settled } = settling('so', 'b');
    await store.append(addition('run', 1, { settled: [{ id: 'a', settlement: 'so', outcome }, ...settled] }));
    deepStrictEqual([await outcomeOf('a'), await outcomeOf('b')], [outcome, null]);
    const said = (state: string, ...named: readonly string[]) => named.map((id) => ({ id, outcome: { state } }));
    await store.append(addition('run', 2, { ended: said('unknown', 'b', 'foreign', 'none') }));
    await store.append(addition('run', 3, { ended: said('failed', 'b') }));
    const { items } = await store.listRequests({ runId: 'run', settled: true, limit: 9 });
    deepStrictEqual(
      items.map(({ id, outcome }) => [id, outcome]),
      [
        ['a', outcome],
        ['b', { state: 'failed' }],
      ],
    );
    deepStrictEqual(await outcomeOf('foreign'), null);
    await leavesNothing(store, addition('run', 3, { ended: said('done', 'b') }), 'stale-version', ['b']);
  });

  check('progress of an request that is not pending in the run is refused, and nothing happens', async ({ store }) => {
    await pausedRun(store, 'other', [request('foreign', 'other')]);
    await pausedRun(store, 'run', [request('a', 'run'), request('b', 'run')]);
    await store.append(addition('run', 1, settling('so', 'b')));
    const progress = (...named: readonly string[]) => named.map((id) => ({ id, progress: 'new' }));
    const look = ['a', 'b', 'foreign', 'new'];
    for (const progressed of [progress('a', 'b'), progress('foreign'), progress('none'), progress('a', 'a')])
      await leavesNothing(store, addition('run', 2, { progressed }), 'invariant', look);
    const settled = settling('so', 'a');
    await leavesNothing(store, addition('run', 2, { ...settled, progressed: progress('a') }), 'invariant', look);
    const opened = [request('new', 'run')];
    await leavesNothing(store, addition('run', 2, { opened, progressed: progress('new') }), 'invariant', look);
    await leavesNothing(store, creation('later', { progressed: progress('a') }), 'invariant', look);
    await leavesNothing(store, addition('run', 1, { progressed: progress('a') }), 'stale-version', look);
  });

  check('a run is read from any of its events on', async ({ store }) => {
    const steps = ['0', '1', '2', '3', '4', '5'].map((step) => stepDone(step));
    await store.append(creation('run', { events: steps.slice(0, 3) }));
    await store.append(addition('run', 3, { events: steps.slice(3, 4) }));
    await store.append(addition('run', 4, { events: steps.slice(4) }));
    const { run } = await load(store, 'run');
    strictEqual(run.version, 6);
    for (const after of [0, 1, 2, 3, 4, 5, 6, 7]) {
      deepStrictEqual(await store.read('run', { after }), { run, events: steps.slice(after) }, `after ${after}`);
      for (const limit of [1, 2, 3, 5, 99]) {
        const part = { run, events: steps.slice(after, after + limit) };
        deepStrictEqual(await store.read('run', { after, limit }), part, `${limit} after ${after}`);
      }
    }
    for (const limit of [0, -1, 1.5, Number.NaN]) await refused(store.read('run', { limit }), 'invalid-options');
  });

  check('a long run is read in pages', async ({ store }) => {
    const large = 'x'.repeat(FULL_PAGE_SIZE * 0.4);
    const steps = Array.from({ length: 8 }, (_, index) => stepDone(`${index} ${large}`));
    await store.append(creation('large', { events: steps.slice(0, 1) }));
    for (let version = 1; version < steps.length; version += 1)
      await store.append(addition('large', version, { events: steps.slice(version, version + 1) }));
    const claimed = await store.claim('large', 'me', LONG_MS);
    deepStrictEqual(claimed, await store.read('large'));
    for (const after of [0, 3]) {
      const page = await store.read('large', { after });
      deepStrictEqual(page?.events, steps.slice(after, after + 3));
      strictEqual(page?.run.version, steps.length);
    }
    deepStrictEqual((await readRun(store, 'large'))?.events, steps);

    const many = Array.from({ length: MOST_PAGE_EVENTS + 1 }, (_, index) => stepDone(`${index}`));
    await store.append(creation('many', { events: many }));
    strictEqual((await store.read('many'))?.events.length, MOST_PAGE_EVENTS);
    deepStrictEqual((await readRun(store, 'many'))?.events, many);
  });

  check('a run or request that does not exist is undefined', async ({ store }) => {
    strictEqual(await store.read('none'), undefined);
    strictEqual(await store.read('none', { limit: 1 }), undefined);
    strictEqual(await store.claim('none', 'me', LONG_MS), undefined);
    strictEqual(await store.request('none'), undefined);
    strictEqual(await store.renew('none', 'me', LONG_MS), false);
    await store.release('none', 'me');
    deepStrictEqual(await store.due(10), []);
    deepStrictEqual(await store.listRuns({ limit: 10 }), { items: [], cursor: null });
    deepStrictEqual(await store.listRequests({ limit: 10 }), { items: [], cursor: null });
  });

  check('a run is created once', async ({ store }) => {
    await store.append(creation('run'));
    const opened = [request('question', 'run')];
    await leavesNothing(store, creation('run', { hash: 'other', opened }), 'run-exists', ['question']);
    const creations = Array.from({ length: 20 }, () => store.append(creation('raced')));
    strictEqual(await countDone(creations, 'run-exists'), 1);
    strictEqual((await load(store, 'raced')).run.version, 1);
  });

  check('an append at another version than that of the run is refused', async ({ store }) => {
    await store.append(creation('run', { events: [stepDone('0'), stepDone('1')] }));
    for (const version of [0, 1, 3]) await leavesNothing(store, addition('run', version), 'stale-version');
    await leavesNothing(store, addition('none', 0), 'stale-version');
    const appends = Array.from({ length: 50 }, (_, index) =>
      store.append(addition('run', 2, { events: [stepDone(`${index}`)], hash: `${index}` })),
    );
    strictEqual(await countDone(appends, 'stale-version'), 1);
    const { run, events } = await load(store, 'run');
    deepStrictEqual(events, [stepDone('0'), stepDone('1'), stepDone(run.hash)]);
  });

  check('each of many concurrent appends is refused or happens by itself', async ({ store }) => {
    const questions = (runId: string) => ['a', 'b', 'c'].map((name) => `${runId}:${name}`);
    const paused = Array.from({ length: 12 }, (_, index) => `paused-${index}`);
    for (const runId of [...paused, 'old']) {
      await pausedRun(
        store,
        runId,
        questions(runId).map((id) => request(id, runId)),
      );
    }
    await store.append(addition('old', 1, settling('so', 'old:b')));
    // They settle none, one, two or three requests.
    const settles = paused.map((runId, index) => settling('so', ...questions(runId).slice(0, index % 4)));
    const good = [
      ...paused.map((runId, index) => addition(runId, 1, settles[index])),
      ...[creation('plain'), creation('asks', { opened: [request('own', 'asks')] })],
    ];
    const bad = [
      ...[creation('old'), addition('none', 1)],
      addition('old', 1, { opened: [request('new', 'old')] }),
      addition('old', 2, settling('again', 'old:a', 'old:b')),
      creation('new', { opened: [request('old:a', 'new')] }),
      addition('old', 2, claim('hold', 'me')),
    ];
    deepStrictEqual(await codesOf([...good, ...bad].map((append) => store.append(append))), [
      ...good.map(() => 'done'),
      ...['run-exists', 'stale-version', 'stale-version', 'invariant', 'invariant', 'claim-lost'],
    ]);
    for (const { runId, expectedVersion, opened, settled } of good) {
      strictEqual((await load(store, runId)).run.version, expectedVersion + 1);
      deepStrictEqual(await listed(store, { runId, settled: true }), ids(settled));
      const asked = expectedVersion === 0 ? ids(opened) : questions(runId).slice(settled.length);
      deepStrictEqual(await listed(store, { runId }), asked);
    }
    strictEqual((await load(store, 'old')).run.version, 2);
    deepStrictEqual(await listed(store, { runId: 'old' }), ['old:a', 'old:c']);
    strictEqual(await store.request('new'), undefined);
    strictEqual(await store.read('new'), undefined);
  });

  check('an append that cannot open or settle an request leaves nothing at all', async ({ store }) => {
    await pausedRun(store, 'run', [request('one', 'run'), request('two', 'run')]);
    await pausedRun(store, 'other', [request('foreign', 'other')]);
    await store.append(addition('run', 1, settling('first', 'two')));
    const change = { ...claim('take', 'me'), status: 'running', wakeAt: 1 } as const;
    const open = (...opened: readonly string[]) => ({ opened: opened.map((id) => request(id, 'run')) });
    const settles = [['two'], ['one', 'none'], ['one', 'foreign'], ['one', 'one']].map((settled) => ({
      ...{ ...change, ...open('new'), ...settling('second', ...settled) },
    }));
    const opens = ['foreign', 'two', 'new'].map((id) => ({
      ...{ ...change, ...open('new', id), ...settling('second', 'one') },
    }));
    for (const wrong of [...settles, ...opens]) {
      await leavesNothing(store, addition('run', 2, wrong), 'invariant', ['one', 'two', 'foreign', 'new']);
    }
    for (const wrong of [{ opened: [request('one', 'third')] }, settling('theirs', 'one')]) {
      await leavesNothing(store, creation('third', wrong), 'invariant', ['one']);
    }
    ok((await store.claim('run', 'someone else', LONG_MS)) !== undefined, 'A refused append took the claim.');
  });

  check('an invalid append is refused before anything is written', async ({ store }) => {
    await store.append(creation('run'));
    const create = { id: 'new', agent: 'agent', startedBy: null };
    const invalid = [
      ...[addition('run', 1, { events: [] }), addition('run', 1, { wakeAt: 1.5 }), addition('run', -1)],
      addition('run', 1, { opened: [request('a', 'other')] }),
      addition('run', 1, { opened: [request('a', 'run', { tool: 'nul \0' })] }),
      addition('run', 1, { opened: [request('a', 'run', { labels: ['half \ud800'] })] }),
      ...[creation('new', { expectedVersion: 1, create }), creation('other name', { create })],
    ];
    for (const append of invalid) await leavesNothing(store, append, 'invalid-options', ['a']);
    await refused(store.append(creation('', { create: { ...create, id: '' } })), 'invalid-options');
  });
}
