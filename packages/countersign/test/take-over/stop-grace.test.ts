// What a stop does not wait for any more, and when.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StopGrace } from '../../src/runs/driving/stop-grace.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('is given up after the time that it was given, unless it has come meanwhile', () => {
  const givingUp = new StopGrace();
  const [waits, came] = [vi.fn(), vi.fn()];
  givingUp.listen(waits);
  const forget = givingUp.listen(came);
  givingUp.after(1_000, () => true);
  vi.advanceTimersByTime(999);
  expect(waits).not.toHaveBeenCalled();
  forget();
  vi.advanceTimersByTime(1);
  expect(waits).toHaveBeenCalledTimes(1);
  expect(came).not.toHaveBeenCalled();
});

test('is not given up by a stop that has ended, which leaves no timer behind', () => {
  const givingUp = new StopGrace();
  const waits = vi.fn();
  givingUp.listen(waits);
  givingUp.after(1_000, () => true)();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(waits).not.toHaveBeenCalled();
});
