// Agents with sub-agents, stopped before and after every write and every effect.
import { setImmediate } from 'node:timers/promises';
import { countersign, memoryStore } from 'countersign';
import { type CrashScenario, crashEverywhere } from 'countersign/testing';
import { expect, test } from 'vitest';
import { isFullCampaign } from '../campaign-size.ts';
import { ask, type Calls, call, script, tool } from '../sub-agents/kit.ts';

async function makeStore() {
  let now = 1_000_000;
  const store = memoryStore({ now: () => now });
  const advance = async (ms: number) => {
    now += ms;
  };
  return { store, advance, close: () => store.close() };
}

/** Slow models, so that sub-agents really run side by side. */
const slow = (turns: readonly Calls[]) =>
  script(turns, async () => {
    for (let tick = 0; tick < 3; tick += 1) await setImmediate();
  });

/** Two sub-agents with equal refs. One asks twice in a tool with a step, and has its own sub-agent. */
const sideBySide: CrashScenario = {
  open({ runId, store, clock, leaseMs, effect }) {
    const ai = countersign({ store, clock, leaseMs, retry: false });
    const pay = tool(
      ai,
      'pay',
      ({ idempotencyKey }, { to }) => effect(`pay ${to}`, idempotencyKey, to === 'zero' ? 0 : null),
      { needsApproval: true },
    );
    const trip = tool(ai, 'trip', async ({ idempotencyKey, step, interrupt, resumed }, { to }) => {
      const seat = await step('reserve', () =>
        effect(`reserve ${to}`, `${idempotencyKey}-r`, false, { repeatable: true }),
      );
      if (!resumed) interrupt({ seat });
      if (resumed.round === 1) interrupt({ more: true });
      return effect(`book ${to}`, idempotencyKey, '');
    });
    const deputy = ai.defineAgent({
      name: 'deputy',
      tools: [pay],
      model: slow([[call('pay', { to: 'deep' }, 'x')], [call('pay', { to: 'deeper' }, 'x')]]),
    });
    const a = ai.defineAgent({
      name: 'a',
      tools: [pay, trip, deputy],
      model: slow([[call('pay', { to: 'zero' }, 'x'), call('trip', { to: 'a' }, 'y'), ask('deputy', 'z')]]),
    });
    const b = ai.defineAgent({
      name: 'b',
      tools: [pay],
      model: slow([[call('pay', { to: 'b' }, 'x'), call('pay', { to: 'bb' }, 'y')]]),
    });
    const root = ai.defineAgent({ name: 'root', tools: [a, b], model: slow([[ask('a', 'x'), ask('b', 'y')]]) });
    return { runs: ai.runs, begin: () => root.start('Go', { runId }) };
  },
  decide({ kind, payload }) {
    if (kind !== 'interrupt') return 'approve';
    const { more } = payload as { readonly more?: boolean };
    return { type: 'restart', resumed: { round: more ? 2 : 1 } };
  },
};

/** A nested sub-agent with a tool that has a commit point. */
const nested: CrashScenario = {
  open({ runId, store, clock, leaseMs, effect }) {
    const ai = countersign({ store, clock, leaseMs, retry: false });
    const pay = tool(ai, 'pay', ({ idempotencyKey }, { to }) => effect(`pay ${to}`, idempotencyKey, null), {
      needsApproval: true,
    });
    const send = tool(
      ai,
      'send',
      async ({ idempotencyKey, commitPoint }) => {
        await commitPoint();
        return effect('send', idempotencyKey, false);
      },
      { commits: true },
    );
    const deputy = ai.defineAgent({
      name: 'deputy',
      tools: [pay, send],
      model: slow([[call('pay', { to: 'deep' }, 'x'), call('send', {}, 'y')]]),
    });
    const a = ai.defineAgent({
      name: 'a',
      tools: [pay, deputy],
      model: slow([[call('pay', { to: 'a' }, 'x'), ask('deputy', 'z')]]),
    });
    const root = ai.defineAgent({ name: 'root', tools: [a], model: slow([[ask('a', 'x')]]) });
    return { runs: ai.runs, begin: () => root.start('Go', { runId }) };
  },
  decide: () => 'approve',
};

test('a crash anywhere in two concurrent sub-agents duplicates and loses nothing', async () => {
  const { problems, results } = await crashEverywhere({ makeStore, scenario: sideBySide });
  expect(problems).toEqual([]);
  expect(results.length).toBeGreaterThan(50);
}, 300_000);

if (isFullCampaign)
  test('two crashes anywhere in a nested sub-agent duplicate and lose nothing', async () => {
    const { problems, results } = await crashEverywhere({ makeStore, scenario: nested, crashes: 2 });
    expect(problems).toEqual([]);
    expect(results.length).toBeGreaterThan(500);
  }, 300_000);
