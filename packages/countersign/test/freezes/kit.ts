// An agent and its sub-agent that act as they are told to, with what they did.
import { type CountersignOptions, countersign, type Json, type Model, type Store, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';

/** The calls that a message asks for, all at once: the name of a tool, and its input. */
export type Plan = readonly (readonly [tool: string, input: Json])[];

/** Makes the calls that the user's message lists, and then says that it is done. */
const planModel = (): Model =>
  scriptedModel(({ messages }) => {
    const asked = messages.findLast(({ role }) => role === 'user')?.content[0] as { readonly text: string };
    if (messages.at(-1)?.role === 'tool') return 'Done.';
    return { calls: (JSON.parse(asked.text) as Plan).map(([name, input]) => ({ name, input })) };
  });

/** `pay` asks, `look` does not, and `helper` is a sub-agent with both. */
export function openBank(store: Store, options: Partial<CountersignOptions> = {}) {
  const ran: string[] = [];
  const ai = countersign({ model: planModel(), store, retry: false, ...options });
  const doing = (name: string) => async (input: Json) => {
    ran.push(`${name} ${JSON.stringify(input)}`);
    return `${name} done`;
  };
  const inputSchema = z.record(z.string(), z.any());
  const common = { description: 'Acts.', inputSchema };
  const pay = ai.defineTool({ name: 'pay', ...common, needsApproval: true }, doing('pay'));
  const look = ai.defineTool({ name: 'look', ...common }, doing('look'));
  const helper = ai.defineAgent({ name: 'helper', tools: [pay, look] });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, look, helper] });
  const start = async (plan: Plan, by = 'ann') => {
    const { id } = await clerk.start(JSON.stringify(plan), { by });
    return ai.runs.wait(id);
  };
  const requestIds = async (runId: string) => (await ai.runs.requests({ runId })).items.map(({ id }) => id);
  const approveAll = async (runId: string) => {
    for (const id of await requestIds(runId)) await ai.runs.decide(id, 'approve', { by: 'bob' });
    return ai.runs.wait(runId);
  };
  const types = async (runId: string) => (await ai.runs.recorded(runId)).map(({ type }) => type);
  return { ai, ran, start, clerk, pay, look, requestIds, approveAll, types };
}
