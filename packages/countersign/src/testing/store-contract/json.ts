// The store contract: JSON comes back byte for byte, and readers share nothing.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Json } from '../../core/json.ts';
import { addition, type Check, creation, interrupt, LONG_MS, load, pausedRun, stepDone } from './check.ts';

const VALUES: Readonly<Record<string, Json>> = {
  'falsy values': [0, '', false, null, -0, {}, []],
  'the order of keys': JSON.parse('{"b":1,"a":2,"10":3,"9":4,"":5,"\\u0000":6}'),
  'equal and prototype keys': JSON.parse('{"__proto__":{"x":1},"constructor":2,"toString":null}'),
  'control characters': 'nul \0 unit \u001f delete \u007f line\nend\r\n tab\t separators \u2028\u2029 mark \ufeff',
  'quotes and escapes': '"\'`\\ \\u0000 \\n $1 $$ %s ? {} {{}} --; /* */',
  'all of Unicode': 'é e\u0301 汉字 שלום 👩‍👩‍👧 \u{10ffff} \uffff',
  'halves of pairs': ['\ud800', 'a\udc00b', '\udc00\ud800'],
  numbers: [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 1e21, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3],
  'a megabyte': 'é"\n'.repeat(300_000),
  'a deep value': deep(400),
};

function deep(levels: number): Json {
  return levels === 0 ? 'bottom' : { down: [deep(levels - 1)] };
}

export function jsonContract(check: Check): void {
  for (const [name, value] of Object.entries(VALUES)) {
    check(name, async ({ store }) => {
      const events = [stepDone('value', value), stepDone('end')];
      const opened = [interrupt('question', 'run', { card: value })];
      await store.append(creation('run', { events, outcome: value, opened, status: 'waiting' }));
      await store.append(addition('run', 2, { settled: [{ id: 'question', settlement: value }], outcome: value }));
      const { run, events: stored } = await load(store, 'run');
      const settled = await store.interrupt('question');
      const [listed] = (await store.listInterrupts({ settled: true, limit: 1 })).items;
      sameText(stored.slice(0, 2), events);
      for (const kept of [run.outcome, settled?.card, settled?.settlement, listed?.card, listed?.settlement]) {
        sameText(kept, value);
      }
    });
  }

  check('names may be any string', async ({ store }) => {
    const name = 'é 汉字 👩‍👩‍👧 "quoted" \\ \' $1 \n%';
    const opened = interrupt(name, name, { agent: name, tool: name, kind: name, labels: [name], digest: name });
    const create = { id: name, agent: name, startedBy: name };
    await store.append(creation(name, { create, hash: name, opened: [opened] }));
    const { run } = await load(store, name);
    deepStrictEqual([run.id, run.agent, run.startedBy, run.hash], [name, name, name, name]);
    const asked = { runId: name, agent: name, tool: name, kind: name, label: name, limit: 1 };
    deepStrictEqual((await store.listInterrupts(asked)).items, [
      { ...opened, startedBy: name, settledAt: null, settlement: null },
    ]);
    strictEqual((await store.listRuns({ agent: name, startedBy: name, limit: 1 })).items.length, 1);
  });

  check('an empty, zero or false value is kept unchanged', async ({ store }) => {
    for (const [index, value] of [null, 0, false, '', [], {}].entries()) {
      const [runId, id] = [`run-${index}`, `question-${index}`];
      const opened = [interrupt(id, runId, { card: value, createdAt: 0, expiresAt: 0 })];
      await store.append(creation(runId, { events: [stepDone('value', value)], outcome: value, wakeAt: 0, opened }));
      await store.append(addition(runId, 1, { settled: [{ id, settlement: value }], outcome: value, wakeAt: 0 }));
      const { run, events } = await load(store, runId);
      const kept = await store.interrupt(id);
      sameText(events[0], stepDone('value', value));
      sameText([run.outcome, run.wakeAt], [value, 0]);
      sameText([kept?.card, kept?.settlement, kept?.createdAt, kept?.expiresAt], [value, value, 0, 0]);
      ok(kept?.settledAt != null);
    }
  });

  check('changing a passed or returned object does not change the run', async ({ store }) => {
    const [output, card, outcome, settlement] = [{ list: [1] }, { list: [1] }, { list: [1] }, { list: [1] }];
    const opened = [interrupt('a', 'run', { card })];
    const creating = store.append(creation('run', { events: [stepDone('step', output)], opened }));
    for (const { list } of [output, card]) list.push(2);
    await creating;
    const settling = store.append(addition('run', 1, { outcome, settled: [{ id: 'a', settlement }] }));
    for (const { list } of [outcome, settlement]) list.push(2);
    await settling;
    const look = async (): Promise<readonly unknown[]> => [
      ...[await store.read('run'), await store.read('run', { limit: 1 }), await store.claim('run', 'me', LONG_MS)],
      ...[await store.interrupt('a'), await store.listInterrupts({ settled: true, limit: 1 })],
      await store.listRuns({ limit: 1 }),
    ];
    const found = JSON.stringify(await look());
    sameText((await load(store, 'run')).events[0], stepDone('step', { list: [1] }));
    sameText((await load(store, 'run')).run.outcome, { list: [1] });
    const { card: keptCard, settlement: kept } = (await store.interrupt('a')) ?? {};
    sameText([keptCard, kept], [{ list: [1] }, { list: [1] }]);
    for (const one of await look()) scribble(one);
    strictEqual(JSON.stringify(await look()), found);
  });

  check('many appends are read in their order', async ({ store }) => {
    await pausedRun(store, 'run', []);
    for (let version = 1; version < 130; version += 1) await store.append(addition('run', version));
    const { events } = await load(store, 'run');
    deepStrictEqual(
      events,
      Array.from({ length: 130 }, (_, version) => stepDone(`run-${version}`)),
    );
  });
}

/** Changes everything in it, from the bottom up. */
function scribble(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const inner of Object.values(value)) scribble(inner);
  if (Array.isArray(value)) value.push('scribbled');
  else for (const key of Object.keys(value)) Object.assign(value, { [key]: 'scribbled' });
}

function sameText(found: unknown, wanted: unknown): void {
  strictEqual(JSON.stringify(found), JSON.stringify(wanted));
}
