// In two processes, a worker starts calls whose time is over while a person recalls them: one of the two wins, also if the worker is killed.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunRequest } from 'countersign';
import { afterAll, expect, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { Ledger, type Line, openBank, openStore, type Place } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import { eventually } from '../eventually.ts';
import { randomOf } from '../random.ts';
import { temporaryFolder } from '../stores/folder.ts';
import { testServer } from '../stores/postgres-server.ts';
import type { RacingOptions, RecallAnswer, Recalls } from './racing-child.ts';

/** Two hundred where the long campaigns run. */
const ROUNDS = campaignSize(40, 200);
const AT_ONCE = 40;
const HOLD_MS = 2_000;
/** A recall comes at most so long before or after the start. */
const NEAR_MS = 40;

const postgres = await testServer();
const folder = temporaryFolder();
afterAll(() => folder.remove());

type Figures = { recalled: number; started: number; doubts: number };

async function race(name: string, place: Place, isKilled: boolean): Promise<Figures> {
  const random = randomOf(7);
  const file = join(folder.path, `${name}-${isKilled}`);
  const options = { place, ledger: file, leaseMs: isKilled ? 1_000 : 30_000, holdMs: HOLD_MS };
  const store = openStore(place);
  await store.migrate();
  const ledger = new Ledger<Line>(file);
  const { runs, start } = openBank({ ...options, store, ledger });
  const spawn = async (isWorker: boolean) => {
    const child = startChild('../recall/racing-child.ts', { ...options, isWorker } satisfies RacingOptions);
    expect(await child.line()).toBe('ready');
    return child;
  };
  const person = await spawn(false);
  let worker = await spawn(true);
  const waiting = async (runId: string): Promise<RunRequest | undefined> => (await runs.requests({ runId })).items[0];

  async function holds(prefix: string): Promise<readonly RunRequest[]> {
    const ids = Array.from({ length: AT_ONCE }, (_, index) => `hold-${prefix}-${index}`);
    await Promise.all(ids.map((id) => start(id)));
    await runs.settled();
    for (const id of ids) await runs.decide((await waiting(id)) as RunRequest, 'approve', { by: 'ben', drive: false });
    await Promise.all(ids.map((id) => runs.drive(id).catch(() => undefined)));
    return eventually(async () => {
      const found = await Promise.all(
        [false, true].map(async (settled) => (await runs.requests({ kind: 'recall', settled, limit: 500 })).items),
      );
      const mine = found.flat().filter(({ runId }) => ids.includes(runId));
      expect(mine).toHaveLength(AT_ONCE);
      return mine;
    });
  }

  async function killWorker(cards: readonly RunRequest[]): Promise<void> {
    const times = cards.map(({ expiresAt }) => expiresAt ?? 0).sort((a, b) => a - b);
    await delay(Math.max(0, (times[AT_ONCE / 2] ?? 0) - Date.now() + random() * NEAR_MS));
    worker.kill('SIGKILL');
    await worker.ended;
    worker = await spawn(true);
  }

  const figures: Figures = { recalled: 0, started: 0, doubts: 0 };
  async function judge(card: RunRequest, answer: RecallAnswer | undefined): Promise<void> {
    const { runId } = card;
    const open = await eventually(async () => {
      const request = await waiting(runId);
      if (request) expect(request.kind).toBe('doubt');
      else expect((await runs.get(runId)).status).toBe('done');
      return request;
    });
    const by = ((await runs.request(card.id)).settlement as { readonly by: unknown }).by;
    const effects = ledger.read().filter(({ run }) => run === runId).length;
    expect(answer).toEqual(by === 'ann' ? { id: card.id } : { id: card.id, code: 'already-decided' });
    if (!isKilled) expect(open).toBeUndefined();
    // A call in doubt has started. Whether it did its work is what the person is asked.
    if (open) expect(effects).toBeLessThanOrEqual(1);
    else expect(effects).toBe(by === 'ann' ? 0 : 1);
    expect(by).toBe(open ? 'deadline' : effects === 0 ? 'ann' : 'deadline');
    expect(await runs.verify(runId)).toMatchObject({ ok: true });
    figures[open ? 'doubts' : by === 'ann' ? 'recalled' : 'started'] += 1;
  }

  try {
    for (let round = 0; round < ROUNDS / AT_ONCE; round += 1) {
      const cards = await holds(`${round}`);
      const recalls: Recalls = cards.map(({ id, expiresAt }) => ({
        id,
        at: (expiresAt ?? 0) - NEAR_MS + 2 * NEAR_MS * random(),
      }));
      person.say(recalls);
      if (isKilled) await killWorker(cards);
      const answers: readonly RecallAnswer[] = JSON.parse((await person.line()) ?? (await person.ended).errors);
      for (const card of cards)
        await judge(
          card,
          answers.find(({ id }) => id === card.id),
        );
    }
  } finally {
    for (const child of [person, worker]) child.kill('SIGKILL');
    await Promise.all([person.ended, worker.ended]);
    await store.close();
  }
  console.log(`${name}${isKilled ? ', killed' : ''}: ${JSON.stringify(figures)}`);
  return figures;
}

const PLACES: readonly (readonly [string, (name: string) => Promise<Place>])[] = [
  ['SQLite', async (name) => ({ sqlite: join(folder.path, `${name}.db`) })],
  ...(postgres ? [['PostgreSQL', async () => ({ postgres: await postgres.freshDatabase() })] as const] : []),
];

const RACES = PLACES.flatMap(([name, place]) => ['killed', 'alive'].map((life) => [name, life, place] as const));

// Killed on SQLite, alive on PostgreSQL, and the long campaigns run all four.
test.each(
  campaignSize(
    [RACES[0], RACES.at(-1)].flatMap((race) => (race ? [race] : [])),
    RACES,
  ),
)('on %s, a call is recalled or started, with a worker that is %s', { timeout: 300_000 }, async (name, life, open) => {
  const { recalled, started, doubts } = await race(name, await open(life), life === 'killed');
  expect(recalled + started + doubts).toBe(ROUNDS);
});
