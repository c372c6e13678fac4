// The agents of this deployment. Servers and workers load this file, on the store that COUNTERSIGN_STORE names.
import { type AgentsEnvironment, type AppOptions, headerIdentity } from '@countersign/server';
import { type Countersign, countersign, z } from 'countersign';

export default ({ store, model, providers }: AgentsEnvironment): Countersign => {
  const ai = countersign({ store, model, providers });
  const payInvoice = ai.defineTool(
    {
      name: 'payInvoice',
      description: 'Pays an invoice from the company account.',
      inputSchema: z.object({ to: z.string(), amount: z.number().positive(), currency: z.enum(['EUR', 'USD']) }),
      title: ({ to, amount, currency }) => `Pay ${amount} ${currency} to ${to}`,
      needsApproval: true,
    },
    // Your bank goes here.
    (payment, { idempotencyKey }) => ({ ...payment, receipt: idempotencyKey }),
  );
  ai.defineAgent({ name: 'clerk', system: 'You pay invoices.', tools: [payInvoice] });
  return ai;
};

const { PUBLIC_URL, TRUSTED_PROXIES } = process.env;

/** People come from the proxy that signs them in. Without TRUSTED_PROXIES, they use links and API tokens. */
export const server: AppOptions = {
  ...(PUBLIC_URL && { publicUrl: PUBLIC_URL }),
  ...(TRUSTED_PROXIES && {
    identify: headerIdentity({ header: 'x-forwarded-user', trustedProxies: TRUSTED_PROXIES.split(',') }),
  }),
};
