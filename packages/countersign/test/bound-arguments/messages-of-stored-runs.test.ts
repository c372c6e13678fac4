// The messages of a stored run: driving them outside the run would run its calls a second time.
import { approve, countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { beforeEach, describe, expect, test, vi } from 'vitest';

const paid = vi.fn((_payment: { amount: number }) => 'paid');
beforeEach(() => void paid.mockClear());

const refused = {
  code: 'invalid-options',
  details: { runId: 'run' },
  message: expect.stringMatching(/stored run run/),
};

/** Pauses a run on an approval. */
async function paused() {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'user' && messages.length < 3
      ? { calls: [{ name: 'pay', input: { amount: 5 } }] }
      : 'Well.',
  );
  const ai = countersign({ model, store: memoryStore() });
  const schema = z.object({ amount: z.number() });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: schema, needsApproval: true },
    async (payment) => paid(payment),
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const response = await clerk.generate({ runId: 'run', prompt: 'Pay.' });
  const { messages } = await ai.runs.get('run');
  return { ai, clerk, pay, response, messages };
}

describe('messages of a waiting run', () => {
  test.each(['runs.get', 'the response'])('cannot be decided outside the run: those of %s', async (whose) => {
    const { ai, clerk, pay, response, messages } = await paused();
    const given = JSON.parse(JSON.stringify(whose === 'runs.get' ? messages : response.messages));
    const resume = { approve: response.interrupts.map((part) => approve(part)) };
    await expect(ai.generate({ messages: given, tools: [pay], resume })).rejects.toMatchObject(refused);
    await expect(clerk.generate({ messages: given, resume })).rejects.toMatchObject(refused);
    await expect(ai.generate({ messages: given, tools: [pay], resume, prompt: 'And?' })).rejects.toMatchObject(refused);
    expect(paid).not.toHaveBeenCalled();
    await clerk.generate({ runId: 'run', resume });
    expect(paid.mock.calls).toEqual([[{ amount: 5 }]]);
  });

  test('cannot be driven outside the run if a call could run', async () => {
    const { ai, clerk, pay, messages } = await paused();
    await expect(ai.generate({ messages, tools: [pay] })).rejects.toMatchObject(refused);
    const queued = { messages, tools: [pay], prompt: 'And?', whilePending: 'queue' } as const;
    await expect(ai.generate(queued)).rejects.toMatchObject(refused);
    await expect(clerk.start({ messages })).rejects.toMatchObject({ code: 'invalid-history' });
  });

  test('can be discussed, which withdraws nothing in the run', async () => {
    const { ai, pay, messages } = await paused();
    const other = await ai.generate({ messages, tools: [pay], prompt: 'What would you have paid?' });
    expect(other.text).toBe('Well.');
    expect(JSON.stringify(other.messages)).not.toContain('storedRun');
    await ai.generate({ messages: other.messages, tools: [pay], prompt: 'And?' });
    const [key = ''] = (await ai.runs.get('run')).pending;
    await ai.runs.decide(key, 'approve');
    await ai.runs.wait('run');
    expect(paid).toHaveBeenCalledOnce();
  });
});

test('messages of an ended run can be used in a new conversation', async () => {
  const { ai, clerk, pay } = await paused();
  const [key = ''] = (await ai.runs.get('run')).pending;
  await ai.runs.decide(key, 'reject');
  await ai.runs.wait('run');
  const { messages } = await ai.runs.get('run');
  expect((await ai.generate({ messages, tools: [pay], prompt: 'And?' })).text).toBe('Well.');
  expect(await clerk.start({ messages, prompt: 'And?' }, { runId: 'other' })).toMatchObject({ id: 'other' });
  expect(paid).not.toHaveBeenCalled();
});
