// A Genkit app with a scripted model: it pays, with or without the gate.
import { type GenerateOptions, genkit, type MessageData, type Part, restartTool, z } from 'genkit/beta';
import { logger } from 'genkit/logging';
import type { Countersign } from '../../src/countersign.ts';
import { gateTools } from '../../src/gates/genkit/index.ts';

export type Payment = { to: string; amount: number };
export type ScriptedCall = { ref?: string; input: unknown };

export type AppOptions = {
  /** Without it the tool interrupts by itself, as Genkit's documentation shows. */
  readonly ai?: Countersign<any>;
  readonly calls?: readonly ScriptedCall[];
  readonly pay: (input: Payment) => unknown;
  readonly key?: string;
};

export const ONE_CALL: readonly ScriptedCall[] = [{ input: { to: 'ACME', amount: 950 } }];

export function payingApp({ ai, calls = ONE_CALL, pay, key = 'conversation 1' }: AppOptions) {
  logger.setLogLevel('error');
  const app = genkit({});
  const model = app.defineModel(
    { name: 'scripted', supports: { tools: true, multiturn: true } },
    async ({ messages }) => {
      const results = (messages.at(-1)?.content ?? []).flatMap(({ toolResponse }) =>
        toolResponse ? [toolResponse] : [],
      );
      const content: Part[] =
        results.length > 0
          ? [
              {
                text: results
                  .map(({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)))
                  .join(' | '),
              },
            ]
          : calls.map(({ ref, input }) => ({ toolRequest: { name: 'pay', input, ...(ref !== undefined && { ref }) } }));
      return { message: { role: 'model', content }, finishReason: 'stop' };
    },
  );
  const payTool = app.dynamicTool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      outputSchema: z.any(),
    },
    async (input, { interrupt, resumed }) => {
      if (!ai && !resumed) interrupt();
      return pay(input);
    },
  );
  const gated = ai ? gateTools([payTool], { ai, key, title: { pay: ({ to }) => `Pay ${to}` } }) : { tools: [payTool] };
  const generate = (options: GenerateOptions) => app.generate({ model, ...gated, ...options });
  /** Resumes from saved messages, with a restart of each call that waits in them. */
  const resume = (saved: string, options: GenerateOptions = {}) => {
    const messages: MessageData[] = JSON.parse(saved);
    const waiting = (messages.at(-1)?.content ?? []).filter((part) => part.toolRequest && part.metadata?.interrupt);
    const restart = waiting.map((part) => restartTool(part as Parameters<typeof restartTool>[0]));
    return generate({ messages, resume: { restart }, ...options });
  };
  return { app, model, gated, generate, resume };
}
