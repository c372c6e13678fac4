// The journal of a run: its writes, lost answers, and events of other writers.
import type { ProviderError } from 'countersign';
import type { Store } from 'countersign/store';
import { describe, expect, test, vi } from 'vitest';
import { away } from '../conversations/flaky-store.ts';
import { approved, LEASE_MS, loaded } from './approved.ts';

/** Writes the first append and loses its answer. `then` runs before the retry. */
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
  test('counts as written if it released the claim, even if another process has claimed the run', async () => {
    const { kept, open, started, types } = await approved();
    const { journal, run } = await open(
      'enter',
      losing(kept, () => kept.claim('run', 'theirs', LEASE_MS)),
    );
    run.record(started);
    expect(await journal.finish()).toBe('done');
    expect((await types()).filter((type) => type === 'call-started')).toHaveLength(1);
  });

  test('does not fail if it could not take the claim that another process holds', async () => {
    const { kept, open, started } = await approved();
    await kept.claim('run', 'theirs', LEASE_MS);
    const { journal, run } = await open('take', losing(kept));
    run.record(started);
    await journal.recorded();
    expect(journal.holds).toBe(false);
    expect(journal.hasBegun).toBe(true);
  });

  test('starts nothing if another process has the claim afterwards', async () => {
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

  test('fails if its write cannot be confirmed', async () => {
    const { kept, open, started } = await approved();
    const read = () => Promise.reject<never>(away());
    const { journal, run } = await open('take', { ...losing(kept), read });
    run.record(started);
    await expect(journal.recorded()).rejects.toMatchObject({ code: 'stale-version' });
  });
});

test('a write to a store that is down is retried for half a minute', async () => {
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
  'an event after the claim was released (%s) does not take the claim again',
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
  'a released claim (%s) does not count as held, even after another process wrote',
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

test('a buffered event stays part of the state after another process wrote', async () => {
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

describe('after another process ended the run', () => {
  test('the claim is released even if nothing is left to write', async () => {
    const { kept, runs, open, started } = await approved();
    const { journal, run } = await open('hold');
    await runs.cancel('run');
    run.record(started);
    while ((await journal.finish()) === 'more');
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  });

  test('a renewal notices the end and aborts the running body', async () => {
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

  test('a buffered start is dropped', async () => {
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

test('a start recorded after the claim lapsed starts nothing', async () => {
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

test('each write extends the claim', async () => {
  const { open, started, step, time } = await approved();
  const { journal, run } = await open('hold');
  for (const fact of [started, step('one'), step('two')]) {
    time.now += (2 / 3) * LEASE_MS;
    run.record(fact);
    await journal.flushed();
  }
  expect(journal.isHeld()).toBe(true);
});

describe('a decision that arrives when nothing is left to do here', () => {
  async function rested(changes: (answer: () => Promise<unknown>, kept: Store) => Partial<Store> = () => ({})) {
    const { kept, runs, open, started, settled, step } = await approved();
    const [question] = (await runs.requests({ tool: 'ask' })).items;
    const answer = () => runs.decide(question?.id ?? '', { type: 'respond', output: 1 }, { drive: false });
    const { journal, run } = await open('hold', changes(answer, kept));
    run.record(started);
    run.record(settled);
    await journal.recorded();
    return { kept, journal, run, answer, step };
  }

  test('keeps the claim if it was read before: this process continues', async () => {
    const { kept, journal, answer } = await rested();
    await answer();
    await journal.look();
    expect(await journal.finish(false)).toBe('more');
    expect(journal.holds).toBe(true);
    // This process had nothing more to do.
    expect(await journal.finish(false)).toBe('done');
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  });

  test('is left to another process if this one is leaving the run', async () => {
    const { kept, journal, answer } = await rested();
    await answer();
    await journal.look();
    expect(await journal.finish()).toBe('done');
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  });

  test('does not come: an event after the release does not take the claim again', async () => {
    const { kept, journal, run, step } = await rested();
    expect(await journal.finish(false)).toBe('done');
    expect(journal.holds).toBe(false);
    run.record(step('late'));
    await journal.recorded();
    expect(await kept.claim('run', 'theirs', LEASE_MS)).toBeDefined();
  });

  test('is a cancel just before the release: the claim is not taken again', async () => {
    const { runs, open, started, settled } = await approved();
    const release = async (): Promise<void> => void (await runs.cancel('run'));
    const { journal, run } = await open('hold', { release });
    run.record(started);
    run.record(settled);
    await journal.recorded();
    expect(await journal.finish(false)).toBe('done');
  });

  test('comes just before the release: the claim is to be taken again', async () => {
    const { journal } = await rested((answer, kept) => ({
      release: async (...args) => {
        await answer();
        return kept.release(...args);
      },
    }));
    expect(await journal.finish(false)).toBe('again');
  });
});

test('a journal without the claim has nothing to continue, even if the run is running', async () => {
  const { open, step, types } = await approved();
  const { journal, run } = await open('none');
  run.record(step('one'));
  expect(await journal.finish(false)).toBe('done');
  expect((await types()).at(-1)).toBe('step-done');
});

test('an event bound to the version that was read is not written after another process wrote', async () => {
  const { open, started, step, types } = await approved();
  const { journal, run } = await open('take');
  const other = await open('none');
  other.run.record(step('theirs'));
  await other.journal.recorded();
  await journal.look();
  run.record(started);
  await expect(journal.recorded()).rejects.toMatchObject({ code: 'stale-version' });
  expect(await types()).not.toContain('call-started');
});

test.each([
  ['is down', away],
  ['fails with an unknown error', () => new Error('broken')],
])('a failed read of a store that %s does not prevent the next write', async (_how, failure) => {
  const { kept, open, started, types } = await approved();
  const read = vi.fn(kept.read.bind(kept)).mockRejectedValueOnce(failure());
  const { journal, run } = await open('hold', { read });
  await journal.look();
  expect(read).toHaveBeenCalledTimes(1);
  run.record(started);
  await journal.flushed();
  expect((await types()).at(-1)).toBe('call-started');
});

test('a journal that lost its claim writes and renews nothing, and reports later events as late', async () => {
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

describe('the events of other writers', () => {
  test('are rejected if their number differs from the version', async () => {
    const { kept, open, started } = await approved();
    // The version in the row was changed.
    const changed: Partial<Store> = {
      append: (append) => kept.append({ ...append, expectedVersion: append.expectedVersion - 1 }),
      read: async (...args) => {
        const found = await kept.read(...args);
        return found && { ...found, run: { ...found.run, version: found.run.version + 1 } };
      },
    };
    const { journal, run } = await open('hold', changed);
    run.record(started);
    await expect(journal.recorded()).rejects.toMatchObject({ code: 'tampered-run' });
  });

  test('are rejected if the store is behind the events that this process wrote', async () => {
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
