// Claims are renewed as long as they are needed, even after times with nothing to renew.
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Renewals } from '../../src/runs/journal/renewals.ts';

const renewable = () => ({ renew: vi.fn(async () => undefined) });

describe('renewals', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('continue for a run added after a long time with nothing to renew', () => {
    const renewals = new Renewals(300);
    renewals.delete(renewals.add(renewable()));
    vi.advanceTimersByTime(1_000);
    const later = renewable();
    renewals.add(later);
    vi.advanceTimersByTime(300);
    expect(later.renew).toHaveBeenCalledTimes(3);
  });

  test('happen several times per lease, but not without a pause', () => {
    const [long, short] = [renewable(), renewable()];
    new Renewals(300).add(long);
    new Renewals(1).add(short);
    vi.advanceTimersByTime(299);
    expect(long.renew).toHaveBeenCalledTimes(2);
    expect(short.renew).toHaveBeenCalledTimes(29);
  });

  test('end with their run and leave no timer', () => {
    const renewals = new Renewals(300);
    const [one, two] = [renewable(), renewable()];
    const first = renewals.add(one);
    const second = renewals.add(two);
    renewals.delete(first);
    vi.advanceTimersByTime(100);
    expect(one.renew).not.toHaveBeenCalled();
    expect(two.renew).toHaveBeenCalledTimes(1);
    renewals.delete(second);
    vi.advanceTimersByTime(100);
    expect(two.renew).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a process stays alive exactly as long as there is something to renew', () => {
  const timing = vi.spyOn(globalThis, 'setInterval');
  const renewals = new Renewals(60_000);
  const one = renewals.add(renewable());
  const timer = timing.mock.results[0]?.value as NodeJS.Timeout;
  try {
    renewals.delete(one);
    expect(timer.hasRef()).toBe(false);
    const two = renewals.add(renewable());
    const three = renewals.add(renewable());
    expect(timing).toHaveBeenCalledTimes(1);
    expect(timer.hasRef()).toBe(true);
    renewals.delete(two);
    expect(timer.hasRef()).toBe(true);
    renewals.delete(three);
    expect(timer.hasRef()).toBe(false);
  } finally {
    clearInterval(timer);
  }
});

test('a completed run does not keep the process alive', async () => {
  const timing = vi.spyOn(globalThis, 'setInterval');
  const ai = countersign({ model: scriptedModel(['Hi.']), store: memoryStore(), leaseMs: 3_600_000 });
  await ai.defineAgent({ name: 'clerk' }).start('Hello.', { runId: 'run' });
  await ai.runs.settled();
  const timer = timing.mock.results[0]?.value as NodeJS.Timeout;
  expect(timer.hasRef()).toBe(false);
  clearInterval(timer);
});
