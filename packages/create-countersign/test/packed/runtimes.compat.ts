// The packed packages on the oldest and the newest Node of each supported line, on Bun and on Deno.
import { describe, test } from 'vitest';
import {
  answersHooks,
  gatesMcp,
  keepsRunsInSqlite,
  placeOf,
  refusesSqlite,
  refusesTheCommand,
  runsTheEngine,
  serves,
} from './runtime-parts.ts';
import { bun, deno, newest, node, OLDEST_NODE_OF_SERVER } from './runtimes.ts';

/** `runtimes.test.ts` has the oldest Node of the engine. */
const RUNTIMES = [
  node(OLDEST_NODE_OF_SERVER),
  node(newest('node', '22.')),
  node('24.0.0'),
  node(newest('node', '24.')),
  node('26.0.0'),
  node(newest('node', '26.')),
  bun('1.4.0'),
  bun(newest('bun')),
  deno('2.9.0'),
  deno(newest('deno')),
];

describe.each(RUNTIMES)('$name', (runtime) => {
  const place = placeOf(runtime);
  test('runs the engine', () => runsTheEngine(place));
  test('keeps runs in SQLite', () => keepsRunsInSqlite(place));
  test('serves', () => serves(place));
  test('answers hooks', () => answersHooks(place));
  test('gates MCP servers', () => gatesMcp(place));
});

describe.each([node('20.20.2'), node('22.5.1')])('$name is too old', (runtime) => {
  const place = placeOf(runtime);
  test('SQLite says what to install', () => refusesSqlite(place));
  test('the command says what to install', () => refusesTheCommand(place));
});

test('an older Bun is told what to install for SQLite', () => refusesSqlite(placeOf(bun('1.3.14'))));
