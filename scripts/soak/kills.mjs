// The long version of the kill tests: processes killed for as long as one likes, on SQLite, PostgreSQL or both.
//
//   node scripts/soak/kills.mjs [--store sqlite|postgres|both] [--minutes 10] [--kills 1000] [--seed 1] [--at-once 4]
//
// Each store gets so many minutes or kills, whichever is reached first. Without either: 10 minutes. The exit code is 1 if
// anything happened twice, was lost or did not end; then the files are kept, and named.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { campaign } from '../../packages/countersign/test/crash/campaign.ts';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from '../postgres.mjs';

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'both' },
    minutes: { type: 'string' },
    kills: { type: 'string' },
    seed: { type: 'string', default: '1' },
    'at-once': { type: 'string', default: '4' },
  },
});
const kills = values.kills === undefined ? Number.POSITIVE_INFINITY : Number(values.kills);
const minutes = Number(values.minutes ?? (values.kills === undefined ? 10 : Number.POSITIVE_INFINITY));
const stores = values.store === 'both' ? ['sqlite', 'postgres'] : [values.store];

for (const store of stores) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-soak-'));
  const server = store === 'postgres' ? await startPostgres() : undefined;
  try {
    const { problems, ...figures } = await campaign({
      place: server ? { postgres: server.url() } : { sqlite: join(folder, 'runs.db') },
      folder,
      kills,
      seed: Number(values.seed),
      atOnce: Number(values['at-once']),
      mostMs: minutes * 60_000,
    });
    console.log(store, figures);
    for (const problem of problems) console.log(`  ${problem}`);
    if (problems.length === 0) rmSync(folder, { recursive: true });
    else console.log(`The files are in ${folder}.`);
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await server?.stop();
  }
}
