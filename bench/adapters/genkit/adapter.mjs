// Genkit: ai.defineModel + a restartable tool (defineTool calling interrupt()), resumed with
// generate({ messages, resume: { restart } }), as the "Pause generation using interrupts" page says.
import { genkit, z } from 'genkit/beta'; // interrupts are beta
import { logger } from 'genkit/logging';
import { DELTA, makePlan, makeTools, neutralHistory, PROMPT, SYSTEM } from '../../lib/plan.mjs';

export const meta = { id: 'genkit', label: 'Genkit', kind: 'peer', core: ['genkit'], main: 'genkit' };

logger.setLogLevel('error');

export async function create({ plan: kind, n }) {
  const plan = makePlan(kind === 'stream' ? 'text' : kind, n);
  const impl = makeTools();
  const ai = genkit({});

  const model = ai.defineModel(
    { name: 'mock', supports: { tools: true, multiturn: true, systemRole: true } },
    async (req, sendChunk) => {
      impl.counts.model++;
      if (kind === 'stream' && sendChunk) {
        for (let i = 0; i < n; i++) {
          sendChunk({ content: [{ text: DELTA }] });
          await null; // as from a network: lets the consumer keep up, so chunks do not pile up
        }
        return { message: { role: 'model', content: [{ text: DELTA.repeat(n) }] }, finishReason: 'stop' };
      }
      const out = plan.next(req.messages[req.messages.length - 1].role === 'tool');
      return out.calls
        ? {
            message: {
              role: 'model',
              content: out.calls.map((c) => ({ toolRequest: { name: c.name, ref: c.id, input: c.args } })),
            },
            finishReason: 'stop',
          }
        : { message: { role: 'model', content: [{ text: out.text }] }, finishReason: 'stop' };
    },
  );

  const lookup = ai.defineTool(
    { name: 'lookup', description: 'lookup', inputSchema: z.object({ key: z.string() }), outputSchema: z.any() },
    async (i) => impl.lookup(i),
  );
  const transfer = ai.defineTool(
    {
      name: 'transfer',
      description: 'transfer',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      outputSchema: z.any(),
    },
    async (i, { interrupt, resumed }) => {
      if (resumed?.status !== 'APPROVED') interrupt({ message: 'please confirm' });
      return impl.transfer(i);
    },
  );
  const tools = [lookup, transfer];
  const maxTurns = kind === 'loop' ? n + 5 : 10;

  return {
    counts: impl.counts,
    history: (k) =>
      neutralHistory(k).map((m) => ({ role: m.role === 'assistant' ? 'model' : m.role, content: [{ text: m.text }] })),
    async pause(history) {
      const r = history
        ? await ai.generate({ model, messages: history, tools, maxTurns })
        : await ai.generate({ model, system: SYSTEM, prompt: PROMPT, tools, maxTurns });
      return { messages: r.messages, pending: r.interrupts.length };
    },
    async resume({ messages }) {
      // response.interrupts is derived from the last message; rebuilt here so that a loaded handle works too
      const interrupts = messages[messages.length - 1].content.filter((p) => p.metadata?.interrupt);
      const r = await ai.generate({
        model,
        messages,
        tools,
        maxTurns,
        resume: { restart: interrupts.map((i) => transfer.restart(i, { status: 'APPROVED' })) },
      });
      return r.text;
    },
    async run() {
      return (await ai.generate({ model, prompt: PROMPT, tools, maxTurns })).text;
    },
    async stream(onDelta) {
      const { stream, response } = ai.generateStream({ model, prompt: PROMPT });
      for await (const c of stream) onDelta(c.text);
      await response;
    },
    save: (h) => JSON.stringify(h.messages),
    load: (s) => {
      const messages = JSON.parse(s);
      return { messages, pending: messages[messages.length - 1].content.filter((p) => p.metadata?.interrupt).length };
    },
  };
}
