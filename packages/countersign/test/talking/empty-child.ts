// A process that is sent no decision, and is then to stop.
import { countersign, memoryStore, z } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

const model = scriptedModel(({ messages }) =>
  messages.some(({ role }) => role === 'tool') ? 'end' : { calls: [{ name: 'pay', input: {} }] },
);
const ai = countersign({ model, store: memoryStore() });
const pay = ai.defineTool(
  { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
  () => 'paid',
);
const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
await clerk.generate({ runId: 't', prompt: 'x' });
void clerk.generate({ runId: 't', resume: { approve: [] } }).catch(() => undefined);
await new Promise((resolve) => setTimeout(resolve, 50));
console.log('stopping');
setTimeout(() => console.log('a timer'), 10);
await ai.runs.stop();
console.log('stopped');
