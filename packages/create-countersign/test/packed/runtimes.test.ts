// The packed packages on the oldest Node that they claim. `npm run compat` runs the same on other versions, Bun and Deno.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  answersHooks,
  gatesMcp,
  keepsRunsInSqlite,
  placeOf,
  refusesTheCommand,
  runsTheEngine,
  serves,
} from './runtime-parts.ts';
import { node, OLDEST_NODE, OLDEST_NODE_OF_SERVER } from './runtimes.ts';

const PACKAGES = resolve(import.meta.dirname, '../../..');

test('the oldest versions are those that the packages claim', () => {
  const engines = (name: string) =>
    JSON.parse(readFileSync(join(PACKAGES, name, 'package.json'), 'utf8')).engines.node as string;
  expect(`${engines('countersign')}.0`).toBe(`>=${OLDEST_NODE}`);
  expect(`${engines('server')}.0`).toBe(`>=${OLDEST_NODE_OF_SERVER}`);
});

describe(`Node ${OLDEST_NODE}`, () => {
  const place = placeOf(node(OLDEST_NODE));
  test('runs the engine', () => runsTheEngine(place));
  test('keeps runs in SQLite', () => keepsRunsInSqlite(place));
  test('is too old for the command, which says what to install', () => refusesTheCommand(place));
});

describe(`Node ${OLDEST_NODE_OF_SERVER}`, () => {
  const place = placeOf(node(OLDEST_NODE_OF_SERVER));
  test('serves', () => serves(place));
  test('answers hooks', () => answersHooks(place));
  test('gates MCP servers', () => gatesMcp(place));
});
