// What the body gets is what the schema makes of the input, whatever the gate, the schema or an earlier body did to its copy.
import { approve, countersign, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

const pays = () =>
  scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: { to: 'ann', amount: '5' } }] },
  );

/** Approves the call of `pay` in messages that went through JSON. Returns what its body got. */
async function approved(options: { inputSchema: z.ZodType; needsApproval: any }, isSaved = true) {
  const got: unknown[] = [];
  const ai = countersign({ model: pays() });
  const pay = ai.defineTool({ name: 'pay', description: '', ...options }, async (input: any) => {
    got.push(structuredClone(input));
    input.to = 'changed by the body';
    return 'paid';
  });
  const paused = await ai.generate({ prompt: 'Pay.', tools: [pay] });
  const messages = isSaved ? JSON.parse(JSON.stringify(paused.messages)) : paused.messages;
  const before = structuredClone(messages);
  const resume = paused.interrupts.map((interrupt) => approve(interrupt));
  const { text } = await ai.generate({ messages, tools: [pay], resume });
  expect(text).toBe('Done.');
  expect(messages).toEqual(before);
  return got;
}

const transforming = z.object({ to: z.string().transform((to) => to.toUpperCase()), amount: z.coerce.number() });
const plain = z.object({ to: z.string(), amount: z.string() });

test.each([true, false])('a schema that transforms is applied once before the body (saved: %s)', async (isSaved) => {
  expect(await approved({ inputSchema: transforming, needsApproval: true }, isSaved)).toEqual([
    { to: 'ANN', amount: 5 },
  ]);
});

test.each([true, false])('a gate that changes its copy changes nothing (saved: %s)', async (isSaved) => {
  const needsApproval = (input: any) => {
    input.to = 'changed by the gate';
    return true;
  };
  expect(await approved({ inputSchema: plain, needsApproval }, isSaved)).toEqual([{ to: 'ann', amount: '5' }]);
  expect(await approved({ inputSchema: transforming, needsApproval }, isSaved)).toEqual([{ to: 'ANN', amount: 5 }]);
});

test('a gate that lets the call run after it has changed its copy changes nothing', async () => {
  const got: unknown[] = [];
  const ai = countersign({ model: pays() });
  const needsApproval = (input: { to: string }) => {
    input.to = 'changed by the gate';
    return false;
  };
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema: plain, needsApproval }, async (input) => {
    got.push(input);
    return 'paid';
  });
  await ai.generate({ prompt: 'Pay.', tools: [pay] });
  expect(got).toEqual([{ to: 'ann', amount: '5' }]);
});

test('a schema that returns its very argument cannot let the body change the record', async () => {
  const itself = z.any().refine(() => true);
  expect(await approved({ inputSchema: itself, needsApproval: true })).toEqual([{ to: 'ann', amount: '5' }]);
});

test('a schema that makes a date of a text gives the body a date', async () => {
  const dated = z.object({ to: z.string(), amount: z.string().transform((text) => new Date(Number(text))) });
  expect(await approved({ inputSchema: dated, needsApproval: true })).toEqual([{ to: 'ann', amount: new Date(5) }]);
});
