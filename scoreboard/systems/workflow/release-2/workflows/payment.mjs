// The next release does one more step before it asks.
import { createHook, sleep } from 'workflow';

async function checked() {
  'use step';
  return true;
}

async function paid(to, amount) {
  'use step';
  return globalThis.payOfScoreboard({ to, amount });
}

export async function payment(id, amount, deadlineMs) {
  'use workflow';
  await checked();
  const hook = createHook({ token: `payment-${id}` });
  const decision = await (deadlineMs === undefined
    ? hook
    : Promise.race([hook, sleep(`${deadlineMs}ms`).then(() => 'expired')]));
  return decision === 'approve' ? paid(id, amount) : `rejected: ${decision}`;
}
