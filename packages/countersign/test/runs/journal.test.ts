// The journal of a run by itself: what it writes, and what it makes of answers that are lost and of what others wrote.
import type { ProviderError } from 'countersign';
import type { Store } from 'countersign/store';
import { describe, expect, test, vi } from 'vitest';
import { away } from '../conversations/flaky-store.ts';
import { approved, LEASE_MS, loaded } from './approved.ts';

/** The first append is written, and its answer is lost; `then` comes before it is tried again. */
function losing(kept: Store, then: () => Promise<unknown> = async () => undefined): Partial<Store> {
  let isFirst = true;
  return {
    append: async (append) => {
      const appended = await kept.append(append);
      if (!isFirst) return appended;
      isFirst = false;
      await then();
      throw away();
    },
  };
}

describe('an append whose answer is lost', () => {
  test('and that gave up the claim is known as written, also where another has the run by then', async () => {
    const { kept, open, started, types } = await approved();
    const { journal, run } = await open(
      'enter',
      losing(kept, () => kept.claim('run', 'theirs', LEASE_MS)),
    );
    run.record(started);
    expect(await journal.finish()).toBe('done');
    expect((await types()).filter((type) => type === 'call-started')).toHaveLength(1);
  });

  test('and that did not get the claim, since another has it, is no failure', async () => {
    const { kept, open, started } = await approved();
    await kept.claim('run', 'theirs', LEASE_MS);
    const { journal, run } = await open('take', losing(kept));
    run.record(started);
    await journal.recorded();
    expect(journal.holds).toBe(false);
    expect(journal.hasBegun).toBe(true);
  });

  test('and after which another has the claim lets nothing begin', async () => {
    const { kept, open, started } = await approved();
    const lapses = async () => {
      await kept.release('run', 'ours');
      await kept.claim('run', 'theirs', LEASE_MS);
    };
    const { journal, run } = await open('enter', losing(kept, lapses));
    run.record(started);
    await expect(journal.flushed()).rejects.toMatchObject({ code: 'claim-lost' });
    expect(journal.isHeld()).toBe(false);
  });

  test('is not waited for any longer where nobody can tell whether it was written', async () => {
    const { kept, open, started } = await approved();
    const read = () => Promise.reject<never>(away());
    const { journal, run } = await open('take', { ...losing(kept), read });
    run.record(started);
    await expect(journal.recorded()).rejects.toMatchObject({ code: 'stale-version' });
  });
});

test('a store that stays away is waited for half a minute, and no longer', async () => {
  const { open, started, time, types } = await approved();
  const stays = () => Promise.reject<never>(away());
  const { journal, run } = await open('take', { append: stays, read: stays });
  const begunAt = time.now;
  run.record(started);
  await expect(journal.recorded()).rejects.toMatchObject({ code: 'store-failed' });
  expect(time.now - begunAt).toBeGreaterThanOrEqual(30_000);
  expect(await types()).not.toContain('call-started');
});

test.each(['hold', 'enter'] as const)(
  'after the claim was given up (%s) what still comes does not take it again',
  async (claim) => {
    const { kept, open, started, step, types } = await approved();
    const { journal, run } = await open(claim);
    run.record(started);
    expect(await journal.finish()).toBe('done');
    run.record(step('one'));
    await journal.recorded();
    expect((await types()).at(-1)).toBe('step-done');
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  },
);

test.each(['hold', 'enter'] as const)(
  'after the claim was given up (%s) it is not said to be held, also where others wrote meanwhile',
  async (claim) => {
    const { open, started, step } = await approved();
    const { journal, run } = await open(claim);
    run.record(started);
    await journal.finish();
    const other = await open('none');
    other.run.record(step('theirs'));
    await other.journal.recorded();
    expect(await journal.finish()).toBe('done');
    run.record(step('one'));
    expect(await journal.finish()).toBe('done');
  },
);

test('what waits to be written stays what has happened, where others wrote meanwhile', async () => {
  const { open, started, settled, step } = await approved();
  const { journal, run } = await open('hold');
  run.record(started);
  await journal.recorded();
  const other = await open('none');
  other.run.record(step('theirs'));
  await other.journal.recorded();
  run.record(settled);
  await journal.look();
  expect(run.state.turn?.calls[0]?.phase).toMatchObject({ at: 'settled' });
});

describe('after somebody has ended the run', () => {
  test('the claim is given up although nothing is left to be written', async () => {
    const { kept, runs, open, started } = await approved();
    const { journal, run } = await open('hold');
    await runs.cancel('run');
    run.record(started);
    while ((await journal.finish()) === 'more');
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  });

  test('who renews the claim hears of it, and what runs here is told to stop', async () => {
    const { runs, open, started } = await approved();
    const { journal, run } = await open('hold');
    run.record(started);
    await journal.recorded();
    await runs.cancel('run');
    expect(journal.lost.aborted).toBe(false);
    await journal.renew();
    expect(journal.lost.aborted).toBe(true);
    expect(run.state.ended).toBeDefined();
  });

  test('what waits to be written and was not begun is dropped', async () => {
    const { runs, open, started, types } = await approved();
    const { journal, run } = await open('hold');
    await runs.cancel('run');
    run.record(started);
    await journal.look();
    expect(journal.unwritten).toEqual([]);
    expect(run.state.ended).toBeDefined();
    await journal.recorded();
    expect((await types()).at(-1)).toBe('run-ended');
  });
});

test('what is on record does not let anything begin after the claim has lapsed meanwhile', async () => {
  const { kept, time, open, started, types } = await approved();
  const append: Store['append'] = async (append) => {
    const appended = await kept.append(append);
    time.now += 2 * LEASE_MS;
    return appended;
  };
  const { journal, run } = await open('hold', { append });
  run.record(started);
  await expect(journal.flushed()).rejects.toMatchObject({ code: 'claim-lost' });
  expect((await types()).at(-1)).toBe('call-started');
});

test('each write keeps the claim for as long again', async () => {
  const { open, started, step, time } = await approved();
  const { journal, run } = await open('hold');
  for (const fact of [started, step('one'), step('two')]) {
    time.now += (2 / 3) * LEASE_MS;
    run.record(fact);
    await journal.flushed();
  }
  expect(journal.isHeld()).toBe(true);
});

describe('somebody answers when nothing is left to do here', () => {
  async function rested(changes: (answer: () => Promise<unknown>, kept: Store) => Partial<Store> = () => ({})) {
    const { kept, runs, open, started, settled, step } = await approved();
    const [question] = (await runs.interrupts({ tool: 'ask' })).items;
    const answer = () => runs.decide(question?.id ?? '', { type: 'respond', output: 1 }, { drive: false });
    const { journal, run } = await open('hold', changes(answer, kept));
    run.record(started);
    run.record(settled);
    await journal.recorded();
    return { kept, journal, run, answer, step };
  }

  test('and that was heard of: the claim is kept, and it goes on', async () => {
    const { kept, journal, answer } = await rested();
    await answer();
    await journal.look();
    expect(await journal.finish(false)).toBe('more');
    expect(journal.holds).toBe(true);
    // Nothing more came of it here.
    expect(await journal.finish(false)).toBe('done');
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  });

  test('and that was heard of where the run is to be left: another goes on', async () => {
    const { kept, journal, answer } = await rested();
    await answer();
    await journal.look();
    expect(await journal.finish()).toBe('done');
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  });

  test('or nobody does: what still comes after the claim was given up does not take it again', async () => {
    const { kept, journal, run, step } = await rested();
    expect(await journal.finish(false)).toBe('done');
    expect(journal.holds).toBe(false);
    run.record(step('late'));
    await journal.recorded();
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  });

  test('just before the claim is given up, where that leaves nothing to do: it is not taken again', async () => {
    const { runs, open, started, settled } = await approved();
    const release = async (): Promise<void> => void (await runs.cancel('run'));
    const { journal, run } = await open('hold', { release });
    run.record(started);
    run.record(settled);
    await journal.recorded();
    expect(await journal.finish(false)).toBe('done');
  });

  test('just before the claim is given up: it is to be taken again', async () => {
    const { journal } = await rested((answer, kept) => ({
      release: async (...given) => {
        await answer();
        return kept.release(...given);
      },
    }));
    expect(await journal.finish(false)).toBe('again');
  });
});

test('who does not hold the claim has nothing to go on with, also where the run goes on', async () => {
  const { open, step, types } = await approved();
  const { journal, run } = await open('none');
  run.record(step('one'));
  expect(await journal.finish(false)).toBe('done');
  expect((await types()).at(-1)).toBe('step-done');
});

test('what was to be recorded on what was read does not come behind what others wrote, also after a look', async () => {
  const { open, started, step, types } = await approved();
  const { journal, run } = await open('take', {}, { onStale: 'fail' });
  const other = await open('none');
  other.run.record(step('theirs'));
  await other.journal.recorded();
  await journal.look();
  run.record(started);
  await expect(journal.recorded()).rejects.toMatchObject({ code: 'stale-version' });
  expect(await types()).not.toContain('call-started');
});

test.each([
  ['is away', away],
  ['fails in words of its own', () => new Error('broken')],
])('a look at a store that %s does not keep the next write from being made', async (_how, failure) => {
  const { kept, open, started, types } = await approved();
  const read = vi.fn(kept.read.bind(kept)).mockRejectedValueOnce(failure());
  const { journal, run } = await open('hold', { read });
  await journal.look();
  expect(read).toHaveBeenCalledTimes(1);
  run.record(started);
  await journal.flushed();
  expect((await types()).at(-1)).toBe('call-started');
});

test('once the claim is lost nothing is written, nothing renewed, and what still comes is told as late', async () => {
  const { kept, open, started, settled } = await approved();
  const append = vi.fn(kept.append.bind(kept));
  const renew = vi.fn(async () => false);
  const { journal, run } = await open('hold', { append, renew });
  const late = vi.fn();
  run.onLate = late;
  run.record(started);
  await journal.renew();
  expect(journal.holds).toBe(false);
  await journal.renew();
  expect(renew).toHaveBeenCalledTimes(1);
  await expect(journal.recorded()).rejects.toMatchObject({ code: 'claim-lost' });
  expect(append).not.toHaveBeenCalled();
  run.record(settled);
  expect(late).toHaveBeenCalledWith([settled]);
});

describe('what others are said to have written', () => {
  test('is refused where there are not as many events as the record says', async () => {
    const { kept, open, started } = await approved();
    // Somebody has changed the number in the row.
    const changed: Partial<Store> = {
      append: (append) => kept.append({ ...append, expectedVersion: append.expectedVersion - 1 }),
      read: async (...given) => {
        const found = await kept.read(...given);
        return found && { ...found, run: { ...found.run, version: found.run.version + 1 } };
      },
    };
    const { journal, run } = await open('hold', changed);
    run.record(started);
    await expect(journal.recorded()).rejects.toMatchObject({ code: 'tampered-run' });
  });

  test('is less than what this process has written: the store was set back', async () => {
    const { kept, open, started, step } = await approved();
    const changes: Partial<Store> = {};
    const { journal, run } = await open('hold', changes);
    const before = await loaded(kept);
    run.record(started);
    await journal.recorded();
    changes.read = async () => ({ ...before, events: [] });
    changes.append = (append) => kept.append({ ...append, expectedVersion: append.expectedVersion - 1 });
    run.record(step('one'));
    const error = await journal.recorded().then(
      () => undefined,
      (error: unknown) => error as ProviderError,
    );
    expect(error).toMatchObject({ code: 'store-failed', retryable: false });
    expect(error?.message).toMatch(/at version \d+, but had said that it was at \d+/);
  });
});
