// Every scenario, stopped before and after every write and every effect. Two crashes in a row, SQLite and PostgreSQL run with
// every scenario in `npm run campaigns` and with some short ones in `npm test`.
import { type CrashOptions, crashEverywhere } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { isFullCampaign } from '../campaign-size.ts';
import { hastyScenarios, scenarios } from '../crash/scenarios.ts';
import { onMemory, onPostgres, onSqlite } from '../crash/subjects.ts';
import { testServer } from '../stores/postgres-server.ts';

const every = [...scenarios.entries()];

/** One scenario for each mechanism. The long ones cost the square of their writes when two processes crash. */
const SHORT: ReadonlySet<string> = new Set([
  'approval',
  'edit',
  'step inside a tool',
  'asking again',
  'sub-agent',
  'deadline that approves',
  'commit point',
  'verify, too soon to be sure',
]);
/** Two crashes while writes are batched. The other short ones have two crashes with single writes. */
const HASTY: ReadonlySet<string> = new Set(['approval', 'commit point', 'sub-agent']);
const selected = every.filter(([name]) => isFullCampaign || (SHORT.has(name) && !HASTY.has(name)));
const selectedHasty = [...hastyScenarios].filter(([name]) => isFullCampaign || HASTY.has(name));
/** Two crashes in these take seconds. */
const ONCE: ReadonlySet<string> = new Set(['preview', 'quorum']);
const selectedOnce = every.filter(([name]) => isFullCampaign || SHORT.has(name) || ONCE.has(name));
/** One scenario for each kind of write: a run, its sub-run, a timer, a vote. */
const POSTGRES: ReadonlySet<string> = new Set(['approval', 'sub-agent', 'deadline that approves', 'quorum']);
const selectedPostgres = every.filter(([name]) => isFullCampaign || POSTGRES.has(name));
const postgres = await testServer();

/** Scenarios that a crash never leaves in doubt. */
const NEVER_IN_DOUBT: ReadonlySet<string> = new Set([
  'question',
  'reject',
  'deadline',
  'idempotent tool',
  'idempotent tool behind a gate',
  'sub-agent that only looks',
  'verify, long after',
]);

async function survives(name: string, options: CrashOptions, fewest = 8): Promise<void> {
  const { problems, results } = await crashEverywhere(options);
  expect(problems).toEqual([]);
  expect(results.length).toBeGreaterThanOrEqual(fewest);
  const decisions = results.flatMap((result) => result.decisions);
  const doubts = decisions.filter(({ card }) => card.kind === 'doubt');
  expect(doubts.length > 0).toBe(!NEVER_IN_DOUBT.has(name));
  // A crash before the commit point raises no doubt.
  if (name === 'commit point')
    for (const { crashes, decisions } of results.filter(({ crashes }) => crashes.length === 1)) {
      const isDoubted = decisions.some(({ card }) => card.kind === 'doubt');
      if (crashes[0]?.what === 'effect prepare') expect(isDoubted).toBe(false);
      if (crashes[0]?.what === 'effect send') expect(isDoubted).toBe(true);
    }
  // A call that `verify` finds is settled without asking a person.
  if (name.startsWith('verify')) expect(doubts.filter(({ decision }) => decision !== 'approve')).toEqual([]);
}

describe('a process that dies anywhere, on the memory store', () => {
  test.each(every)('%s', (name, scenario) => survives(name, { scenario, makeStore: onMemory }));
});

describe('a process that dies anywhere while the model replies at once and writes are batched', () => {
  test.each([...hastyScenarios])('%s', (name, scenario) => survives(name, { scenario, makeStore: onMemory }, 4));
  test.each(selectedHasty)(
    '%s, and the next process dies too',
    (name, scenario) => survives(name, { scenario, makeStore: onMemory, crashes: 2 }, 4),
    60_000,
  );
});

describe('a process that dies anywhere, and the next process dies too', () => {
  test.each(selected)('%s', (name, scenario) => survives(name, { scenario, makeStore: onMemory, crashes: 2 }), 60_000);
});

describe('a process that dies anywhere, on a SQLite file', () => {
  test.each(selectedOnce)('%s', (name, scenario) => survives(name, { scenario, makeStore: onSqlite }), 60_000);
});

describe.runIf(postgres)('a process that dies anywhere, on PostgreSQL', () => {
  test.each(selectedPostgres)(
    '%s',
    async (name, scenario) => {
      const url = await postgres?.freshDatabase();
      await survives(name, { scenario, makeStore: () => onPostgres(url ?? '') });
    },
    60_000,
  );
});
