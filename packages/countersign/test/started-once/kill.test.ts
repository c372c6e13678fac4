// Real processes, killed with SIGKILL at random moments on each durable store: no effect happens twice, no decision is lost.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { campaignSize, isFullCampaign } from '../campaign-size.ts';
import type { Place } from '../crash/bank.ts';
import { campaign } from '../crash/campaign.ts';
import { testServer } from '../stores/postgres-server.ts';

const KILLS = campaignSize(16, 300);
const SEED = 20_260_101;

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-kill-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function survives(name: string, place: Place): Promise<void> {
  const own = mkdtempSync(join(folder, 'campaign-'));
  const { problems, ...figures } = await campaign({ place, folder: own, kills: KILLS, seed: SEED });
  console.log(`${name}: ${JSON.stringify(figures)}`);
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({
    kills: KILLS,
    duplicates: 0,
    lostDecisions: 0,
    lostVotes: 0,
    lostStarts: 0,
    unfinished: 0,
  });
  // The kills must hit running calls, or the campaign proves nothing.
  expect(figures.doubts).toBeGreaterThan(KILLS / 20);
  // In a small campaign it is chance how many of them had acted.
  if (!isFullCampaign) return;
  expect(figures.happened).toBeGreaterThan(KILLS / 20);
  expect(figures.doubts - figures.happened).toBeGreaterThan(KILLS / 20);
}

test('killed processes on one SQLite file', () => survives('SQLite', { sqlite: join(folder, 'runs.db') }), 600_000);

test.runIf(postgres)(
  'killed processes on one PostgreSQL',
  async () => survives('PostgreSQL', { postgres: (await postgres?.freshDatabase()) ?? '' }),
  600_000,
);
