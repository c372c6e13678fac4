// No request of any shape within the limits blocks the process for long. `node scripts/blocking.mjs` measures it in full.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asking } from '../server.ts';
import { attacks, otherAttacks, type World } from './blocking-attacks.ts';

const REQUESTS = Number(process.env.BLOCKING_REQUESTS ?? 3_000);
/** The bar of the full measurement on a quiet machine is 100 ms. This one must not fail on a busy one. */
const LONGEST_MS = Number(process.env.BLOCKING_MS ?? 1_000);

let child: ChildProcess;
let world: World;
const folder = mkdtempSync(join(tmpdir(), 'blocking-'));

beforeAll(async () => {
  child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'blocking-child.ts'), join(folder, 'runs.sqlite'), String(REQUESTS)],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  [world] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [World];
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
  const { paths } = (await (await fetch(`${world.main.url}/api/v1/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace('/api/v1', '')}`),
  );
  expect(routes.toSorted()).toEqual(Object.keys(attacks(world, 'nobody')).toSorted());
  // The first request to /mcp loads its packages, once.
  await asking(world.main.url, { authorization: `Bearer ${world.main.tokens.eve}` })('POST', '/mcp', {});
  const found: { readonly ms: number; readonly what: string; readonly status: number; readonly refused: boolean }[] =
    [];
  for (const person of ['eve', 'boss'])
    for (const [route, worst] of [attacks, otherAttacks].flatMap((of) => Object.entries(of(world, person))))
      for (const [what, path, body, { on = 'main', refused = false, headers = {}, isStream } = {}] of worst) {
        const [method = '', own = ''] = route.split(' ');
        const { url, tokens } = world[on as 'main'];
        const place = path.startsWith('/api') ? path : `${AT_ROOT.test(own) ? '' : '/api/v1'}${path || own}`;
        const authorization = `Bearer ${tokens[person]}`;
        await longestBlock();
        const send = () =>
          isStream
            ? opened(`${url}${place}`, { authorization })
            : asking(url, { authorization })(method, place, body, headers);
        // The server may have closed the connection of the last request, whose body it refused to read.
        const { status } = await send().catch(send);
        found.push({ ms: await longestBlock(), what: `${route}: ${what} (${person})`, status, refused });
      }
  const worst = found.toSorted((one, other) => other.ms - one.ms);
  if (process.env.BLOCKING_MS)
    console.log(
      worst
        .slice(0, 25)
        .map(({ ms, status, what }) => `${ms.toFixed(0).padStart(6)} ms  ${status}  ${what}`)
        .join('\n'),
    );
  expect(found.filter(({ status }) => status >= 500)).toEqual([]);
  // An attack that is refused early would measure nothing.
  expect(found.filter(({ what, status, refused }) => what.endsWith('(boss)') && status >= 400 !== refused)).toEqual([]);
  expect(worst.filter(({ ms }) => ms > LONGEST_MS)).toEqual([]);
}, 900_000);

const AT_ROOT = /^\/(agui|healthz|readyz|metrics|decide|mcp|channels)/;

/** Opens a stream, and closes it after its first part, if one comes at once. */
async function opened(url: string, headers: Record<string, string>) {
  const { status, body } = await fetch(url, { headers });
  const reader = body?.getReader();
  await Promise.race([reader?.read(), setTimeout(500)]);
  await reader?.cancel();
  return { status };
}
