// Drills come by seed and time: as often as asked, at the same moment for every worker.
import { expect, test } from 'vitest';
import { dueDrill, HOUR_MS } from './drill-plan.ts';

const request = (prompt: string) => ({ agent: 'clerk', tool: 'pay', input: {}, prompt });
const OPTIONS = { seed: 'a seed', perDay: 2.4, requests: [request('one'), request('two'), request('three')] };
const HOURS = 10_000;
const ends = Array.from({ length: HOURS }, (_, hour) => (hour + 1) * HOUR_MS - 1);
const planned = ends.flatMap((end) => dueDrill(OPTIONS, end) ?? []);

test('there are as many as asked on average, of every request', () => {
  expect(planned.length / HOURS).toBeCloseTo(0.1, 1);
  const counts = Map.groupBy(planned, ({ request: { prompt } }) => prompt);
  for (const { prompt } of OPTIONS.requests) expect(counts.get(prompt)?.length).toBeGreaterThan(250);
});

test('every worker computes the same drill, and another seed other ones', () => {
  expect(ends.flatMap((end) => dueDrill(OPTIONS, end) ?? [])).toEqual(planned);
  expect(new Set(planned.map(({ runId }) => runId)).size).toBe(planned.length);
  const others = ends.flatMap((end) => dueDrill({ ...OPTIONS, seed: 'another' }, end) ?? []);
  expect(others.some(({ runId }) => planned.some((drill) => drill.runId === runId))).toBe(false);
});

test('a drill is due from its moment to the end of its hour', () => {
  for (const { at, runId } of planned.slice(0, 100)) {
    expect(dueDrill(OPTIONS, at - 1)).toBeUndefined();
    expect(dueDrill(OPTIONS, at)?.runId).toBe(runId);
    expect(dueDrill(OPTIONS, (Math.floor(at / HOUR_MS) + 1) * HOUR_MS)?.runId).not.toBe(runId);
  }
});
