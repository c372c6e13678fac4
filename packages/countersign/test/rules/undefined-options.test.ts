// An undefined option counts as omitted: it replaces no default.
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

const REFUSES = { whilePending: 'refuse' } as const;
/** As in a program compiled without `exactOptionalPropertyTypes`. */
const UNDEFINED = { whilePending: undefined, maxTurns: undefined, tools: undefined, context: undefined } as object;

function make() {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'ask', input: {} }] },
  );
  const ai = countersign({ model, store: memoryStore(), retry: false });
  const ask = ai.defineInterrupt({ name: 'ask', description: '', inputSchema: z.object({}) });
  const agent = ai.defineAgent({ name: 'clerk', tools: [ask], ...REFUSES });
  const prompt = ai.definePrompt({ name: 'greet', prompt: 'Hello.', tools: [ask], ...REFUSES });
  return { ai, ask, agent, prompt };
}

const refused = expect.objectContaining({ code: 'decision-pending' });

test('of an agent', async () => {
  const { agent } = make();
  const { messages } = await agent.generate('Hello.');
  await expect(agent.generate({ messages, prompt: 'Well?', ...UNDEFINED })).rejects.toEqual(refused);
});

test('of a stored conversation', async () => {
  const { ai, agent } = make();
  const chat = agent.chat({ runId: 'run' });
  await chat.send('Hello.');
  await expect(chat.send({ prompt: 'Well?', ...UNDEFINED })).rejects.toEqual(refused);
  expect((await ai.runs.get('run')).pending).toHaveLength(1);
});

test('of a chat', async () => {
  const { ai, ask } = make();
  const chat = ai.chat({ tools: [ask], ...REFUSES });
  await chat.send('Hello.');
  await expect(chat.send({ prompt: 'Well?', ...UNDEFINED })).rejects.toEqual(refused);
});

test('of a prompt', async () => {
  const { prompt } = make();
  const { messages } = await prompt({});
  await expect(prompt({}, { messages, ...UNDEFINED })).rejects.toEqual(refused);
});

test('of the retries', async () => {
  const model = scriptedModel([{ fail: { message: 'Busy.', retryable: true } }, 'Hello.']);
  const retry = { attempts: undefined, initialDelayMs: 1 } as never;
  const { text } = await countersign({ model, retry }).generate('Hello.');
  expect(text).toBe('Hello.');
});
