// A store that goes away after it wrote: what was said or started is so once.
import { countersign, type Message, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { ASKED_NEXT, flakyStore } from '../conversations/flaky-store.ts';

const textOf = (m: Message) => m.content.map((p) => ('text' in p ? p.text : '')).join('');
const users = (messages: readonly Message[]) => messages.filter((m) => m.role === 'user').map(textOf);

/** The answer to the next append after `arm` is lost, and then this operation is away for two times. */
function flaky(next: (typeof ASKED_NEXT)[number]) {
  let armed = false;
  const { store } = flakyStore(next, () => {
    const loses = armed;
    armed = false;
    return loses;
  });
  const model = scriptedModel(async ({ messages }) => {
    await new Promise((r) => setTimeout(r, 5));
    return `Heard: ${users(messages).join(' ')}`;
  });
  const ai = countersign({ model, store, retry: false, leaseMs: 5_000 });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
    () => 'paid',
  );
  return {
    ai,
    clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }),
    arm: () => {
      armed = true;
    },
  };
}
test.each(ASKED_NEXT)('what is said is said once, where the answer is lost and %s is away', async (op) => {
  const { ai, clerk, arm } = flaky(op);
  await clerk.generate({ runId: 't', prompt: 'a' });
  arm();
  await clerk.generate({ runId: 't', prompt: 'b' });
  expect(users((await ai.runs.get('t')).messages)).toEqual(['a', 'b']);
});
test.each(ASKED_NEXT)('the first words, the same: %s', async (op) => {
  const { ai, clerk, arm } = flaky(op);
  arm();
  await clerk.generate({ runId: 't', prompt: 'a' });
  expect(users((await ai.runs.get('t')).messages)).toEqual(['a']);
});
test.each(ASKED_NEXT)('a start without a runId is not told that its run exists: %s', async (op) => {
  const { clerk, arm } = flaky(op);
  arm();
  expect(await clerk.start('a').catch((e) => e.code)).toMatchObject({ id: expect.any(String) });
});
