// A defined policy is a name that knows which input its deciders read.
import { countersign, type PolicyHandle, z } from 'countersign';
import { expectTypeOf } from 'vitest';

const ai = countersign();
const payments = ai.definePolicy('payments', { quorum: [{ of: { roles: ['finance'] }, count: 2 }] });
expectTypeOf(payments).toEqualTypeOf<PolicyHandle>();
expectTypeOf(payments).toExtend<string>();
const byAmount = ai.definePolicy('by-amount', {
  deciders: ({ amount }: { amount: number }) => ({ roles: [amount > 100 ? 'cfo' : 'clerk'] }),
});

const pay = { name: 'pay', description: '', inputSchema: z.object({ to: z.string(), amount: z.number() }) };
const mail = { name: 'mail', description: '', inputSchema: z.object({ to: z.string() }) };
ai.defineTool({ ...pay, needsApproval: { policy: payments } }, () => undefined);
ai.defineTool({ ...pay, needsApproval: { policy: byAmount } }, () => undefined);
ai.defineTool({ ...pay, needsApproval: () => ({ policy: byAmount }) }, () => undefined);
ai.defineTool({ ...mail, needsApproval: { policy: payments } }, () => undefined);
// @ts-expect-error the deciders of the policy read an amount, and this tool has none
ai.defineTool({ ...mail, needsApproval: { policy: byAmount } }, () => undefined);
ai.defineTool({ ...pay, needsApproval: { message: 'Check the payee.', risk: 'high' } }, () => undefined);

// A name works too, and rules and gates take both.
ai.defineTool({ ...pay, needsApproval: { policy: 'payments' } }, () => undefined);
ai.applyRules([
  { tool: 'pay', policy: byAmount },
  { label: 'production', policy: 'payments' },
]);
ai.gate({ name: 'deploy', policy: payments });
// @ts-expect-error not a policy
ai.applyRules([{ tool: 'pay', policy: 5 }]);
