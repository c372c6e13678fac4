// What a process knows of the runs that it has just brought to a pause, and how the store is asked whether that still holds.
import { createHash } from 'node:crypto';
import { type Append, memoryStore, recordDigest, type Store } from 'countersign';
import { describe, expect, test } from 'vitest';
import { event } from '../../src/core/event.ts';
import { madeOf, type PausedRun, PausedRuns, Written } from '../../src/runs/journal/paused.ts';
import { eventsText } from '../../src/runs/port/chain.ts';
import type { NewRun, StoredEvent } from '../../src/runs/port/store.ts';
import { changedStore } from '../changed-store.ts';

const run = { id: 'run', agent: 'clerk', startedBy: null };
const create = { ...run } as unknown as NewRun;
const store = memoryStore();

const said = (text: string): StoredEvent => ({
  ...event({ type: 'user-spoke', messages: [{ role: 'user', content: [{ text }] }] }),
  at: 1,
});
const append = (expectedVersion: number, status: Append['status'], text = 'Pay.'): Append => ({
  runId: 'run',
  expectedVersion,
  events: [said(text)],
  hash: `hash ${expectedVersion}`,
  status,
  wakeAt: null,
  outcome: null,
  opened: [],
  settled: [],
});

function write(written: Written, ...appends: readonly Append[]): Written {
  for (const given of appends) {
    written.send(given);
    written.add(given);
  }
  return written;
}

describe('a run is known', () => {
  test('as it waits, where all of it was written here', () => {
    const { paused } = write(new Written({ store, run, create }), append(0, 'running'), append(1, 'waiting'));
    expect(paused?.run).toEqual({ ...run, version: 2, hash: 'hash 1', status: 'waiting', outcome: null });
    const lists = [said('Pay.'), said('Pay.')].map((one) => eventsText([one])).join('\n');
    expect(paused?.lists).toBe(lists);
    expect(madeOf(paused as PausedRun).digest).toBe(
      recordDigest(lists, { ...run, hash: 'hash 1', status: 'waiting', outcome: 'null' }),
    );
  });

  test('once more after a decision that the store has compared', () => {
    const { paused } = write(new Written({ store, run, create }), append(0, 'waiting'));
    const written = new Written({ store, run, ...(paused && { paused }) });
    expect(written.compared).toBe(madeOf(paused as PausedRun).digest);
    expect(write(written, append(1, 'waiting')).paused?.run.version).toBe(2);
    expect(written.compared).toBeUndefined();
  });
});

describe('a run is not known, and is read,', () => {
  const kept = () => new Written({ store, run, create });
  const others = () => {
    const written = write(kept(), append(0, 'waiting'));
    written.end();
    return written;
  };
  test.each<[string, () => Written]>([
    ['while it does not wait', () => write(kept(), append(0, 'running'))],
    ['once it goes on', () => write(kept(), append(0, 'waiting'), append(1, 'running'))],
    ['where it was begun by others', () => write(new Written({ store, run }), append(1, 'waiting'))],
    ['once others have written in it', others],
    ['also after what is written behind that', () => write(others(), append(2, 'waiting'))],
    ['where it is long', () => write(kept(), append(0, 'waiting', 'x'.repeat(20_000)))],
    [
      'also once it is longer than that',
      () => write(kept(), append(0, 'running', 'x'.repeat(20_000)), append(1, 'waiting')),
    ],
    [
      'where its store does not compare',
      () => {
        const plain = changedStore(store, { comparesRecords: undefined } as unknown as Partial<Store>);
        return write(new Written({ store: plain, run, create }), append(0, 'waiting'));
      },
    ],
  ])('%s', (_where, written) => {
    expect(written().paused).toBeUndefined();
  });
});

describe('of the runs that wait', () => {
  const paused = (id: string): PausedRun => ({
    run: { ...run, id, version: 1, hash: '', status: 'waiting', outcome: null },
    lists: '',
  });

  test('each is given once', () => {
    const runs = new PausedRuns();
    runs.remember(paused('a'));
    expect(runs.take('a')?.run.id).toBe('a');
    expect(runs.take('a')).toBeUndefined();
  });

  test('the last ones are remembered', () => {
    const runs = new PausedRuns();
    const ids = Array.from({ length: 33 }, (_, index) => `run ${index}`);
    // The first one has paused again since.
    for (const id of [...ids.slice(0, 32), 'run 0', 'run 32']) runs.remember(paused(id));
    const forgotten = ids.filter((id) => runs.take(id) === undefined);
    expect(forgotten).toEqual(['run 1']);
  });
});

test('the digest of a record is made of everything in it that is acted on, as stores in SQL make it', () => {
  const lists = '[{"a":1}]\n[{"b":2}]';
  const text = `end\nfailed\n{"text":"no"}\n"the \\"clerk\\""\n"ann"\n${lists}`;
  const record = {
    hash: 'end',
    status: 'failed',
    outcome: '{"text":"no"}',
    agent: 'the "clerk"',
    startedBy: 'ann',
  } as const;
  const sha = (of: string) => createHash('sha256').update(of).digest('hex');
  expect(recordDigest(lists, record)).toBe(sha(text));
  expect(recordDigest(lists, { ...record, startedBy: null })).toBe(sha(text.replace('"ann"', 'null')));
});
