// The store's time between two requests: how long an answer is trusted, and which moment it refers to.
import { memoryStore } from 'countersign';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StoreTime } from '../../src/runs/port/store-time.ts';
import { changedStore } from '../changed-store.ts';

const TIME = 5_000_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** How long an answer takes, by the process clock and by the monotonic clock. */
type Took = { readonly ranMs: number; readonly passedMs: number };
const took = (ms: number): Took => ({ ranMs: ms, passedMs: ms });

/** A store that answers `TIME`, and an hour more with each further answer. */
function asking(...answers: readonly Took[]) {
  let [now, asked] = [1_000_000, 0];
  const pass = ({ ranMs, passedMs }: Took): void => {
    now += ranMs;
    vi.advanceTimersByTime(passedMs);
  };
  const store = changedStore(memoryStore(), {
    now: async () => {
      pass(answers[asked] ?? took(0));
      return TIME + 3_600_000 * asked++;
    },
  });
  return { time: new StoreTime(store, () => now), pass, asked: () => asked };
}

test('an answer is trusted for half a minute', async () => {
  const { time, pass, asked } = asking();
  await time.tell();
  pass(took(29_999));
  await time.tell();
  expect(asked()).toBe(1);
  expect(time.now()).toBe(TIME + 29_999);
  pass(took(1));
  await time.tell();
  expect(asked()).toBe(2);
});

test.each([
  [1_000, true],
  [1_001, false],
  [-1_000, true],
  [-1_001, false],
])('after a clock change of %d ms the time is known: %s', async (ranMs, isKnown) => {
  const { time, pass } = asking();
  await time.tell();
  pass({ ranMs, passedMs: 0 });
  expect(time.isKnown).toBe(isKnown);
});

test('an answer refers to the middle between request and response, by both clocks', async () => {
  const { time, pass } = asking(took(400));
  await time.tell();
  expect(time.now()).toBe(TIME + 200);
  // The clock is set back, so the monotonic clock counts.
  pass({ ranMs: -10_000, passedMs: 0 });
  expect(time.now()).toBe(TIME + 200);
});

test('an answer that took a second is trusted', async () => {
  const { time, asked } = asking(took(1_000));
  await time.tell();
  expect(asked()).toBe(1);
});

test.each([
  ['by both clocks', took],
  ['by the monotonic clock', (ms: number): Took => ({ ranMs: 0, passedMs: ms })],
  ['by the process clock', (ms: number): Took => ({ ranMs: ms, passedMs: 0 })],
])('of three answers that took too long %s, the fastest is trusted', async (_how, slow) => {
  const { time, asked } = asking(slow(1_500), slow(1_200), slow(1_300));
  await time.tell();
  expect(asked()).toBe(3);
  expect(Math.floor(time.now() / 3_600_000)).toBe(Math.floor((TIME + 3_600_000) / 3_600_000));
});
