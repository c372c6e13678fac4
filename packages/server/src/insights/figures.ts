// Figures about how people decide, computed from settled requests. Pure: requests in, figures out.
import type { Insights } from '../schemas/insights.ts';
import type { CountedVote, SettledRequest } from './settled-request.ts';

/** What to count. Hours of the day are those of `timeZone`, UTC by default. */
export type Selection = {
  readonly tool?: string;
  readonly person?: string;
  readonly policy?: string;
  readonly timeZone?: string;
};

export type Figures = Insights['total'];
type DayFigures = Insights['days'][number];
type NamedFigures = Insights['tools'][number];
type QuickApprover = Insights['quick'][number];

/** What follows from the requests alone. */
export type InsightFigures = Omit<Insights, 'since' | 'isComplete' | 'grants'>;

/** A decision within this time was hardly read. */
export const QUICK_MS = 3_000;
/** Fewer approvals say little about a person. */
export const QUICK_APPROVALS = 10;

/** `days` are the days of the period, such as `2026-01-31`. */
export function figuresOf(
  all: readonly SettledRequest[],
  selection: Selection = {},
  days: readonly string[] = [],
): InsightFigures {
  const chosen = all.filter((request) => isSelected(request, selection));
  const selected = chosen.filter(({ observed }) => !observed);
  const [drills, requests] = [selected.filter(({ drill }) => drill), selected.filter(({ drill }) => !drill)];
  const votes = votesOf(requests, selection);
  const byPerson = groups(votes, ({ by }) => by);
  const hourOf = hourIn(selection.timeZone ?? 'UTC');
  return {
    total: requestFigures(requests),
    days: daysOf(requests, days),
    tools: named(
      groups(requests, ({ tool }) => tool),
      requestFigures,
    ),
    people: named(byPerson, voteFigures),
    policies: named(
      groups(
        requests.filter(({ policy }) => policy !== null),
        ({ policy }) => policy ?? '',
      ),
      requestFigures,
    ),
    hours: hoursOf(votes, hourOf),
    load: [...byPerson]
      .map(([name, own]) => ({ name, hours: hoursOf(own, hourOf), size: own.length }))
      .sort((a, b) => b.size - a.size || compare(a.name, b.name))
      .map(({ name, hours }) => ({ name, hours })),
    quick: [...byPerson].flatMap(([name, own]) => quickApprover(name, own)).sort((a, b) => b.approvals - a.approvals),
    drills: drillFigures(drills, selection),
    observed: chosen.length - selected.length,
    choices: choicesOf(all),
  };
}

function isSelected({ tool, policy, votes }: SettledRequest, selection: Selection): boolean {
  if (selection.tool !== undefined && selection.tool !== tool) return false;
  if (selection.policy !== undefined && selection.policy !== policy) return false;
  return selection.person === undefined || votes.some(({ by }) => by === selection.person);
}

function votesOf(requests: readonly SettledRequest[], { person }: Selection): readonly CountedVote[] {
  return requests.flatMap(({ votes }) => votes).filter(({ by }) => person === undefined || by === person);
}

function requestFigures(requests: readonly SettledRequest[]): Figures {
  const decided = requests.filter(({ outcome }) => outcome !== 'withdrawn' && outcome !== 'expired');
  const times = decided.map(({ createdAt, settledAt }) => Math.max(settledAt - createdAt, 0));
  return counted(
    requests.map(({ outcome }) => outcome),
    times,
  );
}

function voteFigures(votes: readonly CountedVote[]): Figures {
  return counted(
    votes.map(({ outcome }) => outcome),
    votes.map(({ afterMs }) => afterMs),
  );
}

function counted(outcomes: readonly SettledRequest['outcome'][], times: readonly number[]): Figures {
  const of = { approved: 0, edited: 0, rejected: 0, answered: 0, cancelled: 0, withdrawn: 0, expired: 0 };
  for (const outcome of outcomes) of[outcome] += 1;
  // Numbers of this kind are sorted without a function to compare them.
  const sorted = Float64Array.from(times).sort();
  return {
    requests: outcomes.length,
    decided: times.length,
    approved: of.approved + of.edited,
    edited: of.edited,
    rejected: of.rejected,
    answered: of.answered,
    cancelled: of.cancelled + of.withdrawn,
    expired: of.expired,
    medianMs: quantile(sorted, 0.5),
    p90Ms: quantile(sorted, 0.9),
  };
}

function daysOf(requests: readonly SettledRequest[], days: readonly string[]): readonly DayFigures[] {
  const byDay = Map.groupBy(requests, ({ settledAt }) => Math.floor(settledAt / DAY_MS));
  return days.map((day) => {
    const { medianMs: _median, p90Ms: _p90, ...counts } = requestFigures(byDay.get(Date.parse(day) / DAY_MS) ?? []);
    return { day, ...counts };
  });
}

/** The smallest of the sorted values that this share of them does not exceed, as the statistics of the stores have it. */
export function quantile(sorted: ArrayLike<number>, share: number): number | null {
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? null;
}

function quickApprover(name: string, votes: readonly CountedVote[]): readonly QuickApprover[] {
  const approvals = votes.filter(({ outcome }) => outcome === 'approved');
  if (approvals.length < QUICK_APPROVALS || approvals.some(({ seenMs }) => seenMs >= QUICK_MS)) return [];
  const medianMs =
    quantile(
      approvals.map(({ seenMs }) => seenMs).sort((a, b) => a - b),
      0.5,
    ) ?? 0;
  return [{ name, approvals: approvals.length, medianMs }];
}

/** A drill is caught by rejecting or cancelling it. */
function drillFigures(drills: readonly SettledRequest[], selection: Selection): InsightFigures['drills'] {
  const people = [...groups(votesOf(drills, selection), ({ by }) => by)].map(([name, votes]) => {
    const caught = votes.filter(({ outcome }) => outcome === 'rejected' || outcome === 'cancelled').length;
    return { name, caught, missed: votes.length - caught };
  });
  return {
    warned: drills.filter(({ warned }) => warned).length,
    expired: drills.filter(({ outcome }) => outcome === 'expired').length,
    people: people.sort((a, b) => compare(a.name, b.name)),
  };
}

function choicesOf(all: readonly SettledRequest[]): InsightFigures['choices'] {
  const distinct = (names: readonly string[]) => [...new Set(names)].sort(compare);
  return {
    tools: distinct(all.map(({ tool }) => tool)),
    people: distinct(all.flatMap(({ votes }) => votes.map(({ by }) => by))),
    policies: distinct(all.flatMap(({ policy }) => policy ?? [])),
  };
}

/** The largest group first. */
function named<T>(grouped: ReadonlyMap<string, readonly T[]>, figures: (items: readonly T[]) => Figures) {
  return [...grouped]
    .map(([name, items]): NamedFigures => ({ name, ...figures(items) }))
    .sort((a, b) => b.requests - a.requests || compare(a.name, b.name));
}

function groups<T>(items: readonly T[], nameOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(items, nameOf);
}

function hoursOf(votes: readonly CountedVote[], hourOf: (at: number) => number): readonly number[] {
  const hours = new Array<number>(24).fill(0);
  for (const { at } of votes) {
    const hour = hourOf(at);
    hours[hour] = (hours[hour] ?? 0) + 1;
  }
  return hours;
}

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;

/** The hour of the day. Offsets of time zones are whole quarters of an hour, so each quarter is looked up once. */
function hourIn(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { hour: 'numeric', hourCycle: 'h23', timeZone });
  const known = new Map<number, number>();
  return (at) => {
    const quarter = Math.floor(at / QUARTER_MS);
    const hour = known.get(quarter) ?? Number(format.format(quarter * QUARTER_MS));
    known.set(quarter, hour);
    return hour;
  };
}

/** By code units, the same in every locale. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
