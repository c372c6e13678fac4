// Steps and commit points that a body does not await: the process survives, and a skipped step is reported.
import { countersign, memoryStore, type ToolContext, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);
let before: NodeJS.UnhandledRejectionListener[] = [];

// The test runner has its own listener, which would fail the test without saying what was expected.
beforeEach(() => {
  unhandled.length = 0;
  before = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', onUnhandled);
});
afterEach(() => {
  process.removeAllListeners('unhandledRejection');
  for (const listener of before) process.on('unhandledRejection', listener);
});

/** Node reports unhandled rejections once the microtasks are done. */
const rejectionsReported = () => new Promise((resolve) => setImmediate(resolve));

async function outputOf(body: (ctx: ToolContext) => unknown): Promise<unknown> {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
  );
  const ai = countersign({ model, store: memoryStore(), retry: false });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({}), commits: true },
    (_input, ctx) => body(ctx) as string,
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const { id } = await clerk.start('Pay.');
  const { messages } = await ai.runs.wait(id, { until: 'end' });
  await ai.runs.settled();
  await rejectionsReported();
  const parts = messages.flatMap(({ content }) => content);
  return parts.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : []))[0];
}

test('a step that is not awaited and never starts fails its call', async () => {
  let sent = 0;
  const output = await outputOf(({ step }) => {
    void step('send', () => ++sent);
    return 'Paid.';
  });
  expect(output).toBe('The tool pay failed: It ended before its step send had begun. Await each step.');
  expect(sent).toBe(0);
  expect(unhandled).toEqual([]);
});

test('a step that ends after its call does not crash the process', async () => {
  const mayEnd = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let ended = false;
  const output = await outputOf(async ({ step }) => {
    void step('send', async () => {
      begun.resolve();
      await mayEnd.promise;
      ended = true;
    });
    await begun.promise;
    return 'Paid.';
  });
  mayEnd.resolve();
  await eventually(() => expect(ended).toBe(true));
  await rejectionsReported();
  expect(output).toBe('Paid.');
  expect(unhandled).toEqual([]);
});

test('a commit point that is not awaited does not crash the process', async () => {
  const output = await outputOf(({ commitPoint }) => {
    void commitPoint();
    return 'Paid.';
  });
  expect(output).toBe('Paid.');
  expect(unhandled).toEqual([]);
});

test('concurrent steps awaited one by one do not crash a process that lost the run', async () => {
  const store = memoryStore();
  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const work = async () => {
    begun.resolve();
    await mayEnd.promise;
  };
  const open = () => {
    const ai = countersign({ store, model: scriptedModel([{ calls: [{ name: 'pay', input: {} }] }]), retry: false });
    const inputSchema = z.object({});
    const pay = ai.defineTool({ name: 'pay', description: '', inputSchema }, async (_input, { step }) => {
      const first = step('first', work);
      const second = step('second', work);
      await first;
      await second;
    });
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  };
  const { clerk, runs } = open();
  const { id } = await clerk.start('Pay.');
  await begun.promise;
  await open().runs.cancel(id);
  mayEnd.resolve();
  await runs.settled();
  await rejectionsReported();
  expect(unhandled).toEqual([]);
});

test('an error thrown by a step that is not awaited stays visible', async () => {
  await outputOf(async ({ step }) => {
    const begun = Promise.withResolvers<void>();
    void step('send', () => {
      begun.resolve();
      throw new Error('The bank is closed.');
    });
    await begun.promise;
    return 'Paid.';
  });
  expect(unhandled).toEqual([new Error('The bank is closed.')]);
});

test.each<[string, (step: (...args: unknown[]) => Promise<unknown>) => unknown]>([
  ['without a name', (step) => step(() => 1)],
  ['with a promise', (step) => step('send', Promise.resolve(1))],
])('a step %s fails and says what it takes', async (_how, body) => {
  expect(await outputOf(({ step }) => body(step as never))).toBe(
    'The tool pay failed: A step takes a name and a function: step(name, () => work).',
  );
});
