// A store that fails right after a write: a message and a start are recorded once.
import { countersign, type Message, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { ASKED_NEXT, flakyStore } from '../conversations/flaky-store.ts';

const textOf = (m: Message) => m.content.map((p) => ('text' in p ? p.text : '')).join('');
const users = (messages: readonly Message[]) => messages.filter((m) => m.role === 'user').map(textOf);

/** Loses the answer to the next append after `arm`, then lets this operation fail twice. */
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
test.each(ASKED_NEXT)('a message is recorded once when its answer is lost and %s fails', async (op) => {
  const { ai, clerk, arm } = flaky(op);
  await clerk.generate({ runId: 't', prompt: 'a' });
  arm();
  await clerk.generate({ runId: 't', prompt: 'b' });
  expect(users((await ai.runs.get('t')).messages)).toEqual(['a', 'b']);
});
test.each(ASKED_NEXT)('the first message is recorded once when its answer is lost and %s fails', async (op) => {
  const { ai, clerk, arm } = flaky(op);
  arm();
  await clerk.generate({ runId: 't', prompt: 'a' });
  expect(users((await ai.runs.get('t')).messages)).toEqual(['a']);
});
test.each(ASKED_NEXT)('a start without a runId does not fail with run-exists when %s fails', async (op) => {
  const { clerk, arm } = flaky(op);
  arm();
  expect(await clerk.start('a').catch((e) => e.code)).toMatchObject({ id: expect.any(String) });
});
