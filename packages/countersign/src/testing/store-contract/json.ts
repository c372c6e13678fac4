// The store contract: JSON is returned byte for byte, and callers share no objects with the store.
import { ok, strictEqual } from 'node:assert/strict';
import type { Json } from '../../core/json.ts';
import { addition, type Check, creation, LONG_MS, load, request, settling, stepDone } from './check.ts';

const VALUES: readonly Json[] = [
  ...[null, 0, false, '', [], {}, [0, '', false, null, -0, {}, []]],
  JSON.parse('{"b":1,"a":2,"10":3,"9":4,"":5,"\\u0000":6}'),
  JSON.parse('{"__proto__":{"x":1},"constructor":2,"toString":null}'),
  'nul \0 unit \u001f delete \u007f line\nend\r\n tab\t separators \u2028\u2029 mark \ufeff',
  '"\'`\\ \\u0000 \\n $1 $$ %s ? {} {{}} --; /* */',
  'é e\u0301 汉字 שלום 👩‍👩‍👧 \u{10ffff} \uffff',
  ['\ud800', 'a\udc00b', '\udc00\ud800'],
  [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 1e21, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3],
  'é"\n'.repeat(300_000),
  deep(400),
];

export function jsonContract(check: Check): void {
  check('every JSON value is returned byte for byte, even an empty, zero or false value', async ({ store }) => {
    for (const [index, value] of VALUES.entries()) {
      const [runId, id] = [`run-${index}`, `question-${index}`];
      const events = [stepDone('value', value), stepDone('end')];
      const opened = [request(id, runId, { card: value, createdAt: 0, expiresAt: 0 })];
      await store.append(creation(runId, { events, outcome: value, wakeAt: 0, opened }));
      await store.append(addition(runId, 2, { progressed: [{ id, progress: value }] }));
      await store.append(addition(runId, 3, { ...settling(value, id), outcome: value, wakeAt: 0 }));
      const { run, events: stored } = await load(store, runId);
      sameText(stored.slice(0, 2), events);
      sameText([run.outcome, run.wakeAt], [value, 0]);
      const [listed] = (await store.listRequests({ settled: true, runId, limit: 1 })).items;
      for (const kept of [await store.request(id), listed]) {
        sameText([kept?.card, kept?.progress, kept?.settlement], [value, value, value]);
        sameText([kept?.createdAt, kept?.expiresAt], [0, 0]);
        ok(kept?.settledAt != null);
      }
    }
  });

  check('changing a passed or returned object does not change the run', async ({ store }) => {
    const [output, card, outcome, settlement] = [{ list: [1] }, { list: [1] }, { list: [1] }, { list: [1] }];
    const opened = [request('a', 'run', { card })];
    const creating = store.append(creation('run', { events: [stepDone('step', output)], opened }));
    for (const { list } of [output, card]) list.push(2);
    await creating;
    const adding = store.append(addition('run', 1, { outcome, ...settling(settlement, 'a') }));
    for (const { list } of [outcome, settlement]) list.push(2);
    await adding;
    const look = async (): Promise<readonly unknown[]> => [
      ...[await store.read('run'), await store.read('run', { limit: 1 }), await store.claim('run', 'me', LONG_MS)],
      ...[await store.request('a'), await store.listRequests({ settled: true, limit: 1 })],
      await store.listRuns({ limit: 1 }),
    ];
    const found = await look();
    const text = JSON.stringify(found);
    const { run, events } = await load(store, 'run');
    const kept = await store.request('a');
    sameText([run.outcome, kept?.card, kept?.settlement], [{ list: [1] }, { list: [1] }, { list: [1] }]);
    sameText(events[0], stepDone('step', { list: [1] }));
    for (const value of found) overwrite(value);
    strictEqual(JSON.stringify(await look()), text);
  });
}

function deep(levels: number): Json {
  return levels === 0 ? 'bottom' : { down: [deep(levels - 1)] };
}

/** Changes every array and object in a value. */
function overwrite(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const inner of Object.values(value)) overwrite(inner);
  if (Array.isArray(value)) value.push('changed');
  else for (const key of Object.keys(value)) Object.assign(value, { [key]: 'changed' });
}

function sameText(found: unknown, expected: unknown): void {
  strictEqual(JSON.stringify(found), JSON.stringify(expected));
}
