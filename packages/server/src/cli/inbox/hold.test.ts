// Holding a request while a person decides it.
import { afterEach, expect, test, vi } from 'vitest';
import type { Card } from '../backend/backend.ts';
import { withHold } from './hold.ts';

const card = (hold: Card['hold'] = null): Card => ({ id: 'run:call', status: 'pending', hold }) as Card;
const backendThat = (hold: () => Promise<never> | Promise<{ by: string; until: number }>) => ({
  hold: vi.fn(hold),
  release: vi.fn(async () => {}),
});
const holding = () => backendThat(async () => ({ by: 'ann', until: Date.now() + 300_000 }));

afterEach(() => vi.useRealTimers());

test('the hold is renewed while the person decides, and released afterwards', async () => {
  vi.useFakeTimers();
  const backend = holding();
  const decided = Promise.withResolvers<string>();
  const result = withHold(backend, card(), () => decided.promise);
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(backend.hold).toHaveBeenCalledTimes(3);
  expect(backend.release).not.toHaveBeenCalled();
  decided.resolve('approved');
  expect(await result).toBe('approved');
  expect(backend.release).toHaveBeenCalledExactlyOnceWith('run:call');
});

test('the hold is released if deciding fails', async () => {
  const backend = holding();
  await expect(withHold(backend, card(), () => Promise.reject(new Error('left')))).rejects.toThrow('left');
  expect(backend.release).toHaveBeenCalledOnce();
});

test('a hold that cannot be taken does not prevent deciding', async () => {
  const backend = backendThat(() => Promise.reject(new Error('claimed')));
  expect(await withHold(backend, card(), async () => 'approved')).toBe('approved');
  expect(backend.release).not.toHaveBeenCalled();
});

test('a request that someone holds is not taken from them', async () => {
  const backend = holding();
  await withHold(backend, card({ by: 'ben', until: Date.now() + 60_000 }), async () => {});
  expect(backend.hold).not.toHaveBeenCalled();
  expect(backend.release).not.toHaveBeenCalled();
});

test('a release that hangs does not keep the person from leaving', async () => {
  vi.useFakeTimers();
  const backend = { ...holding(), release: () => new Promise<void>(() => {}) };
  const left = withHold(backend, card(), async () => 'left');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await left).toBe('left');
});
