// A run has a maximum size: it rejects new input beyond it, and records all work it has started.
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

const LARGE = 'x'.repeat(40_000);
const REFUSED = { name: 'UsageError', code: 'run-too-large', details: { status: 413, runId: 'run' } };

function bank({ maxRunSize = 50_000, maxRunEvents = 1_000, output = 'paid' } = {}) {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'user' && JSON.stringify(messages.at(-1)).includes('Pay')
      ? { calls: [{ name: 'pay', input: { amount: 1, note: '' } }] }
      : 'Done.',
  );
  const ai = countersign({ model, store: memoryStore(), maxRunSize, maxRunEvents, retry: false });
  const paid: unknown[] = [];
  const inputSchema = z.object({ amount: z.number(), note: z.string() });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: true }, (input) => {
    paid.push(input);
    return output;
  });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const ask = async () => {
    await clerk.generate({ runId: 'run', prompt: 'Pay.' });
    return (await ai.runs.get('run')).pending[0] ?? '';
  };
  return { ai, runs: ai.runs, clerk, paid, ask };
}

describe('rejected input leaves nothing behind', () => {
  test('a start that is too large', async () => {
    const { runs, clerk } = bank({ maxRunSize: 30_000 });
    await expect(clerk.start(LARGE, { runId: 'run' })).rejects.toMatchObject(REFUSED);
    await expect(runs.get('run')).rejects.toMatchObject({ code: 'unknown-run' });
  });

  test('a message that exceeds the remaining size', async () => {
    const { runs, clerk } = bank();
    await clerk.generate({ runId: 'run', prompt: LARGE });
    const before = await runs.recorded('run');
    await expect(clerk.generate({ runId: 'run', prompt: LARGE })).rejects.toMatchObject(REFUSED);
    expect(await runs.recorded('run')).toEqual(before);
    await clerk.generate({ runId: 'run', prompt: 'Short.' });
  });

  test('a message in a run with too many events', async () => {
    const { clerk } = bank({ maxRunEvents: 4 });
    await clerk.generate({ runId: 'run', prompt: 'One.' });
    await clerk.generate({ runId: 'run', prompt: 'Two.' });
    await expect(clerk.generate({ runId: 'run', prompt: 'Three.' })).rejects.toMatchObject(REFUSED);
  });

  test('an edit that is too large; the request still waits', async () => {
    const { runs, ask, paid } = bank();
    const card = await ask();
    const edit = { amount: 1, note: LARGE.repeat(2) };
    await expect(runs.decide(card, { type: 'approve', edit })).rejects.toMatchObject(REFUSED);
    expect({ paid, pending: (await runs.get('run')).pending }).toEqual({ paid: [], pending: [card] });
  });
});

describe('a full run still accepts', () => {
  test('a decision and the result of its call', async () => {
    const { runs, clerk, ask, paid } = bank({ maxRunSize: 2_000, output: LARGE });
    const card = await ask();
    await runs.decide(card, 'approve');
    await runs.settled();
    expect(paid).toHaveLength(1);
    expect(await runs.get('run')).toMatchObject({ status: 'done', text: 'Done.' });
    await expect(clerk.generate({ runId: 'run', prompt: 'More.' })).rejects.toMatchObject(REFUSED);
  });

  test('a rejection with its reason', async () => {
    const { runs, ask } = bank({ maxRunSize: 700 });
    const card = await ask();
    await runs.decide(card, { type: 'reject', reason: 'Too expensive.'.repeat(100) });
    await runs.settled();
    expect(await runs.get('run')).toMatchObject({ status: 'done', pending: [] });
  });
});

test.each([{ maxRunSize: 0 }, { maxRunSize: 1.5 }, { maxRunEvents: '10' as unknown as number }])(
  'a limit that is not a whole number above zero is refused: %j',
  (options) => {
    expect(() => countersign(options)).toThrow(expect.objectContaining({ code: 'invalid-options' }));
  },
);
