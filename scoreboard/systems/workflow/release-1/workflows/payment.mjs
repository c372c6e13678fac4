// The payment waits for the hook that a decision resumes.
import { createHook, sleep } from 'workflow';

async function paid(to, amount) {
  'use step';
  return globalThis.payOfScoreboard({ to, amount });
}

export async function payment(id, amount, deadlineMs) {
  'use workflow';
  const hook = createHook({ token: `payment-${id}` });
  const decision = await (deadlineMs === undefined
    ? hook
    : Promise.race([hook, sleep(`${deadlineMs}ms`).then(() => 'expired')]));
  return decision === 'approve' ? paid(id, amount) : `rejected: ${decision}`;
}
