// Several processes decide the same question at the same moment: one wins, and every caller learns who.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DecisionInput, RunRequest } from 'countersign';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { type Kind, Ledger, type Line, openBank, openStore, type Place } from '../crash/bank.ts';
import { type Child, startChild } from '../crash/children.ts';
import type { Answer, DeciderOptions, Volley } from '../crash/decider-child.ts';
import { eventually } from '../eventually.ts';
import { testServer } from '../stores/postgres-server.ts';

const PROCESSES = 4;
const ROUNDS = campaignSize(2, 10);
const APPROVE: DecisionInput = { type: 'approve' };
const REJECT: DecisionInput = { type: 'reject', reason: 'no' };

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-races-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Processes that decide on one store, and the ledger of their payments. */
class Arena {
  readonly #store;
  readonly #bank;
  readonly #ledger: Ledger<Line>;
  readonly #children: readonly Child[];
  #made = 0;

  static async open(name: string, place: Place): Promise<Arena> {
    const arena = new Arena(name, place);
    await arena.#store.migrate();
    await Promise.all(arena.#children.map(({ line }) => line()));
    return arena;
  }

  constructor(name: string, place: Place) {
    const ledger = join(folder, `${name}-happened`);
    this.#store = openStore(place);
    this.#ledger = new Ledger<Line>(ledger);
    this.#bank = openBank({ store: this.#store, ledger: this.#ledger, leaseMs: 30_000 });
    const options: DeciderOptions = { place, ledger };
    this.#children = Array.from({ length: PROCESSES }, () => startChild('decider-child.ts', options));
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL');
    await Promise.all(this.#children.map(({ ended }) => ended));
    await this.#store.close();
  }

  /** Starts runs and returns the pending question of each. */
  async pausedRuns(count: number, kind: Kind): Promise<readonly RunRequest[]> {
    const ids = Array.from({ length: count }, () => `${kind}-${++this.#made}`);
    await Promise.all(ids.map((id) => this.#bank.start(id)));
    await this.#bank.runs.settled();
    return (await Promise.all(ids.map((id) => this.questions(id)))).flat();
  }

  async questions(runId: string): Promise<readonly RunRequest[]> {
    return (await this.#bank.runs.requests({ runId })).items;
  }

  async settlement(id: string): Promise<{ readonly by: unknown }> {
    return (await this.#bank.runs.request(id)).settlement as { readonly by: unknown };
  }

  status = async (runId: string): Promise<string> => (await this.#bank.runs.get(runId)).status;

  payments = (runId: string): number => this.#ledger.read().filter(({ run }) => run === runId).length;

  /** Sends each list of decisions to one process. All processes decide at the same moment. */
  async volley(
    decisions: readonly (readonly Volley['decisions'][number][])[],
    at = Date.now() + 15,
  ): Promise<readonly Answer[]> {
    const answers = await Promise.all(
      this.#children.map(async (child, index) => {
        child.say({ at, decisions: decisions[index] ?? [] } satisfies Volley);
        const line = await child.line();
        if (line === undefined) throw new Error((await child.ended).errors);
        return JSON.parse(line) as readonly Answer[];
      }),
    );
    return answers.flat();
  }

  /** Lets `many` people decide each of these questions, spread over the processes. */
  async race(cards: readonly RunRequest[], many: number, decide: (person: number) => DecisionInput): Promise<void> {
    const decisions = Array.from({ length: PROCESSES }, (): Volley['decisions'][number][] => []);
    for (const [index, { id }] of cards.entries())
      for (let person = 0; person < many; person++)
        decisions[(index + person) % PROCESSES]?.push({ id, decision: decide(person), by: `person ${person}` });
    const answers = await this.volley(decisions);
    for (const { id, runId } of cards) {
      const mine = answers.filter((answer) => answer.id === id);
      expect(mine).toHaveLength(many);
      expectOneWinner(mine);
      expect(await this.status(runId)).toBe('done');
      expect(this.payments(runId)).toBe(isApproved(mine) ? 1 : 0);
    }
  }
}

const isApproved = (answers: readonly Answer[]): boolean =>
  answers.some((answer) => 'decided' in answer && JSON.stringify(answer.decided.decision) === JSON.stringify(APPROVE));

/** Callers who decided the same receive the winner's decision; the others get a conflict that names it. */
function expectOneWinner(answers: readonly Answer[]): void {
  const decided = answers.flatMap((answer) => ('decided' in answer ? [answer.decided] : []));
  const [winner] = decided;
  if (!winner) throw new Error(`No decision won: ${JSON.stringify(answers[0])}`);
  expect(new Set(decided.map((one) => JSON.stringify(one))).size).toBe(1);
  for (const answer of answers) {
    const isSame = JSON.stringify(answer.decision) === JSON.stringify(winner.decision);
    expect('decided' in answer).toBe(isSame);
    if (!('refused' in answer)) continue;
    expect(answer.refused).toMatchObject({ name: 'ConflictError', code: 'already-decided' });
    expect(answer.refused.message).toContain(`decided by ${winner.by}`);
    expect(answer.refused.message).toContain(JSON.stringify(winner.decision));
    expect(answer.refused.message).toMatch(/ at \d{4}-\d\d-\d\dT/);
  }
}

const places: readonly (readonly [string, () => Promise<Place>])[] = [
  ['SQLite', async () => ({ sqlite: join(folder, 'runs.db') })],
  ...(postgres ? [['PostgreSQL', async () => ({ postgres: await postgres.freshDatabase() })] as const] : []),
];

describe.each(places)('on %s, in several processes', (name, place) => {
  let arena: Arena;
  beforeAll(async () => {
    arena = await Arena.open(name, await place());
  }, 60_000);
  afterAll(() => arena?.close());

  test('two people approve at once: both receive the one approval, and the call runs once', async () => {
    for (let round = 0; round < ROUNDS; round++) await arena.race(await arena.pausedRuns(20, 'pay'), 2, () => APPROVE);
  }, 60_000);

  test('one approves and one rejects: one wins, and the other learns who decided what and when', async () => {
    for (let round = 0; round < ROUNDS; round++)
      await arena.race(await arena.pausedRuns(20, 'pay'), 2, (person) => (person === 0 ? APPROVE : REJECT));
  }, 60_000);

  test('fifty people decide at once, half of them each way: one wins', async () => {
    for (let round = 0; round < ROUNDS; round++)
      await arena.race(await arena.pausedRuns(2, 'pay'), 50, (person) => (person % 2 === 0 ? APPROVE : REJECT));
  }, 60_000);

  test('an approval delivered twice does not decide the next question', async () => {
    for (let round = 0; round < campaignSize(2, 5); round++) {
      const cards = await arena.pausedRuns(20, 'chain');
      const deliver = () =>
        arena.volley([0, 1].map(() => cards.map(({ id }) => ({ id, decision: APPROVE, by: 'ann' }))));
      await deliver();
      await deliver();
      for (const { id, runId } of cards) {
        const waiting = await arena.questions(runId);
        expect(waiting).toHaveLength(1);
        expect(waiting[0]?.id).not.toBe(id);
        expect(arena.payments(runId)).toBe(1);
      }
    }
  }, 60_000);

  test('of an approval and a deadline at the same moment exactly one counts', async () => {
    const won = { person: 0, deadline: 0 };
    for (let round = 0; round < campaignSize(2, 3); round++) {
      const cards = await arena.pausedRuns(20, 'rush');
      const deadlines = cards.map(({ expiresAt }) => expiresAt ?? 0).sort((a, b) => a - b);
      const decisions = cards.map(({ id }) => ({ id, decision: APPROVE, by: 'ann' }));
      const answers = await arena.volley([decisions], (deadlines[10] ?? 0) - 25 + 12 * round);
      for (const { id, runId } of cards) {
        await eventually(async () => expect(await arena.status(runId)).toBe('done'));
        const answer = answers.find((answer) => answer.id === id);
        const isApproved = answer !== undefined && 'decided' in answer;
        if (answer && 'refused' in answer) expect(answer.refused.code).toBe('already-decided');
        expect((await arena.settlement(id)).by).toBe(isApproved ? 'ann' : 'deadline');
        expect(arena.payments(runId)).toBe(isApproved ? 1 : 0);
        won[isApproved ? 'person' : 'deadline'] += 1;
      }
    }
    console.log(`${name}: ${JSON.stringify(won)}`);
  }, 60_000);
});
