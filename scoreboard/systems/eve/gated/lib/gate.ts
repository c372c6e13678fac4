// Our gate around the payment, with the store that people decide in.
import { countersign, gateText, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';

type Payment = { to: string; amount: number };
let opened: ReturnType<typeof open> | undefined;

/** Asks people about the call. eve pauses until somebody continues the session. */
export async function ask(input: Payment, key: string) {
  opened ??= open();
  const { status } = await opened.gate.request(input, { key });
  return status === 'pending' ? 'user-approval' : 'approved';
}

/** Runs the call if people approved it, and tells the model what came of it. Waits for people who have not answered. */
export async function pass(input: Payment, key: string) {
  opened ??= open();
  for (;;) {
    const result = await opened.gate.run(input, { key });
    if (result.status !== 'doubt' && result.status !== 'started') return gateText(opened.tool, result);
    await opened.gate.wait(result.runId);
  }
}

function open() {
  const { store, ...asks } = JSON.parse(process.env.GATE ?? '');
  const ai = countersign({ store: sqliteStore(store), leaseMs: 1_000 });
  const tool = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      ...asks,
    },
    (input) => globalThis.payOfScoreboard(input),
  );
  return { tool, gate: ai.gate(tool) };
}
