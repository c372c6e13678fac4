import { expect, test } from 'vitest';
import type { Store } from '../port/store.ts';
import { momentBy, RunClaim } from './claim.ts';

const store = { renew: async () => true } as unknown as Store;
const clock = () => 1_000_000;

function heldClaim(): RunClaim {
  return new RunClaim({ held: 'token' }, { store, runId: 'r1', newId: () => 'other', leaseMs: 5_000, clock });
}

test('the answer to a write that took longer than the lease does not undo a renewal in between', async () => {
  const claim = heldClaim();
  const { at, steadyAt } = momentBy(clock);
  expect(await claim.renew()).toBe(true);
  claim.appended('hold', true, { at, steadyAt: steadyAt - 6_000 });
  expect(claim.isHeld).toBe(true);
  expect(claim.hasLapsed).toBe(false);
});

test('a claim that is taken counts from when it was asked for', () => {
  const claim = new RunClaim('take', { store, runId: 'r1', newId: () => 'mine', leaseMs: 5_000, clock });
  const { at, steadyAt } = momentBy(clock);
  claim.appended('take', true, { at, steadyAt: steadyAt - 6_000 });
  expect(claim.hasLapsed).toBe(true);
});
