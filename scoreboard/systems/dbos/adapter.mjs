// DBOS: a workflow that waits for a message, in PostgreSQL. The payment is a step.
import { setTimeout as sleep } from 'node:timers/promises';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { AMOUNT, toldBy } from '../../lib/model.mjs';

const MONTH_S = 30 * 24 * 60 * 60;

export async function open({ pay, database, version = 1, deadlineMs, process: name }) {
  // Each process has an id of its own. One that starts again has the same one, and continues what it had begun.
  DBOS.setConfig({ name: 'clerk', systemDatabaseUrl: database, logLevel: 'error', executorID: name || 'local' });
  const waitS = deadlineMs === undefined ? MONTH_S : deadlineMs / 1_000;
  const decided = async (id) => {
    await DBOS.setEvent('state', 'waiting');
    const decision = await DBOS.recv('decision', waitS);
    await DBOS.setEvent('state', 'decided');
    if (decision !== 'approve') return decision === null ? 'rejected: it has expired' : 'rejected';
    return DBOS.runStep(() => pay({ to: id, amount: AMOUNT }), { name: 'pay' });
  };
  const first = async (id) => decided(id);
  // The next release does one more step before it asks.
  const second = async (id) => {
    await DBOS.runStep(async () => true, { name: 'checked' });
    return decided(id);
  };
  const payment = DBOS.registerWorkflow(version === 1 ? first : second, { name: 'payment' });
  await DBOS.launch();

  const result = async (id, timeoutMs) => {
    const handle = DBOS.retrieveWorkflow(id);
    for (const until = performance.now() + timeoutMs; performance.now() < until; await sleep(20)) {
      const { status, output } = await handle.getStatus();
      if (status === 'SUCCESS') return toldBy(output);
      if (status === 'ERROR') throw new Error('The workflow failed.');
    }
    throw new Error('The workflow did not end in time.');
  };
  const decide = async (id, decision) => {
    await DBOS.send(id, decision, 'decision');
    return result(id, 4_000);
  };
  return {
    async start(id) {
      await DBOS.startWorkflow(payment, { workflowID: id })(id);
      await DBOS.getEvent(id, 'state', 10);
    },
    decide,
    replay: (id) => decide(id, 'approve'),
    hasDeadline: () => true,
    async look(id) {
      const { status, output } = await DBOS.retrieveWorkflow(id).getStatus();
      if (status === 'SUCCESS') return toldBy(output);
      return (await DBOS.getEvent(id, 'state', 0)) === 'waiting' ? 'waiting' : 'unfinished';
    },
    // A process that starts continues its own workflows; there is nothing to call.
    recover: (id) => result(id, 4_000),
  };
}
