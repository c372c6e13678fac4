// Several servers and workers on one PostgreSQL: a deploy and kills lose and repeat nothing. `npm run fleet` runs a larger one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testServer } from '../../../countersign/test/stores/postgres-server.ts';
import { campaign } from './campaign.ts';

const postgres = await testServer();
const root = join(import.meta.dirname, '../../../..');

test.runIf(postgres)(
  'a fleet survives a deploy and the kill of each process',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-fleet-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const figures = await campaign({
      folder,
      store: (await postgres?.freshDatabase()) ?? '',
      // The same code twice, with agents that name another version.
      builds: [
        { name: 'previous', root },
        { name: 'current', root },
      ],
      servers: 2,
      workers: 2,
      rounds: 1,
      atOnce: 8,
      gapMs: 0,
      // Longer than the ten seconds of the promise: other tests keep the machine busy. The script has the promise itself.
      takeOverMs: 20_000,
      seed: 1,
    });
    expect(figures).toMatchObject({ problems: [], duplicates: 0, lostDecisions: 0, silentStreams: 0, kills: 4 });
    expect(figures.takeOvers).toBeGreaterThan(0);
  },
  240_000,
);
