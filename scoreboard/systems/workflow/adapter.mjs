// Vercel Workflow on its own PostgreSQL world: what `workflow build` made, behind the two routes that its queue calls.
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AMOUNT, toldBy } from '../../lib/model.mjs';

const PAYMENT = { workflowId: 'workflow//./workflows/payment//payment' };

export async function open({ pay, database, folder, version = 1, deadlineMs }) {
  globalThis.payOfScoreboard = pay;
  // It looks for the package of its world from the folder of the program.
  process.chdir(import.meta.dirname);
  const built = join(import.meta.dirname, `release-${version}`, '.well-known', 'workflow', 'v1');
  const routes = new Map();
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = await routes.get(request.url)?.(
      new Request(`http://127.0.0.1${request.url}`, {
        method: 'POST',
        headers: request.headers,
        body: Buffer.concat(chunks),
      }),
    );
    response.writeHead(answer?.status ?? 404, Object.fromEntries(answer?.headers ?? []));
    response.end(answer && Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env.PORT = String(server.address().port);
  process.env.WORKFLOW_TARGET_WORLD = '@workflow/world-postgres';
  process.env.WORKFLOW_POSTGRES_URL = database;
  // Its program for this may be run again.
  const setup = join(import.meta.dirname, 'node_modules/@workflow/world-postgres/bin/setup.js');
  if (spawnSync(process.execPath, [setup]).status !== 0) throw new Error('The tables were not made.');
  const require = createRequire(import.meta.url);
  for (const name of ['flow', 'step'])
    routes.set(`/.well-known/workflow/v1/${name}`, require(join(built, `${name}.js`)).POST);
  const { getRun, resumeHook, start } = await import('workflow/api');
  const { getWorld } = await import('workflow/runtime');
  await (await getWorld()).start();

  // It chooses the ids of runs itself, so the program keeps which one a payment has.
  const runs = join(folder, 'runs');
  const runOf = (id) => {
    const line = readFileSync(runs, 'utf8')
      .split('\n')
      .findLast((one) => one.startsWith(`${id} `));
    return getRun(line.split(' ')[1]);
  };
  const ended = async (id) => {
    const run = runOf(id);
    const status = await run.status;
    if (status === 'failed' || status === 'cancelled') throw new Error(`The workflow ${status}.`);
    return status === 'completed' ? toldBy(await run.returnValue) : undefined;
  };
  const result = async (id, timeoutMs) => {
    for (const until = performance.now() + timeoutMs; performance.now() < until; await sleep(20)) {
      const told = await ended(id);
      if (told) return told;
    }
    throw new Error('The workflow did not end in time.');
  };
  /** The hook, when it exists: also while nothing runs. */
  const resume = async (id, decision, tries = 50) => {
    for (;;) {
      try {
        return await resumeHook(`payment-${id}`, decision);
      } catch (error) {
        if (--tries <= 0) throw error;
        await sleep(20);
      }
    }
  };
  const decide = async (id, decision) => {
    await resume(id, decision, 1);
    return result(id, 6_000);
  };
  return {
    async start(id) {
      const run = await start(PAYMENT, [id, AMOUNT, deadlineMs]);
      appendFileSync(runs, `${id} ${run.runId}\n`);
      const { getHookByToken } = await import('workflow/api');
      for (let tries = 0; tries < 200; tries++) {
        if (await getHookByToken(`payment-${id}`).catch(() => undefined)) return;
        await sleep(20);
      }
      throw new Error('The workflow did not ask in time.');
    },
    decide,
    replay: (id) => decide(id, 'approve'),
    hasDeadline: () => true,
    async look(id) {
      const told = await ended(id);
      if (told) return told;
      const { getHookByToken } = await import('workflow/api');
      const hook = await getHookByToken(`payment-${id}`).catch(() => undefined);
      return hook ? 'waiting' : 'unfinished';
    },
    // Its queue calls a process again; there is nothing to do.
    recover: (id) => result(id, 6_000),
  };
}
