// A clerk that pays after an approval. Child processes import it too.
import { countersign, memoryStore, z } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

export function clerkOf() {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'end' : { calls: [{ name: 'pay', input: {} }] },
  );
  const ai = countersign({ model, store: memoryStore() });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
    () => 'paid',
  );
  return { ai, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}
