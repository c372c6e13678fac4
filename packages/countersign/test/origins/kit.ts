// An agent that reads what others wrote, and sends something to a recipient. A rule asks about a recipient of untrusted origin.
import { type Agent, type Countersign, countersign, memoryStore, type Rule, type Tool, z } from 'countersign';
import { type ScriptedTurn, scriptedModel } from 'countersign/testing';

export type Calls = NonNullable<ScriptedTurn['calls']>;

/** Makes the calls in turn, each after the result of the one before. */
export const making = (calls: Calls, last = 'Done.') =>
  scriptedModel([...calls.map((call) => ({ calls: [call] })), last]);

export const ASKS: Rule = { tool: 'send', where: [{ field: 'to', origin: 'untrusted' }] };

export function office(rules: readonly Rule[] = [ASKS], config: object = {}) {
  const sent: unknown[] = [];
  const ai = countersign({ store: memoryStore(), retry: false, rules });
  const sending = z.object({ to: z.string(), amount: z.number().optional() });
  const send = ai.defineTool(
    { name: 'send', description: 'Sends.', inputSchema: sending, ...config },
    async (input) => {
      sent.push(input);
      return { sent: true };
    },
  );
  /** A tool that returns this. */
  const reading = (name: string, output: unknown, options: object = {}): Tool =>
    ai.defineTool({ name, description: 'Reads.', ...options }, async () => output as never);
  const start = async (agent: Agent, prompt: Parameters<Agent['start']>[0]) => {
    const { id } = await agent.start(prompt, { by: 'ann' });
    await ai.runs.wait(id);
    const [request] = (await ai.runs.requests({ runId: id })).items;
    return { id, request };
  };
  return { ai, send, sent, reading, start };
}

/** An agent whose model makes these calls. */
export const agentOf = (ai: Countersign, name: string, tools: readonly (Tool | Agent)[], calls: Calls): Agent =>
  ai.defineAgent({ name, description: 'Works.', tools, model: making(calls) });
