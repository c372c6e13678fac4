// Taking over an unclaimed run: its context is looked up first, and a process that stops meanwhile releases the run.
import { countersign, memoryStore } from 'countersign';
import { expect, test, vi } from 'vitest';
import type { DrivesOptions, Driving } from '../../src/runs/driving/open-run.ts';
import { leave, TakeOver } from '../../src/runs/driving/take-over.ts';
import { Renewals } from '../../src/runs/journal/renewals.ts';
import { approved, LEASE_MS } from '../runs/approved.ts';

async function openTakeOver(contextFor: () => Promise<object>, isStopping = false, known = ['clerk']) {
  const { kept, clock, open } = await approved();
  const go = vi.fn();
  const opened = await open('none');
  const skip = async () => undefined;
  const time = { now: clock, tell: skip, ask: skip };
  const drives = { time, clock, isStopping, open: () => opened, go } as unknown as Driving;
  const renewals = new Renewals(LEASE_MS);
  const [added, deleted] = [vi.spyOn(renewals, 'add'), vi.spyOn(renewals, 'delete')];
  const agents = new Map(known.map((name) => [name, name]));
  const options = { store: kept, agents, contextFor, newId: () => 'ours', leaseMs: LEASE_MS };
  const takeOver = new TakeOver(drives, renewals, options as unknown as DrivesOptions);
  const isFree = async () => (await kept.claim('run', 'theirs', LEASE_MS)) !== undefined;
  return { takeOver, go, added, deleted, isFree };
}

test('a stopping process looks up no context and drives nothing', async () => {
  const contextFor = vi.fn(async () => ({}));
  const { takeOver, go } = await openTakeOver(contextFor, true);
  expect(await takeOver.take('run', {}, false)).toBe(false);
  expect(contextFor).not.toHaveBeenCalled();
  expect(go).not.toHaveBeenCalled();
});

test('a take-over is listed as under way until it ends', async () => {
  const context = Promise.withResolvers<object>();
  const { takeOver, go } = await openTakeOver(() => context.promise);
  const taken = takeOver.take('run', {}, false);
  expect(takeOver.underWay).toHaveLength(1);
  context.resolve({});
  expect(await taken).toBe(true);
  expect(go).toHaveBeenCalledTimes(1);
  expect(takeOver.underWay).toEqual([]);
});

test('a passed context is used instead of a lookup', async () => {
  const contextFor = vi.fn(async () => ({ user: 'eve' }));
  const { takeOver, go } = await openTakeOver(contextFor);
  expect(await takeOver.take('run', { context: { user: 'ann' } }, false)).toBe(true);
  expect(contextFor).not.toHaveBeenCalled();
  expect(go.mock.lastCall?.[0].options).toEqual({ context: { user: 'ann' }, isLookedUp: true });
});

test('a run of an unknown agent is released at once', async () => {
  const { takeOver, go, isFree } = await openTakeOver(async () => ({}), false, []);
  expect(await takeOver.take('run', {}, false)).toBe(false);
  expect(go).not.toHaveBeenCalled();
  expect(await isFree()).toBe(true);
});

test.each([
  ['succeeds', async () => ({}), true],
  ['fails', () => Promise.reject<object>(new Error('no')), false],
])('a claim is renewed only while its context is looked up: the lookup %s', async (_how, contextFor, isTaken) => {
  const { takeOver, added, deleted, isFree } = await openTakeOver(contextFor);
  const taken = await takeOver.take('run', {}, false).catch(() => false);
  expect(taken).toBe(isTaken);
  expect(deleted.mock.calls).toEqual(added.mock.results.map(({ value }) => [value]));
  expect(added).toHaveBeenCalledTimes(1);
  expect(await isFree()).toBe(!isTaken);
});

test('leaving a run writes all buffered events and releases the claim, even after another process wrote', async () => {
  const { kept, open, started, types, runs } = await approved();
  const { run, journal } = await open('hold');
  const [question] = (await runs.requests({ tool: 'ask' })).items;
  await runs.decide(question?.id ?? '', { type: 'respond', output: 'yes' }, { drive: false });
  run.record(started);
  await leave({ run, journal });
  expect((await types()).slice(-2)).toEqual(['call-settled', 'call-started']);
  expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
});

test('driving an unknown run fails', async () => {
  const { runs } = countersign({ store: memoryStore(), retry: false });
  await expect(runs.drive('nobody')).rejects.toMatchObject({ name: 'UsageError', code: 'unknown-run' });
});
