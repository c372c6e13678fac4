// Holds on memory: a store whose answers come when the test says so, since it is their order that matters.
import { memoryStore } from 'countersign';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { holdsOf, releaseHold, takeHold } from '../../api/holds.ts';
import type { DeskCard } from '../desk/desk.ts';
import { createHolding } from './holding.ts';

const TIMERS = ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const;
beforeEach(() => void vi.useFakeTimers({ toFake: [...TIMERS, 'Date'] }));
afterEach(() => void vi.useRealTimers());

const CARD = { id: 'run_1:call_1', status: 'pending', hold: null } as unknown as DeskCard;
const MINUTE = 60_000;

function desk(person = 'ann') {
  const { notes } = memoryStore();
  let isOpen = Promise.resolve();
  const holding = createHolding(
    {
      person,
      hold: async (id) => {
        await isOpen;
        return takeHold(notes, id, person);
      },
      release: (id) => releaseHold(notes, id, person),
    },
    () => {},
    () => {},
  );
  return {
    notes,
    holding,
    /** Requests for a hold wait until what is given back is called. */
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      isOpen = promise;
      return resolve;
    },
    holder: async () => (await holdsOf(notes, [CARD.id])).get(CARD.id)?.by,
  };
}

test('who goes back before the hold is there does not keep it', async () => {
  const { holding, hold, holder } = desk();
  const answer = hold();
  const visit = holding.visit(CARD);
  visit.begin(CARD);
  visit.leave(false);
  answer();
  await holding.releaseAll();
  expect(await holder()).toBeUndefined();
});

test('a hold is renewed while the card is open, and lapses after it was left', async () => {
  const { holding, holder } = desk();
  const visit = holding.visit(CARD);
  visit.asked();
  await holding.toggle(CARD);
  for (let minute = 0; minute < 12; minute++) await vi.advanceTimersByTimeAsync(MINUTE);
  expect(await holder()).toBe('ann');
  visit.leave(false);
  await vi.advanceTimersByTimeAsync(6 * MINUTE);
  expect(await holder()).toBeUndefined();
});

test('what this person has from elsewhere is not given back by a look', async () => {
  const { holding, holder, notes } = desk();
  const hold = await takeHold(notes, CARD.id, 'ann');
  const visit = holding.visit(CARD);
  visit.begin({ ...CARD, hold });
  visit.leave(false);
  await holding.releaseAll();
  expect(await holder()).toBe('ann');
});

test('what another has is neither taken nor given back', async () => {
  const { holding, holder, notes } = desk();
  await takeHold(notes, CARD.id, 'ben');
  const visit = holding.visit(CARD);
  visit.begin(CARD);
  visit.leave(false);
  expect(await holding.toggle(CARD)).toMatchObject({ tone: 'bad', text: expect.stringContaining('ben is reviewing') });
  await holding.releaseAll();
  expect(await holder()).toBe('ben');
});

test('who quits does not wait for a server that does not answer', async () => {
  const { holding, hold } = desk();
  hold();
  holding.visit(CARD).begin(CARD);
  let hasQuit = false;
  const quitting = holding.releaseAll().then(() => {
    hasQuit = true;
  });
  await vi.advanceTimersByTimeAsync(1_900);
  expect(hasQuit).toBe(false);
  await vi.advanceTimersByTimeAsync(100);
  await quitting;
});
