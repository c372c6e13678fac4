// How long a claim lasts when clocks change.

import { setTimeout as delay } from 'node:timers/promises';
import { countersign, memoryStore } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { hasLapsed, momentBy } from '../../src/runs/journal/claim.ts';
import { afterStarts } from '../changed-store.ts';

describe('a lease', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  function leased() {
    const clock = { now: 1_000_000 };
    const now = () => momentBy(() => clock.now);
    const since = now();
    return { clock, isOver: () => hasLapsed(since, now(), 1_000) };
  }

  test('lasts for its time from the moment of the request', () => {
    const { clock, isOver } = leased();
    clock.now += 999;
    vi.advanceTimersByTime(999);
    expect(isOver()).toBe(false);
    clock.now += 1;
    expect(isOver()).toBe(true);
  });

  test("ends after its time, even if the store's clock was set back", () => {
    const { clock, isOver } = leased();
    clock.now -= 5_000;
    vi.advanceTimersByTime(999);
    expect(isOver()).toBe(false);
    vi.advanceTimersByTime(1);
    expect(isOver()).toBe(true);
  });

  test('ends by the clock, even if the computer was asleep', () => {
    const { clock, isOver } = leased();
    clock.now += 1_000;
    expect(isOver()).toBe(true);
  });
});

test("no body starts after its claim lapsed, even if the store's clock was set back meanwhile", async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const kept = memoryStore({ now: clock });
  const store = afterStarts(kept, async () => {
    await delay(120);
    now -= 500;
  });
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }]);
  const ai = countersign({ model, store, clock, leaseMs: 100, retry: false });
  const paid = vi.fn(() => 'paid');
  const pay = ai.defineTool({ name: 'pay', description: '' }, paid);
  vi.spyOn(kept, 'renew').mockImplementation(() => new Promise(() => undefined));
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  await internalsOf(ai.runs).rested('run');
  expect(paid).not.toHaveBeenCalled();
});

test('by default, a claim and the next search of a worker take less than ten seconds', async () => {
  const store = memoryStore();
  const append = vi.spyOn(store, 'append');
  const ai = countersign({ model: scriptedModel(['Done.']), store });
  const { id } = await ai.defineAgent({ name: 'clerk' }).start('Go.');
  await internalsOf(ai.runs).rested(id);
  const leases = append.mock.calls.flatMap(([{ claim }]) => (claim ? [claim.leaseMs] : []));
  const SEARCH_MS = 1_000;
  expect(Math.max(...leases) + SEARCH_MS).toBeLessThan(9_000);
});
