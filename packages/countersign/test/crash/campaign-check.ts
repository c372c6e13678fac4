// What must hold after a campaign, checked against the ledger of effects.
import type { RunRequest, Runs } from '../../src/index.ts';
import type { RunRecord, Store } from '../../src/runs/port/store.ts';
import type { GrantDetails } from '../../src/store.ts';
import { GRANTED, type Kind, kindOf, type Line } from './bank.ts';
import type { Ack } from './busy-child.ts';

export type Figures = Inspection & {
  readonly kills: number;
  /** Calls with an unknown outcome, and how many of them had happened. */
  readonly doubts: number;
  readonly happened: number;
  readonly killingSeconds: number;
  readonly recoverySeconds: number;
};

type Inspection = {
  readonly runs: number;
  readonly effects: number;
  readonly duplicates: number;
  readonly acknowledgedDecisions: number;
  readonly lostDecisions: number;
  readonly acknowledgedVotes: number;
  readonly lostVotes: number;
  /** Calls that ran under the grant. */
  readonly granted: number;
  readonly lostStarts: number;
  readonly askedAgain: number;
  readonly unfinished: number;
  readonly problems: readonly string[];
};

/** The number of questions and the effects of each kind of run. */
const EXPECTED: Readonly<Record<Kind, { readonly cards: number; readonly effects: readonly string[] }>> = {
  pay: { cards: 1, effects: ['pay'] },
  reject: { cards: 1, effects: [] },
  two: { cards: 2, effects: ['pay', 'pay'] },
  chain: { cards: 2, effects: ['pay', 'pay'] },
  book: { cards: 1, effects: ['reserve', 'book'] },
  trip: { cards: 0, effects: ['flight', 'hotel'] },
  late: { cards: 1, effects: ['late'] },
  look: { cards: 0, effects: ['look'] },
  sure: { cards: 1, effects: ['sure'] },
  ask: { cards: 1, effects: [] },
  rush: { cards: 1, effects: ['rush'] },
  half: { cards: 2, effects: ['pay'] },
  deep: { cards: 1, effects: ['pay'] },
  wire: { cards: 1, effects: ['wire'] },
  // None if the grant covers it.
  spend: { cards: 1, effects: ['spend'] },
  hold: { cards: 1, effects: ['hold'] },
  team: { cards: 3, effects: ['look', 'pay', 'pay', 'pay'] },
};

/** These may be half done. Then a person finishes them manually. */
const HALVES: ReadonlySet<Kind> = new Set(['book', 'trip']);

export async function inspect(
  store: Store,
  runs: Runs,
  lines: readonly Line[],
  acks: readonly Ack[],
  grant?: GrantDetails,
): Promise<Inspection> {
  const problems: string[] = [];
  const records = await all<RunRecord>((cursor) => runs.list({ limit: 500, ...cursor }));
  const cards = await all<RunRequest>((cursor) => runs.requests({ settled: true, limit: 500, ...cursor }));
  const settled = new Map(cards.map((card) => [card.id, card]));
  const known = new Map(records.map((record) => [record.id, record]));
  const unfinished = records.filter(({ status }) => status !== 'done');
  for (const { id, status, outcome } of unfinished) problems.push(`${id} is ${status}: ${JSON.stringify(outcome)}`);

  const duplicates = duplicatesOf(lines);
  for (const duplicate of duplicates) problems.push(`happened twice: ${duplicate}`);

  const lostStarts = acks.filter((ack) => ack.ack === 'start').filter(({ run }) => !known.has(run));
  for (const { run } of lostStarts) problems.push(`the start of ${run} was lost`);
  const decisions = acks.filter((ack) => ack.ack === 'decision');
  const lostDecisions = decisions.filter(({ id, by, decision }) => {
    const settlement = settled.get(id)?.settlement as { by?: unknown; decision?: unknown } | undefined;
    return settlement?.by !== by || JSON.stringify(settlement?.decision) !== JSON.stringify(decision);
  });
  for (const { id } of lostDecisions) problems.push(`the decision on ${id} was lost`);

  const votes = acks.filter((ack) => ack.ack === 'vote');
  const lostVotes = [];
  for (const vote of votes) {
    const events = await runs.recorded(vote.id.split(':')[0] ?? '');
    if (!events.some((event) => event.type === 'vote-cast' && event.vote.by === vote.by)) lostVotes.push(vote);
  }
  for (const { id, by } of lostVotes) problems.push(`the vote of ${by} on ${id} was lost`);

  const granted = new Set(grant?.calls.map(({ runId }) => runId));
  if (granted.size > GRANTED) problems.push(`${granted.size} calls ran under a grant for ${GRANTED}`);

  const byRun = Map.groupBy(cards, ({ runId }) => runId);
  const linesByRun = Map.groupBy(lines, ({ run }) => run);
  let askedAgain = 0;
  for (const record of records) {
    const mine = byRun.get(record.id) ?? [];
    const doubted = mine.some(({ kind }) => kind === 'doubt');
    // A call that a grant let run, or that waited to start, has a row in the history, and asked nobody.
    const asked = mine.filter(
      ({ kind, settlement }) =>
        kind !== 'doubt' && kind !== 'recall' && !(settlement && ('granted' in settlement || 'observed' in settlement)),
    ).length;
    const { effects } = EXPECTED[kindOf(record.id)];
    const expected = { effects, cards: granted.has(record.id) ? 0 : EXPECTED[kindOf(record.id)].cards };
    const byHand = doubted && HALVES.has(kindOf(record.id));
    if (asked > expected.cards || (asked < expected.cards && !byHand)) {
      askedAgain += 1;
      problems.push(`${record.id} asked ${asked} questions instead of ${expected.cards}`);
    }
    const happened = [...new Set((linesByRun.get(record.id) ?? []).map(({ name, key }) => `${name} ${key}`))];
    const names = happened.map((place) => place.split(' ')[0]).sort();
    if (JSON.stringify(names) !== JSON.stringify([...expected.effects].sort()) && !byHand)
      problems.push(`${record.id} had the effects ${names.join(', ') || 'none'}`);
    const { problem } = await runs.verify(record.id);
    if (problem !== null) problems.push(`${record.id}: ${problem}`);
  }
  const [waiting] = (await store.listRequests({ limit: 1 })).items;
  if (waiting) problems.push(`${waiting.id} still waits`);
  return {
    runs: records.length,
    effects: lines.length,
    duplicates: duplicates.length,
    acknowledgedDecisions: decisions.length,
    lostDecisions: lostDecisions.length,
    acknowledgedVotes: votes.length,
    lostVotes: lostVotes.length,
    granted: granted.size,
    lostStarts: lostStarts.length,
    askedAgain,
    unfinished: unfinished.length,
    problems,
  };
}

/** Lists the effects that happened twice, except idempotent ones. */
function duplicatesOf(lines: readonly Line[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { run, name, key } of lines) {
    if (name === 'look') continue;
    const place = `${name} of ${run} (${key})`;
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 1).map(([place]) => place);
}

async function all<T>(
  page: (cursor: {
    readonly cursor?: string;
  }) => Promise<{ readonly items: readonly T[]; readonly cursor: string | null }>,
): Promise<readonly T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const next: { readonly items: readonly T[]; readonly cursor: string | null } = await page(
      cursor === null ? {} : { cursor },
    );
    items.push(...next.items);
    cursor = next.cursor;
  } while (cursor !== null);
  return items;
}
