// No request of any shape within the limits blocks the process for long. `node scripts/blocking.mjs` measures it in full.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asking } from '../server.ts';

const REQUESTS = Number(process.env.BLOCKING_REQUESTS ?? 3_000);
/** The bar of the full measurement on a quiet machine is 100 ms. This one must not fail on a busy one. */
const LONGEST_MS = Number(process.env.BLOCKING_MS ?? 1_000);

type World = {
  readonly url: string;
  readonly tokens: Record<string, string>;
  readonly large: any;
  readonly other: any;
};
type Attack = readonly [what: string, path: string, body?: unknown];

const many = <T>(length: number, item: (index: number) => T): T[] => Array.from({ length }, (_, index) => item(index));
const TEXT = 'x'.repeat(900_000);
const ITEMS = many(19_000, (index) => index);
const FIELDS = Object.fromEntries(many(9_000, (index) => [`f${index}`, index]));
const VALUES: Readonly<Record<string, unknown>> = { 'a long text': TEXT, 'many items': ITEMS, 'many fields': FIELDS };
const SCHEMAS: Readonly<Record<string, object>> = {
  alternatives: { items: { anyOf: many(1_500, (index) => ({ const: index })) } },
  'listed values': { items: { enum: many(8_000, (index) => index) } },
  'nested schemas': nested(7),
};
const inputs = (path: string, body: (value: unknown) => object): Attack[] =>
  Object.entries(VALUES).map(([what, value]) => [what, path, body(value)]);
const lists = (path: string): Attack[] => [['a full page', `${path}?limit=200`]];

function nested(depth: number): object {
  const inner = depth === 0 ? { items: { type: 'number' } } : nested(depth - 1);
  return { allOf: [inner, inner] };
}

/** The worst requests to each route. A new route must be listed here. */
function attacks({ large, other }: World): Readonly<Record<string, readonly Attack[]>> {
  const request = encodeURIComponent(large.id);
  const key = (what: unknown) => `key ${String(what).slice(0, 20)}`;
  let asked = 0;
  const ask = (more: object) => ({ tool: 'deploy', key: `${asked++}`, ...more });
  const decide = (edit: unknown) => ({ decision: { type: 'approve', edit } });
  const grant = { uses: 1_000, serves: {} };
  const ids = many(500, (index) => ({
    interruptId: `old-0:${index}`,
    digest: 'x',
    decision: { type: 'approve', edit: many(30, () => 1) },
  }));
  const small: Attack[] = [['as it is', '']];
  return {
    'POST /gate': [
      ...inputs('', (input) => ask({ input })),
      ...Object.entries(SCHEMAS).map(
        ([what, schema]): Attack => [what, '', ask({ input: many(9_000, () => 7), schema })],
      ),
      ['unique items', '', ask({ input: ITEMS, schema: { uniqueItems: true } })],
      ['a pattern', '', ask({ input: 'a'.repeat(40), schema: { pattern: '^(a+)+$' } })],
      ['too many items', '', ask({ input: many(150_000, () => 1) })],
    ],
    'GET /gate/{id}': [['a large call', `/gate/${large.runId}`]],
    'POST /gate/{id}/started': [['a large call', `/gate/${large.runId}/started`, {}]],
    'POST /gate/{id}/result': inputs(`/gate/${large.runId}/result`, (output) => ({ token: 'x'.repeat(20), output })),
    'POST /gate/{id}/withdraw': [['a long reason', `/gate/${other.runId}/withdraw`, { reason: 'x'.repeat(2_000) }]],
    'GET /interrupts': [
      ...['pending', 'settled'].flatMap((status): Attack[] => [
        ['a full page', `/interrupts?status=${status}&limit=200`],
        ['a filter that nothing passes', `/interrupts?status=${status}&tool=none`],
        [
          'a search with many words',
          `/interrupts?status=${status}&search=${many(249, (index) => String.fromCharCode(97 + (index % 26))).join('+')}`,
        ],
        ['a search that finds nothing', `/interrupts?status=${status}&search=nothing`],
      ]),
    ],
    'GET /interrupts/{interruptId}': [['a large request', `/interrupts/${request}`]],
    'POST /interrupts/{interruptId}/hold': [['a large request', `/interrupts/${request}/hold`, {}]],
    'DELETE /interrupts/{interruptId}/hold': [['a large request', `/interrupts/${request}/hold`]],
    'POST /interrupts/{interruptId}/assign': [['a large request', `/interrupts/${request}/assign`, { to: 'ann' }]],
    'POST /interrupts/{interruptId}/challenge': inputs(`/interrupts/${request}/challenge`, decide),
    'POST /interrupts/{interruptId}/decide': inputs(`/interrupts/${request}/decide`, decide),
    'POST /decisions': [['500 decisions', '/decisions', { items: ids }]],
    'POST /grants/simulate': [
      ...Object.entries(SCHEMAS).map(
        ([what, schema]): Attack => [what, '', { tool: 'deploy', grant: { ...grant, schema } }],
      ),
      ['a budget', '', { tool: 'deploy', grant: { ...grant, budget: { field: 'to', total: 5 } } }],
      [
        'long conditions',
        '',
        {
          tool: 'deploy',
          grant: { ...grant, where: many(50, (index) => ({ field: `f${index}`, oneOf: many(100, () => 'y') })) },
        },
      ],
    ],
    'GET /grants': lists('/grants'),
    'GET /grants/{grantId}': [['an unknown one', '/grants/grant_x']],
    'POST /grants/{grantId}/revoke': [['an unknown one', '/grants/grant_x/revoke', { reason: 'x'.repeat(10_000) }]],
    'GET /runs': [...lists('/runs'), ['a filter that nothing passes', '/runs?agent=none']],
    'GET /runs/{runId}': [
      ['a large run', `/runs/${large.runId}`],
      ['many requests', '/runs/old-0'],
    ],
    'GET /runs/{runId}/events': [['a large run', `/runs/${large.runId}/events`]],
    'GET /runs/{runId}/verify': [['a large run', `/runs/${large.runId}/verify`]],
    'GET /runs/{runId}/evidence': [
      ['a large run', `/runs/${large.runId}/evidence`],
      ['many requests', '/runs/old-0/evidence'],
    ],
    'POST /runs/{runId}/cancel': [['a long reason', `/runs/${other.runId}/cancel`, { reason: 'x'.repeat(2_000) }]],
    'POST /runs/{runId}/drive': [['a large run', `/runs/${large.runId}/drive`, {}]],
    'POST /runs': [
      ['a long prompt', '/runs', { agent: 'parrot', prompt: 'x'.repeat(100_000) }],
      ['many items', '/runs', { agent: 'parrot', prompt: ITEMS }],
    ],
    'POST /chat/{agent}': inputs('/chat/parrot', (value) => ({
      id: key(value),
      messages: [
        {
          id: 'm',
          role: 'user',
          parts: [
            { type: 'text', text: JSON.stringify(value).slice(0, 400_000) },
            { type: 'data-x', data: value },
          ],
        },
      ],
    })),
    'POST /agui/{agent}': inputs('/agui/parrot', (value) => ({
      threadId: key(value),
      runId: 'r',
      state: value,
      tools: [],
      context: [],
      forwardedProps: {},
      messages: [{ id: 'm', role: 'user', content: 'hi' }],
    })),
    'GET /stats': [['a year', '/stats?days=366']],
    'GET /insights': [['a year', '/insights?days=366']],
    'GET /insights.csv': [['a year', '/insights.csv?days=366']],
    'GET /agents': small,
    'GET /chat/{agent}/{chatId}': [['a long chat', '/chat/parrot/long-text']],
    'GET /healthz': small,
    'GET /readyz': small,
    'GET /metrics': small,
    'GET /me': small,
    'GET /absences': small,
    'GET /me/absence': small,
    'POST /me/absence': [['many items', '/me/absence', { until: 1, delegate: ITEMS }]],
    'DELETE /me/absence': small,
    'GET /me/notices': small,
    'POST /me/notices': inputs('/me/notices', (value) => ({ channels: value })),
    'GET /notices/channels': small,
    'GET /notices/deliveries': lists('/notices/deliveries'),
    'GET /notices/dead': lists('/notices/dead'),
    'POST /notices/retry': [['many items', '/notices/retry', { ids: ITEMS }]],
    'POST /notices/resend': [['many items', '/notices/resend', { ids: ITEMS }]],
    'GET /me/passkeys': small,
    'POST /me/passkeys': inputs('/me/passkeys', (value) => ({ name: 'x', response: value })),
    'POST /me/passkeys/options': [['many items', '/me/passkeys/options', { x: ITEMS }]],
    'POST /me/passkeys/{passkeyId}': [['a long name', '/me/passkeys/x', { name: TEXT }]],
    'DELETE /me/passkeys/{passkeyId}': [['an unknown one', '/me/passkeys/x']],
    'GET /me/push': small,
    'POST /me/push': inputs('/me/push', (value) => ({ endpoint: value })),
    'DELETE /me/push': small,
  };
}

let child: ChildProcess;
let world: World;
const folder = mkdtempSync(join(tmpdir(), 'blocking-'));

beforeAll(async () => {
  child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'blocking-child.ts'), join(folder, 'runs.sqlite'), String(REQUESTS)],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  );
  const [line] = (await Promise.race([once(child.stdout ?? child, 'data'), once(child, 'exit')])) as [Buffer];
  world = JSON.parse(line.toString());
}, 300_000);

afterAll(async () => {
  if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'close');
  rmSync(folder, { recursive: true, force: true });
});

/** The longest time for which the loop was blocked since the last call, in milliseconds of the thread. */
async function longestBlock(): Promise<number> {
  child.send('read');
  const [ms] = (await once(child, 'message')) as [number];
  return ms;
}

test('no request within the limits blocks the loop, for people with all rights and with few', async () => {
  const { paths } = (await (await fetch(`${world.url}/api/v1/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace('/api/v1', '')}`),
  );
  const listed = attacks(world);
  // Streams stay open; their first answer is that of the lists.
  expect(routes.filter((route) => !(route in listed)).toSorted()).toEqual(STREAMS);
  const found: { readonly ms: number; readonly what: string; readonly status: number }[] = [];
  for (const person of ['eve', 'boss'])
    for (const [route, worst] of Object.entries(attacks(world)))
      for (const [what, path, body] of worst) {
        const [method = '', own = ''] = route.split(' ');
        const ask = asking(world.url, { authorization: `Bearer ${world.tokens[person]}` });
        await longestBlock();
        const place = `${AT_ROOT.test(own) ? '' : '/api/v1'}${path || own}`;
        const { status } = await ask(method, place, body);
        found.push({ ms: await longestBlock(), what: `${route}: ${what} (${person})`, status });
      }
  const worst = found.toSorted((one, other) => other.ms - one.ms);
  if (process.env.BLOCKING_MS)
    console.log(
      worst
        .slice(0, 25)
        .map(({ ms, status, what }) => `${ms.toFixed(0).padStart(6)} ms  ${status}  ${what}`)
        .join('\n'),
    );
  expect(worst.filter(({ status }) => status >= 500)).toEqual([]);
  expect(worst.filter(({ ms }) => ms > LONGEST_MS)).toEqual([]);
}, 900_000);

const AT_ROOT = /^\/(agui|healthz|readyz|metrics)/;
const STREAMS = ['GET /changes', 'GET /chat/{agent}/{chatId}/stream', 'GET /chat/{agent}/{chatId}/watch'];
