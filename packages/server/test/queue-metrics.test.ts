// The metrics that an operator scales by, and the dashboard that shows all metrics.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryStore } from 'countersign';
import { expect, test } from 'vitest';
import { creation } from '../../countersign/src/testing/store-contract/check.ts';
import { begin, startServer } from './server.ts';

const DASHBOARD = join(import.meta.dirname, '../../../examples/deploy/grafana-dashboard.json');

test('due and driven runs, and how long they have waited, are metrics by agent', async () => {
  let now = Date.now();
  const { ai, url } = await startServer({
    store: memoryStore({ now: () => now }),
    worker: false,
    metrics: 'open',
  });
  const gauges = async () =>
    (await (await fetch(`${url}/metrics`)).text()).match(/^countersign_(runs_due|runs_claimed|queue|oldest_due).*/gm);
  const { store } = ai.runs;
  const start = (id: string) => store.append(creation(id, { create: { id, agent: 'teller', startedBy: null } }));
  await start('first');
  now += 30_000;
  await start('second');
  await start('third');
  await store.claim('third', 'another process', 60_000);
  now += 5_000;
  expect(await gauges()).toEqual([
    'countersign_runs_due{agent="parrot"} 0',
    'countersign_runs_due{agent="teller"} 2',
    'countersign_runs_claimed{agent="parrot"} 0',
    'countersign_runs_claimed{agent="teller"} 1',
    'countersign_queue_age_seconds{agent="parrot"} 0',
    'countersign_queue_age_seconds{agent="teller"} 35',
    `countersign_oldest_due_timestamp_seconds ${(now - 35_000) / 1000}`,
  ]);
});

test('every metric on the dashboard is exported, and every exported one is on the dashboard', async () => {
  const { as, ai, url } = await startServer({ metrics: 'open' });
  const ask = await as('root', { reach: 'all' });
  const run = await begin(ask, ai, 'pay bob 500');
  await ask('POST', `/api/v1/requests/${run.pending[0]}/decide`, { decision: { type: 'approve' } });
  await ai.runs.settled();
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const exported = [...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard;
  const texts = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const shown = texts
    .flatMap((text) => text.match(/countersign_\w+/g) ?? [])
    .map((name) => name.replace(/_bucket$/, ''));
  expect([...new Set(shown)].toSorted()).toEqual(exported.toSorted());
  // A name with labels that are never sent would show nothing.
  for (const [, names = '', metric = ''] of texts
    .join('\n')
    .matchAll(/by \(([\w, ]+)\) \((?:rate\()?(countersign_\w+)/g))
    for (const label of names.split(', '))
      expect(metrics, metric).toMatch(new RegExp(`^${metric}{[^}]*${label}=`, 'm'));
});

type Dashboard = { readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] };
