// Thousands of requests made from the OpenAPI document: none gets a server error or hangs, and successful responses match
// the document.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { expect, onTestFinished, test } from 'vitest';
import { testServer } from '../../../countersign/test/stores/postgres-server.ts';
import { begin, startServer } from '../server.ts';
import { type FuzzResponse, fuzzClient } from './client.ts';
import { type FuzzRequest, fuzzRequests, type Known } from './requests.ts';
import { type Schema, seeded } from './values.ts';

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 1_200);
const SEED = Number(process.env.FUZZ_SEED ?? 20_261);
/** A long campaign takes a fresh store and the next seed after so many, so that each ends within minutes. */
const ROUND = 5_000;
/** For a machine that does much else. A request that hangs is found by the client. */
const PATIENCE_MS = 200;

function inRounds(where: string, requests: number, open: () => Promise<Store>): void {
  const rounds = Math.ceil(requests / ROUND);
  const count = Math.round(requests / rounds);
  for (let seed = SEED; seed < SEED + rounds; seed++)
    test(
      `every route handles arbitrary input, on ${where}, with seed ${seed}`,
      async () => fuzz(await open(), count, seed),
      Math.max(300_000, count * PATIENCE_MS),
    );
}

inRounds('SQLite', REQUESTS, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-fuzz-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return sqliteStore(join(folder, 'runs.sqlite'));
});

// It refuses texts that SQLite takes: NUL, and halves of surrogate pairs.
const postgres = await testServer();
if (postgres) inRounds('PostgreSQL', REQUESTS / 2, async () => postgresStore(await postgres.freshDatabase()));

async function fuzz(store: Store, count: number, seed: number): Promise<void> {
  const server = await startServer({ store, bodyTimeoutMs: 2_000 });
  const ask = await server.as('ann', { reach: 'all' });
  const client = fuzzClient(server.server.port, await server.tokenFor('ann', { reach: 'all' }));
  onTestFinished(() => client.close());
  const document: Schema = (await ask('GET', '/api/v1/openapi.json')).body;
  const seen = new Map<string, Set<number>>();
  const faults: string[] = [];
  /** What there is, as far as the fuzz knows. */
  const ids: string[] = [];
  const requestIds: string[] = [];
  const freezeIds: string[] = ['no-freeze'];

  async function knownIds(): Promise<Known> {
    const runs = [];
    for (const prompt of ['pay bob 500', 'ask what?', 'look', 'fail']) runs.push(await begin(ask, server.ai, prompt));
    const runId = runs.map(({ id }) => id);
    requestIds.push(...runs.flatMap(({ requests }) => requests.map(({ id }: any) => id)));
    // Calls of programs outside, of each status: each program knows the token of its start.
    const askGate = async (key: string) =>
      (await ask('POST', '/api/v1/gate', { tool: 'deploy', input: 1, key })).body as { id: string; runId: string };
    const call = await askGate('k');
    const tokens = ['token-of-one', 'token-of-another'];
    const allowed = await Promise.all(['approved', ...tokens].map(askGate));
    for (const { id } of allowed) await server.ai.runs.decide(id, 'approve', { by: 'ann' });
    for (const [index, token] of tokens.entries())
      await ask('POST', `/api/v1/gate/${allowed[index + 1]?.runId}/started`, { token, lease: 3_600 });
    ids.push(...[call, ...allowed].map(({ runId }) => runId), call.id, ...runId, 'a-chat', 'another.chat');
    return {
      runId,
      chatId: runId,
      tool: ['deploy', 'pay'],
      wait: [0, 1],
      schema: [{ type: 'object' }, { type: 'integer' }, { items: 1 }, { $ref: '#' }],
      outputSchema: [{ type: 'string' }],
      id: ids,
      requestId: requestIds,
      freezeId: freezeIds,
      key: Array.from({ length: 50 }, (_, index) => `key-${index}`),
      revises: [call.runId],
      token: [...tokens, 'token-of-nobody'],
      agent: ['teller', 'parrot'],
      prompt: ['pay bob 500', 'ask when?', 'look', 'a\u0000b \ud800 \u202e'],
      role: ['user', 'assistant'],
      parts: [[{ type: 'text', text: 'pay bob 700' }], [{ type: 'text', text: '\u0000\udfff' }]],
      search: ['500', 'bob when', 'a\u0000b', '"', '*', "'", 'AND', '💥'],
    };
  }

  /** Keeps the newest calls of the gate and freezes among the known ids: later requests start and lift them. */
  function remember(route: string, text: string): void {
    const { id, runId } = route === 'POST /gate' || route === 'POST /freezes' ? JSON.parse(text) : {};
    if (route === 'POST /freezes') freezeIds.splice(0, freezeIds.length < 3 ? 0 : 1, id);
    if (route !== 'POST /gate' || ids.includes(runId)) return;
    ids.splice(4, ids.length < 20 ? 0 : 1, runId);
    if (id !== undefined) requestIds.splice(2, requestIds.length < 10 ? 0 : 1, id);
  }

  /** Said at once: a campaign takes hours. */
  function report(fault: string): void {
    faults.push(fault);
    console.error(fault);
  }

  async function send(request: FuzzRequest): Promise<void> {
    const { method, path, body, route } = request;
    const { status, type, text } = await client.send(request);
    seen.set(route, (seen.get(route) ?? new Set()).add(status));
    // A stream does not end: it is enough that it began.
    if (type.startsWith('text/event-stream')) return;
    if (status === 200 && route.startsWith(`${method} `)) remember(route, text);
    const found = faultsOf(document, request, { status, type, text });
    const what = () => `${method} ${path.slice(0, 300)} ${body?.slice(0, 300) ?? ''} → ${status} ${text.slice(0, 300)}`;
    for (const fault of found) report(`${fault}: ${what()}`);
  }

  let sent = 0;
  const requests = fuzzRequests(document, seeded(seed), await knownIds());
  const worker = async () => {
    while (sent++ < count && faults.length < 20) {
      const request = requests.next().value as FuzzRequest;
      try {
        await send(request);
      } catch (error) {
        report(`${request.method} ${request.path.slice(0, 300)} broke off: ${String(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(faults).toEqual([]);
  // The test proves little if everything was refused: most routes must have succeeded once.
  const succeeded = [...seen]
    .filter(([, statuses]) => [...statuses].some((status) => status < 300))
    .map(([route]) => route);
  const all = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...seen.keys()].toSorted()).toEqual(all.toSorted());
  const possible = all.filter((route) => !NEEDS_MORE.test(route));
  expect(succeeded.length).toBeGreaterThan(possible.length * 0.9);
  expect((await ask('GET', '/api/v1/me')).status).toBe(200);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
}

/**
 * What arbitrary input cannot do: use the id of a grant, a browser's passkey or its push service, a notice that was sent, a
 * call that waits to start, or one that ran and has an undo. In so few requests, it seldom has a call of the gate and its token together.
 */
const NEEDS_MORE =
  /\/grants\/\{|freezes\/\{|passkeys|challenge|push|notices\/re|recall|undo|gate\/\{id\}\/(started|renew|result)/;

/** Making one takes longer than most requests. The document is the same on every server. */
const VALIDATORS = new Map<string, Validator>();

function faultsOf(document: Schema, request: FuzzRequest, { status, type, text }: FuzzResponse): readonly string[] {
  if (status < 300) return status === 204 ? [] : misfits(document, request, status, text);
  if (status < 400) return [];
  return [
    ...(status >= 500 ? ['an error of the server'] : []),
    ...(type === 'application/problem+json' ? [] : ['no problem']),
    ...(status < 500 && status !== 405 && !isDocumented(document, request, status) ? ['not in the document'] : []),
  ];
}

/** With another method it may be another route. */
function isDocumented(document: Schema, { method, route }: FuzzRequest, status: number): boolean {
  const [, path = ''] = route.split(' ');
  return !route.startsWith(`${method} `) || document.paths[path]?.[method.toLowerCase()]?.responses[status];
}

/** The faults of a successful response, compared with the document. */
function misfits(document: Schema, { method, route }: FuzzRequest, status: number, text: string): readonly string[] {
  const [, path = ''] = route.split(' ');
  const operation = document.paths[path]?.[method.toLowerCase()];
  // With another method it may be another route.
  if (!operation || !route.startsWith(`${method} `)) return [];
  const answer = operation.responses[status];
  if (!answer) return [`${status} is not in the document`];
  const schema = answer.content?.['application/json']?.schema;
  if (!schema) return [];
  const key = `${method} ${path} ${status}`;
  const whole = { ...schema, components: document.components };
  const validator = VALIDATORS.get(key) ?? new Validator(whole as never, '2020-12', false);
  VALIDATORS.set(key, validator);
  const { valid, errors } = validator.validate(JSON.parse(text));
  return valid
    ? []
    : errors.slice(-2).map(({ instanceLocation, error }: OutputUnit) => `${instanceLocation}: ${error}`);
}
