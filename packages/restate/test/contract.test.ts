// The store contract and the crash kit, on one node or on as many as `RESTATE_NODES` says. Lists lag, so each look at them waits
// until they have every change.
import { countersign, z } from 'countersign';
import { type CrashScenario, crashEverywhere, scriptedModel, storeContract } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { useRestate } from './subject.ts';

const { subject } = useRestate();

storeContract(subject, { describe, test });

/** A payment behind an approval. */
const payment: CrashScenario = {
  open({ runId, store, clock, leaseMs, effect }) {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: { amount: 5 } }] },
    );
    const ai = countersign({ model, store, clock, leaseMs, retry: false });
    const pay = ai.defineTool(
      { name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
      async (_input, { idempotencyKey }) => effect('pay', idempotencyKey, 'paid'),
    );
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
    return { runs: ai.runs, begin: () => clerk.start('Pay.', { runId }) };
  },
  decide: () => 'approve',
};

test('a process that dies before or after any write or effect leaves no duplicate and no guess', async () => {
  const { problems, results } = await crashEverywhere({ scenario: payment, makeStore: subject });
  expect(problems).toEqual([]);
  expect(results.length).toBeGreaterThanOrEqual(8);
});
