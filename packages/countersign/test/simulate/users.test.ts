// `simulate` of `countersign/testing`: users run their agents in the simulated world, inside their own test runner.
import { countersign, z } from 'countersign';
import { type SimulatedProcess, scriptedModel, simulate } from 'countersign/testing';
import { expect, test } from 'vitest';

const script = () =>
  scriptedModel(({ messages }) => {
    const paid = messages.filter(({ role }) => role === 'tool').length;
    return paid < 2 ? { calls: [{ name: 'pay', input: { amount: paid + 1 } }] } : 'Done.';
  });

function clerk({ store, effect }: SimulatedProcess, config: object = {}) {
  const ai = countersign({ model: script(), store });
  const inputSchema = z.object({ amount: z.number() });
  const pay = ai.defineTool(
    { name: 'pay', description: 'Pays.', inputSchema, needsApproval: true, ...config },
    async ({ amount }, { idempotencyKey }) => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return effect('pay', idempotencyKey, { paid: amount });
    },
  );
  return ai.defineAgent({ name: 'clerk', tools: [pay] });
}

test('an agent keeps its promises in every schedule, in less time than it simulates', async () => {
  const began = performance.now();
  const report = await simulate((process) => clerk(process), { schedules: 25 });
  expect(report.failures).toEqual([]);
  expect(report).toMatchObject({ schedules: 25 });
  expect(Math.min(report.runs, report.effects, report.crashes, report.doubts)).toBeGreaterThan(0);
  // The clock of the test runs on: 25 schedules of a minute and more take seconds.
  expect(performance.now() - began).toBeLessThan(60_000);
});

test('a tool that wrongly says it is idempotent is found, with the seed that shows it again', async () => {
  const open = (process: SimulatedProcess) => clerk(process, { idempotent: true });
  const { failures } = await simulate(open, { schedules: 40 });
  const [first] = failures;
  expect(first?.problems.join()).toContain('happened 2 times');
  const again = await simulate(open, { schedules: 1, seed: first?.seed ?? 0 });
  expect(again.failures).toEqual([first]);
});

test('after a simulation, timers and clocks are those of the machine', async () => {
  const before = [globalThis.setTimeout, globalThis.Date, Math.random];
  await simulate((process) => clerk(process), { schedules: 1 });
  expect([globalThis.setTimeout, globalThis.Date, Math.random]).toEqual(before);
});

test('a misspelled option and a function that returns no agent are refused', async () => {
  await expect(simulate((process) => clerk(process), { schedule: 1 } as never)).rejects.toThrow('schedule');
  await expect(simulate(() => ({}) as never, { schedules: 1 })).rejects.toThrow('must return an agent');
});
