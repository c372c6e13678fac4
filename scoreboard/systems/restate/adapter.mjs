// Restate alone: a workflow that waits for a durable promise. The payment is a step.
import { createServer } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import * as restate from '@restatedev/restate-sdk';
import { AMOUNT, toldBy } from '../../lib/model.mjs';

export async function open({ pay, database, version = 1, deadlineMs }) {
  const { ingress, admin, port } = database;
  const payment = restate.workflow({
    name: 'payment',
    handlers: {
      async run(ctx) {
        const id = ctx.key;
        // The next release does one more step before it asks.
        if (version === 2) await ctx.run('checked', () => true);
        const asked = ctx.promise('decision').get();
        const decision = await (deadlineMs === undefined ? asked : asked.orTimeout(deadlineMs)).catch((error) => {
          if (error instanceof restate.TimeoutError) return 'expired';
          throw error;
        });
        if (decision !== 'approve') return `rejected: ${decision}`;
        return ctx.run('pay', () => pay({ to: id, amount: AMOUNT }));
      },
      decide: restate.handlers.workflow.shared(async (ctx, decision) => ctx.promise('decision').resolve(decision)),
      asked: restate.handlers.workflow.shared(async (ctx) => (await ctx.promise('decision').peek()) === undefined),
    },
  });
  const server = createServer(restate.createEndpointHandler({ services: [payment] }));
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  await post(`${admin}/deployments`, { uri: `http://127.0.0.1:${port}`, force: true });

  const call = (path, body) => post(`${ingress}/${path}`, body);
  const result = async (id, timeoutMs) => {
    for (const until = performance.now() + timeoutMs; performance.now() < until; await sleep(20)) {
      const response = await fetch(`${ingress}/restate/workflow/payment/${id}/output`);
      if (response.status === 200) return toldBy(await response.json());
      if (response.status !== 470) throw new Error(`${response.status} ${await response.text()}`);
    }
    throw new Error('The workflow did not end in time.');
  };
  const decide = async (id, decision) => {
    await call(`payment/${id}/decide`, decision);
    return result(id, 6_000);
  };
  return {
    async start(id) {
      await call(`payment/${id}/run/send`);
      await call(`payment/${id}/asked`);
    },
    decide,
    replay: (id) => decide(id, 'approve'),
    hasDeadline: () => true,
    async look(id) {
      try {
        return await result(id, 1);
      } catch {
        return (await call(`payment/${id}/asked`)) ? 'waiting' : 'unfinished';
      }
    },
    // The server calls the process again; there is nothing to do.
    recover: (id) => result(id, 6_000),
  };
}

async function post(url, body) {
  const response = await fetch(url, {
    method: 'POST',
    signal: AbortSignal.timeout(8_000),
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 200)}`);
  return text === '' ? undefined : JSON.parse(text);
}
