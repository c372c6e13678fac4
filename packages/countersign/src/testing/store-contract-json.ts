// The store contract: JSON comes out as it went in, byte for byte, and is nobody's but the reader's.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { Json } from '../core/json.ts';
import { addition, type Check, creation, interrupt, load, pausedRun, stepDone } from './store-contract-check.ts';

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

  check('names may be any text', async ({ store }) => {
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

  check('what was given or read can be changed without changing the run', async ({ store }) => {
    const output = { list: [1] };
    const card = { list: [1] };
    const append = creation('run', { events: [stepDone('step', output)], opened: [interrupt('a', 'run', { card })] });
    const appending = store.append(append);
    output.list.push(2);
    card.list.push(2);
    await appending;
    const read = await load(store, 'run');
    (read.events as unknown[]).length = 0;
    Object.assign(read.run, { status: 'failed' });
    Object.assign((await store.interrupt('a')) ?? {}, { card: null });
    const { run, events } = await load(store, 'run');
    strictEqual(run.status, 'running');
    sameText(events, [stepDone('step', { list: [1] })]);
    sameText((await store.interrupt('a'))?.card, { list: [1] });
  });

  check('a list of many appends is read in their order', async ({ store }) => {
    await pausedRun(store, 'run', []);
    for (let version = 1; version < 130; version += 1) await store.append(addition('run', version));
    const { events } = await load(store, 'run');
    deepStrictEqual(
      events,
      Array.from({ length: 130 }, (_, version) => stepDone(`run-${version}`)),
    );
  });
}

function sameText(found: unknown, wanted: unknown): void {
  strictEqual(JSON.stringify(found), JSON.stringify(wanted));
}
