// Every scenario, stopped before and after every write and every effect, on every store.
import { type CrashOptions, crashEverywhere } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { hastyScenarios, scenarios } from '../crash/scenarios.ts';
import { onMemory, onPostgres, onSqlite } from '../crash/subjects.ts';
import { testServer } from '../stores/postgres-server.ts';

const every = [...scenarios.entries()];
const postgres = await testServer();

/** Whatever happens to these, nobody has to be asked how it ended. */
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
  const doubts = decisions.filter(({ card }) => card.kind === 'unknown-outcome');
  expect(doubts.length > 0).toBe(!NEVER_IN_DOUBT.has(name));
  // Nobody is asked about what did not come to its commit point.
  if (name === 'commit point')
    for (const { crashes, decisions } of results.filter(({ crashes }) => crashes.length === 1)) {
      const isDoubted = decisions.some(({ card }) => card.kind === 'unknown-outcome');
      if (crashes[0]?.what === 'effect prepare') expect(isDoubted).toBe(false);
      if (crashes[0]?.what === 'effect send') expect(isDoubted).toBe(true);
    }
  // What the look-up finds has happened: a person is asked only if it finds nothing.
  if (name.startsWith('verify')) expect(doubts.filter(({ decision }) => decision !== 'approve')).toEqual([]);
}

describe('a process that dies anywhere, on the memory store', () => {
  test.each(every)('%s', (name, scenario) => survives(name, { scenario, makeStore: onMemory }));
});

describe('a process that dies anywhere, when the model takes no time and much is written together', () => {
  test.each([...hastyScenarios])('%s', (name, scenario) => survives(name, { scenario, makeStore: onMemory }, 4));
  test.each([...hastyScenarios])(
    '%s, and the next one too',
    (name, scenario) => survives(name, { scenario, makeStore: onMemory, crashes: 2 }, 4),
    60_000,
  );
});

describe('a process that dies anywhere, and the next one too', () => {
  test.each(every)('%s', (name, scenario) => survives(name, { scenario, makeStore: onMemory, crashes: 2 }), 60_000);
});

describe('a process that dies anywhere, on a SQLite file', () => {
  test.each(every)('%s', (name, scenario) => survives(name, { scenario, makeStore: onSqlite }), 60_000);
});

describe.runIf(postgres)('a process that dies anywhere, on PostgreSQL', () => {
  test.each(every)(
    '%s',
    async (name, scenario) => {
      const url = await postgres?.freshDatabase();
      await survives(name, { scenario, makeStore: () => onPostgres(url ?? '') });
    },
    60_000,
  );
});
