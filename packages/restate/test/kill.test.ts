// A small campaign of kills on a single node: workers, services and the node itself. The script has three nodes and more kills.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { campaign } from './campaign.ts';
import { makeCluster } from './restate-node.ts';

test('workers, services and the node are killed, and no call runs twice and nothing acknowledged is lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-restate-kill-'));
  const nodes = await makeCluster(folder);
  try {
    await Promise.all(nodes.map((node) => node.start()));
    const victims = ['worker', 'service', 'node', 'service and node'] as const;
    const figures = await campaign({ folder, nodes, kills: 9, victims, pauseMs: 100 });
    expect(figures.problems).toEqual([]);
    expect(figures).toMatchObject({ duplicates: 0, lost: 0, unfinished: 0 });
    expect(figures.effects).toBeGreaterThan(5);
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    rmSync(folder, { recursive: true });
  }
}, 240_000);
