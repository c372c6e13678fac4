// `serve`, `worker` and `tokens`: their output, and recovery after a kill.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test } from 'vitest';
import { KEYS } from './pty.ts';
import { ASK, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();

const TIMEOUT = 120_000;
const ledger = (): readonly string[] =>
  existsSync(place.path('ledger')) ? readFileSync(place.path('ledger'), 'utf8').trim().split('\n') : [];

/** A proxy that delays requests for `held` until it is released. */
async function passingOn(to: string, authorization: string, held: string) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const proxy = createHttpServer(async (request, response) => {
    if (request.url === held) await released;
    const answer = await fetch(`${to}${request.url}`, { headers: { authorization } });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    // Either side may close first.
    if (answer.body) await pipeline(answer.body, response).catch(() => {});
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const close = () => {
    proxy.closeAllConnections();
    proxy.close();
  };
  return { url: `http://127.0.0.1:${port}`, release, close };
}

describe('serve', { timeout: TIMEOUT }, () => {
  test('commands list, show and decide through a server with a token, and the run resumes there', async () => {
    const { url, child, ended, says } = await place.serving();
    const token = await place.tokenFor('ann');
    const remote = (...args: readonly string[]) =>
      place.countersign([...args, '--url', url], { COUNTERSIGN_TOKEN: token });
    const started = await fetch(`${url}/api/v1/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'assistant', prompt: PAY }),
    });
    const { id } = (await started.json()) as { id: string };
    await place.json('show', id);
    const inbox = await remote('inbox', '--json');
    expect(inbox).toMatchObject({ code: 0 });
    const [card] = JSON.parse(inbox.stdout).items;
    expect(card).toMatchObject({ runId: id, tool: 'transferMoney' });

    const misfit = await remote('decide', card.id, '--edit', '{"toAccount":"DE02","amount":"lots"}');
    expect(misfit).toMatchObject({ code: 2 });
    expect(misfit.stderr).toContain('amount');
    const decided = await remote('decide', card.id, '--approve', '--digest', card.digest, '--wait', '--json');
    expect(decided).toMatchObject({ code: 0 });
    expect(JSON.parse(decided.stdout)).toMatchObject({
      by: 'ann',
      channel: 'cli',
      run: { status: 'done', text: 'Done: [{"paid":950}]' },
    });
    expect(ledger()).toEqual(['DE02 950']);
    expect(await remote('decide', card.id, '--approve')).toMatchObject({ code: 0 });
    const other = await remote('decide', card.id, '--reject');
    expect(other.code).toBe(4);
    expect(other.stderr).toMatch(/You already approved this at .*Your decision was not saved/);

    expect((await remote('runs')).stdout).toContain(id);
    expect((await remote('show', id)).stdout).toMatch(/ann \(cli\) +transferMoney: approved/);
    expect(await remote('show', 'run_none')).toMatchObject({ code: 3 });
    expect((await remote('show', id, '--follow', '--json')).stdout.trim().split('\n').length).toBeGreaterThan(4);
    expect((await remote('doctor')).stdout).toMatch(/ok +token +you are ann/);
    const usage = await remote('decide', card.id, '--approve', '--by', 'eve');
    expect(usage).toMatchObject({ code: 2 });
    child.kill('SIGTERM');
    await says(/Stopped/);
    expect(await ended).toBe(0);
  });

  test('the inbox shows a request that arrived before its stream was connected', async () => {
    const { url } = await place.serving();
    const COUNTERSIGN_TOKEN = await place.tokenFor('ann');
    const authorization = `Bearer ${COUNTERSIGN_TOKEN}`;
    const slow = await passingOn(url, authorization, '/api/v1/changes');
    const terminal = place.terminal(['inbox', '--url', slow.url], { env: { COUNTERSIGN_TOKEN } });
    await terminal.says(/You're all caught up/);
    await fetch(`${url}/api/v1/runs`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'assistant', prompt: ASK }),
    });
    slow.release();
    await terminal.says(/Which grill\?/);
    terminal.press(KEYS.escape);
    expect(await terminal.ended).toBe(0);
    slow.close();
  });

  test('after kill -9, a new server resumes a run that was decided meanwhile, once', async () => {
    const [waiting = '', decided = ''] = await place.start(PAY, PAY);
    const first = await place.serving();
    const COUNTERSIGN_TOKEN = await place.tokenFor('ann');
    const [one] = (await place.json('show', waiting)).pending;
    const following = place.begin(['show', waiting, '--follow', '--url', first.url], { COUNTERSIGN_TOKEN });
    await following.says(/waits for an approval/);
    first.child.kill('SIGKILL');
    await following.says(/Lost connection to http:\S+\. Retrying/);
    const [two] = (await place.json('show', decided)).pending;
    await place.json('decide', two, '--edit', '{"toAccount":"DE02","amount":1}');
    const second = await place.serving('--port', new URL(first.url).port);
    await following.says(/Reconnected/);
    const followed = await place.countersign(['show', decided, '--follow', '--url', second.url], { COUNTERSIGN_TOKEN });
    expect(followed.stdout).toMatch(/The run is done/);
    const approved = await place.countersign(['decide', one, '--approve', '--wait', '--url', second.url], {
      COUNTERSIGN_TOKEN,
    });
    expect(approved.stdout).toContain('The run is done: Done: [{"paid":950}]');
    expect(approved.stderr).toContain('Waiting for a server or a worker');
    await following.says(/The run is done/);
    expect(await following.ended).toBe(0);
    expect(ledger()).toEqual(['DE02 1', 'DE02 950']);
  });

  test('a missing token, a wrong token and a server that is down each say what to do', async () => {
    const { url } = await place.serving();
    const nobody = await place.countersign(['runs', '--url', url]);
    expect(nobody).toMatchObject({ code: 1 });
    expect(nobody.stderr).toContain('countersign tokens create');
    expect(await place.countersign(['runs', '--url', url, '--token', 'cs_0'])).toMatchObject({ code: 1 });
    const away = await place.countersign(['runs', '--url', 'http://127.0.0.1:65534/']);
    expect(away).toMatchObject({ code: 1 });
    expect(away.stderr).toMatch(/^error: Cannot reach http:\/\/127\.0\.0\.1:65534: connect ECONNREFUSED/);
    expect(away.stderr).toContain('countersign doctor --url http://127.0.0.1:65534');
    expect(await place.countersign(['runs', '--url', 'nowhere'])).toMatchObject({ code: 2 });
    expect((await place.countersign(['doctor', '--url', 'http://127.0.0.1:1'])).stdout).toMatch(/fail +server/);
  });

  test.each([
    ['a page', 200],
    ['a page that is not there', 404],
  ])('an address that responds with %s is not a server', async (_name, status) => {
    const other = createHttpServer((_request, response) => response.writeHead(status).end('<h1>Hello</h1>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { code, stderr } = await place.countersign(['show', 'run_x', '--url', url]);
    const { stdout } = await place.countersign(['doctor', '--url', url]);
    other.close();
    expect(stderr).toContain(`${url} is not a Countersign server`);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail +server /m);
  });

  test.each([
    [
      'an invalid PORT',
      { PORT: '3000x' },
      [],
      /'3000x' from env 'PORT' is invalid\. Expected a whole number from 0 to 65535/,
    ],
    ['a PORT out of range', { PORT: '70000' }, [], /'70000' from env 'PORT' is invalid.*whole number from 0 to 65535/],
    ['a negative PORT', { PORT: '-1' }, [], /'-1' from env 'PORT' is invalid.*whole number from 0 to 65535/],
    ['a person id that is too long', {}, ['--port', '0', '--login', 'a'.repeat(201)], /--login needs a person id/],
  ])('%s is refused before anything starts', async (_what, env, args, message) => {
    const { code, stderr } = await place.countersign(['serve', ...args], env);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
    expect(existsSync(place.path('.countersign/runs.sqlite'))).toBe(false);
  });

  test('it says how to sign in, and a link for a browser needs no restart', async () => {
    const { says, url } = await place.serving();
    await says(/How to sign in:/);
    const [, command = ''] = await says(/a browser +countersign (link <person> --public-url \S+)\n/);
    await says(/a program +countersign tokens create <person>\n/);
    const made = await place.countersign(command.replace('<person>', 'ann').split(' '));
    expect(made.stderr).toMatch(
      /^Signs in ann \(start, read, decide; their own runs\), once and within 10 minutes\.\n$/,
    );
    expect(made.stdout.startsWith(`${url}/login?token=`)).toBe(true);
    const signedIn = await fetch(made.stdout.trim(), { redirect: 'manual' });
    expect(signedIn.status).toBe(303);
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const me = await (await fetch(`${url}/api/v1/me`, { headers: { cookie } })).json();
    expect(me).toMatchObject({ id: 'ann', reach: 'own' });
    const spent = await fetch(made.stdout.trim());
    expect([spent.status, await spent.text()]).toEqual([401, expect.stringContaining('countersign link')]);
  });

  test('with its own login and its own address, it says so, and links have that address', async () => {
    writeFileSync(
      place.path('named.ts'),
      `export { default } from './agents.ts';
      export const server = { identify: () => null, publicUrl: 'https://approvals.example.com', basePath: '/desk' };`,
    );
    const server = place.begin(['serve', 'named.ts', '--port', '0', '--login', 'bea']);
    await server.says(/own login +`identify` in your file/);
    await server.says(/a browser +countersign link <person> --agents named\.ts\n/);
    await server.says(
      /signs in bea, once and within 10 minutes:\n {2}https:\/\/approvals\.example\.com\/desk\/login\?token=\S+\n/,
    );
    const link = await place.json('link', 'cem', '--agents', 'named.ts', '--scopes', 'read', '--all');
    expect(link).toEqual({
      loginUrl: expect.stringMatching(/^https:\/\/approvals\.example\.com\/desk\/login\?token=[\w-]{43}$/),
      person: 'cem',
      scopes: ['read'],
      reach: 'all',
      roles: [],
    });
    expect(await place.countersign(['link', 'a'.repeat(201)])).toMatchObject({ code: 2 });
    expect(await place.countersign(['link', 'ann', '--store', 'sqlite:./none.sqlite'])).toMatchObject({ code: 3 });
  });

  test('a sign-in link that cannot be created ends the server, after its tools have finished', async () => {
    const [run = ''] = await place.start(PAY);
    const [id] = (await place.json('show', run)).pending;
    await place.json('decide', id, '--approve');
    // The payment starts before the link fails, and the process ends after the payment.
    const source = readFileSync(place.path('agents.ts'), 'utf8');
    const failing = `const put = store.notes.put.bind(store.notes);
    Object.assign(store.notes, { put: async (collection, ...note) => {
      if (collection === 'freezes' || collection === 'rules-versions') return put(collection, ...note);
      while (!existsSync(process.env.LEDGER ?? '')) await delay(10);
      setTimeout(() => appendFileSync(process.env.HOLD ?? '', ''), 200);
      throw new Error('No notes.');
    } });
  const ai = `;
    writeFileSync(place.path('agents.ts'), source.replace('const ai = ', failing));
    const env = { LEDGER: place.path('ledger'), HOLD: place.path('released') };
    const { code, stderr } = await place.spawned(['serve', '--port', '0', '--login', 'ann'], env);
    expect(stderr).toMatch(/No notes\./);
    expect(code).toBe(1);
    expect(ledger().at(-1)).toBe('DE02 950');
    expect((await place.json('show', run)).pending).toEqual([]);
  });

  test('a failed request is logged with its route', async () => {
    const { child, url, says, ended } = await place.serving();
    rmSync(place.path('.countersign'), { recursive: true });
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    await says(/error: request GET \/readyz responded with 503\./);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  test('a port in use is reported with what to do', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await place.spawned(['serve', '--port', String(port)]);
    taken.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`Cannot listen on 127.0.0.1:${port}`);
    expect(stderr).toContain('--port');
    expect(await place.countersign(['serve', '--port', '99999'])).toMatchObject({ code: 2 });
  });

  test('the exported `server` options identify people; with --json the log is lines of JSON', async () => {
    writeFileSync(
      place.path('named.ts'),
      `export { default } from './agents.ts';
      export const server = { identify: (request: Request) => ({ id: request.headers.get('x-user') ?? 'nobody', reach: 'all' as const }) };`,
    );
    const server = place.begin(['serve', 'named.ts', '--port', '0', '--login', 'bea', '--json']);
    const [, url = ''] = await server.says(/"type":"serving","url":"([^"]+)"/);
    await server.says(/"loginUrl":"[^"]+\/login\?token=/);
    const me = await fetch(`${url}/api/v1/me`, { headers: { 'x-user': 'zoe' } });
    expect(await me.json()).toMatchObject({ id: 'zoe' });
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    for (const line of server.output().trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });
});

describe('worker', { timeout: TIMEOUT }, () => {
  test('resumes a decided run, and stops cleanly', async () => {
    const [run = ''] = await place.start(PAY);
    const [id] = (await place.json('show', run)).pending;
    await place.json('decide', id, '--approve');
    expect((await place.json('show', run)).status).toBe('running');
    const worker = place.begin(['worker'], { LEDGER: place.path('ledger') });
    await worker.says(/Working on sqlite:\S+ with assistant/);
    const { stdout } = await place.countersign(['show', run, '--follow']);
    expect(stdout).toContain('The run is done');
    expect(ledger()).toEqual(['DE02 950']);
    worker.child.kill('SIGINT');
    expect(await worker.ended).toBe(0);
    expect(worker.output()).toContain('Stopped.');
  });
});

describe('tokens', { timeout: TIMEOUT }, () => {
  test('are created, listed without their secret, and revoked', async () => {
    const made = await place.countersign([
      'tokens',
      'create',
      'ann',
      '--scopes',
      'read,decide',
      '--expires-in',
      '30',
      '--label',
      'desk',
      ...['--role', 'finance', '--role', 'cfo'],
    ]);
    expect(made.code).toBe(0);
    expect(made.stdout).toMatch(/^cs_[0-9a-f]{16}_[\w-]{43}\n$/);
    expect(made.stderr).toContain('Acts as ann (read, decide; their own runs; roles finance, cfo');
    const { items } = await place.json('tokens', 'list');
    expect(items).toMatchObject([
      { person: 'ann', label: 'desk', scopes: ['read', 'decide'], reach: 'own', roles: ['finance', 'cfo'] },
    ]);
    expect(JSON.stringify(items)).not.toContain(made.stdout.trim());
    const [, person, scopes] = (await place.countersign(['tokens', 'list'])).stdout.split('\t');
    expect([person, scopes]).toEqual(['ann', 'read,decide']);
    expect(await place.countersign(['tokens', 'revoke', made.stdout.trim()])).toMatchObject({ code: 0 });
    expect(await place.countersign(['tokens', 'revoke', items[0].id])).toMatchObject({ code: 3 });
    expect((await place.json('tokens', 'list')).items).toEqual([]);
  });

  test('an unknown scope and an unknown subcommand are usage errors', async () => {
    const scope = await place.countersign(['tokens', 'create', 'ann', '--scopes', 'read,write']);
    expect(scope).toMatchObject({ code: 2 });
    expect(scope.stderr).toContain('start,read,decide');
    const word = await place.countersign(['tokens', 'lst']);
    expect(word).toMatchObject({ code: 2 });
    expect(word.stderr).toContain('Did you mean list?');
    expect(await place.countersign(['tokens'])).toMatchObject({ code: 2 });
  });
});

test('worker serves probes on its health port, and is not ready while it stops', { timeout: TIMEOUT }, async () => {
  place.withAgents();
  const held = place.path('held');
  const ledgerFile = place.path('ledger');
  const worker = place.begin(['worker', 'agents.ts', '--health-port', '0', '--json'], {
    HOLD: held,
    LEDGER: ledgerFile,
  });
  const [, port] = await worker.says(/"healthPort":(\d+)/);
  const probe = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  expect([await probe('/healthz'), await probe('/readyz'), await probe('/metrics')]).toEqual([200, 200, 404]);
  const [runId = ''] = await place.start(PAY);
  const { items } = await place.json('inbox', '--run', runId);
  await place.countersign(['decide', items[0].id, '--approve']);
  await expect.poll(ledger).toHaveLength(1);
  worker.child.kill('SIGTERM');
  await expect.poll(() => probe('/readyz')).toBe(503);
  expect(await probe('/healthz')).toBe(200);
  writeFileSync(held, '');
  expect(await worker.ended).toBe(0);
});
