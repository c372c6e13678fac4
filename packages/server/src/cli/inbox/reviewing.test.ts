// A request is assigned to a person while they review it.
import { afterEach, expect, test, vi } from 'vitest';
import type { Card } from '../backend/backend.ts';
import { whileReviewing } from './reviewing.ts';

const card = (assignee: Card['assignee'] = null): Card => ({ id: 'run:call', status: 'pending', assignee }) as Card;
const backendThat = (take: () => Promise<void>) => ({
  take: vi.fn(take),
  release: vi.fn(async () => {}),
});
const taking = () => backendThat(async () => {});

afterEach(() => vi.useRealTimers());

test('it is renewed while the person decides, and released afterwards', async () => {
  vi.useFakeTimers();
  const backend = taking();
  const decided = Promise.withResolvers<string>();
  const result = whileReviewing(backend, card(), () => decided.promise);
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(backend.take).toHaveBeenCalledTimes(3);
  expect(backend.release).not.toHaveBeenCalled();
  decided.resolve('approved');
  expect(await result).toBe('approved');
  expect(backend.release).toHaveBeenCalledExactlyOnceWith('run:call');
});

test('it is released if deciding fails', async () => {
  const backend = taking();
  await expect(whileReviewing(backend, card(), () => Promise.reject(new Error('left')))).rejects.toThrow('left');
  expect(backend.release).toHaveBeenCalledOnce();
});

test('a request that cannot be taken can be decided', async () => {
  const backend = backendThat(() => Promise.reject(new Error('claimed')));
  expect(await whileReviewing(backend, card(), async () => 'approved')).toBe('approved');
  expect(backend.release).not.toHaveBeenCalled();
});

test('a request that someone reviews is not taken from them', async () => {
  const backend = taking();
  await whileReviewing(backend, card({ person: 'ben', until: Date.now() + 60_000 }), async () => {});
  expect(backend.take).not.toHaveBeenCalled();
  expect(backend.release).not.toHaveBeenCalled();
});

test('a release that hangs does not keep the person from leaving', async () => {
  vi.useFakeTimers();
  const backend = { ...taking(), release: () => new Promise<void>(() => {}) };
  const left = whileReviewing(backend, card(), async () => 'left');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await left).toBe('left');
});
