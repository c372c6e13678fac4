// Measures how much memory of many short runs only a full garbage collection could free.
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { countersign, memoryStore, z } from '../../src/index.ts';
import { internalsOf, type Store } from '../../src/store.ts';

/** A store that forgets ended runs. */
function forgetful(): Store {
  let inner = memoryStore();
  return new Proxy(inner, {
    get: (_, name) => {
      if (name === 'now') return () => inner.now();
      const method = Reflect.get(inner, name);
      if (typeof method !== 'function') return method;
      return async (...given: readonly { readonly status?: string }[]) => {
        await turn();
        const answer = await method.apply(inner, given);
        if (name === 'append' && given[0]?.status === 'done') inner = memoryStore();
        return answer;
      };
    },
  });
}

const ai = countersign({
  store: forgetful(),
  model: {
    name: 'plain',
    async reply({ messages }) {
      const paid = messages.at(-1)?.role === 'tool';
      if (paid) return { content: [{ text: 'Paid.' }], finishReason: 'stop' };
      return { content: [{ toolRequest: { name: 'pay', ref: 'p', input: { amount: 5 } } }], finishReason: 'stop' };
    },
  },
});
const pay = ai.defineTool(
  { name: 'pay', description: 'Pays.', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
  () => 'paid',
);
const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });

async function run(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { id } = await clerk.start('Pay.');
    const { pending } = await internalsOf(ai.runs).rested(id);
    await ai.runs.decide(pending[0] ?? '', 'approve');
    await internalsOf(ai.runs).rested(id);
  }
}

const oldSpace = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;

await run(1_500);
globalThis.gc?.();
const before = oldSpace();
await run(1_500);
process.stdout.write(JSON.stringify({ bytesPerRun: (oldSpace() - before) / 1_500 }));
