// Two servers on one file: metrics of the store are the same, counters are per process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ServerProcess, serverProcess } from './children.ts';

test('runs by status are the same from both; decisions are counted where they were recorded', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-two-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const place = `sqlite:${join(folder, 'runs.sqlite')}`;
  const here = await serverProcess(place);
  const there = await serverProcess(place);
  for (const [index, { client }] of [here, there, here, there, here].entries()) {
    const { id: runId } = await client.runs.start({ agent: 'teller', prompt: 'Ask.' });
    for await (const event of client.runs.follow(runId)) if (event.type === 'call-interrupted') break;
    const [card] = (await client.requests.list({ runId })).items;
    // The first and the fourth are decided through the other one, the second is cancelled, two still wait.
    const other = client === here.client ? there.client : here.client;
    if (index === 1) await client.runs.cancel(runId);
    if (index !== 0 && index !== 3) continue;
    await other.requests.decide(card?.id ?? '', { decision: { type: 'respond', output: 'now' } });
    // Until its end.
    for await (const _event of other.runs.follow(runId));
  }
  const lines = async ({ url }: ServerProcess, name: string) =>
    (await (await fetch(`${url}/metrics`)).text()).split('\n').filter((line) => line.startsWith(`${name}{`));
  const runs = [
    'countersign_runs{status="running"} 0',
    'countersign_runs{status="waiting"} 2',
    'countersign_runs{status="done"} 2',
    'countersign_runs{status="failed"} 0',
    'countersign_runs{status="cancelled"} 1',
  ];
  expect((await lines(here, 'countersign_runs')).toSorted()).toEqual(runs.toSorted());
  expect((await lines(there, 'countersign_runs')).toSorted()).toEqual(runs.toSorted());
  for (const each of [here, there])
    expect(await lines(each, 'countersign_decisions_total')).toEqual([
      'countersign_decisions_total{outcome="respond",channel="api"} 1',
    ]);
}, 60_000);
