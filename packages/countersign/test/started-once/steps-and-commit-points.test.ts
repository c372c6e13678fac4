// The context of a body: its steps are recorded before the body continues, and have no effect once the run is lost.

import { countersign, memoryStore, type ToolConfig, type ToolContext, z } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test, vi } from 'vitest';
import { eventually } from '../eventually.ts';
import { holdSteadyClock } from '../steady-clock.ts';

const LEASE_MS = 60_000;

/** Opens processes on one store, with a clock that the test moves. */
function processes() {
  holdSteadyClock();
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const open = (body: (ctx: ToolContext) => Promise<string>, config: Partial<ToolConfig> = {}, leaseMs = LEASE_MS) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
    );
    const ai = countersign({ model, store, clock, leaseMs, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', ...config }, (_input, ctx) => body(ctx) as never);
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  };
  const lapse = () => (now += 2 * LEASE_MS);
  const types = async () => ((await store.read('run'))?.events ?? []).map(({ type }) => type);
  return { open, lapse, types };
}

test.each([
  ['a commit point', 'call-committed', ({ commitPoint }: ToolContext) => commitPoint()],
  ['a step', 'step-done', ({ step }: ToolContext) => step('one', () => 'done')],
])('%s is recorded before the body continues', async (_what, type, acts) => {
  const { open, types } = processes();
  const seen: string[][] = [];
  const body = async (ctx: ToolContext) => {
    await acts(ctx);
    seen.push(await types());
    return 'paid';
  };
  const { clerk, runs } = open(body, { commits: true });
  await clerk.start('Pay.', { runId: 'run' });
  await runs.settled();
  expect(seen.map((recorded) => recorded.at(-1))).toEqual([type]);
});

test('a step that was not awaited and ends after its call is not recorded', async () => {
  const [begun, ends, ended] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const calls = [{ name: 'hasty' }, { name: 'slow' }];
  const ai = countersign({ model: scriptedModel([{ calls }, 'Done.']), store: memoryStore(), retry: false });
  const hasty = ai.defineTool({ name: 'hasty', description: '' }, async (_input, { step }) => {
    void step('left', async () => {
      begun?.resolve();
      await ends?.promise;
      setImmediate(() => ended?.resolve());
      return 'left';
    });
    await begun?.promise;
    return 'hasty';
  });
  const slow = ai.defineTool({ name: 'slow', description: '' }, async () => {
    await ended?.promise;
    return 'slow';
  });
  await ai.defineAgent({ name: 'clerk', tools: [hasty, slow] }).start('Go.', { runId: 'run' });
  const recorded = async () => (await ai.runs.recorded('run')).map(({ type }) => type);
  await eventually(async () => expect(await recorded()).toContain('call-settled'));
  ends?.resolve();
  expect(await ai.runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done' });
  expect(await recorded()).not.toContain('step-done');
});

test.each(['step', 'commitPoint'] as const)('after a cancel, %s throws', async (by) => {
  const { open } = processes();
  const [begun, mayContinue] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const acted = vi.fn(() => 'acted');
  const ended = vi.fn();
  const body = async ({ step, commitPoint }: ToolContext) => {
    begun.resolve();
    await mayContinue.promise;
    try {
      if (by === 'step') await step('act', acted);
      else await commitPoint().then(acted);
    } finally {
      ended();
    }
    return 'paid';
  };
  const { clerk, runs } = open(body, { commits: true });
  await clerk.start('Pay.', { runId: 'run' });
  await begun.promise;
  await runs.cancel('run');
  await runs.settled();
  mayContinue.resolve();
  await eventually(() => expect(ended).toHaveBeenCalled());
  expect(acted).not.toHaveBeenCalled();
});

test.each([
  ['between two steps', LEASE_MS, ({ step }: ToolContext) => step('second', () => 'acted')],
  // Its claim is so short that its renewal soon fails.
  ['on its abort signal', 30, ({ signal }: ToolContext) => aborted(signal)],
])('a body that stops %s because the run was lost records no result', async (_when, leaseMs, stops) => {
  const { open, lapse, types } = processes();
  const [begun, mayContinue] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ended = vi.fn();
  const body = async (ctx: ToolContext) => {
    begun.resolve();
    await mayContinue.promise;
    return stops(ctx).finally(ended);
  };
  const one = open(body, {}, leaseMs);
  await one.clerk.start('Pay.', { runId: 'run' });
  await begun.promise;
  lapse();
  const two = open(async () => 'paid');
  await two.runs.drive('run');
  expect(await two.runs.wait('run')).toMatchObject({ status: 'waiting' });
  await two.runs.settled();
  mayContinue.resolve();
  await eventually(() => expect(ended).toHaveBeenCalled());
  await new Promise(setImmediate);
  await one.runs.settled();
  expect(await types()).not.toContain('call-settled');
  expect(await types()).not.toContain('step-done');
  expect((await two.runs.requests()).items).toMatchObject([{ kind: 'doubt' }]);
});

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

test('an ungated call runs even if its schema rejects its own output', async () => {
  const model = scriptedModel([{ calls: [{ name: 'pay', input: { amount: '5' } }] }, 'Done.']);
  const ai = countersign({ model, store: memoryStore(), retry: false });
  const inputSchema = z.object({ amount: z.string().transform(Number) });
  const paid: number[] = [];
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: () => false }, ({ amount }) => {
    paid.push(amount);
    return 'paid';
  });
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  expect(await internalsOf(ai.runs).rested('run')).toMatchObject({ status: 'done' });
  expect(paid).toEqual([5]);
});
