// What came of a call after the decision on its request. Every card, list, mail and export shows it, and nothing else derives it.

import type { Frozen } from '../authority/freeze.ts';
import { isObject, type Json } from '../json.ts';

/** What came of the call that a request was about, once the request is settled. Times are in milliseconds. */
export type CallOutcome =
  /** It may run, or it runs. `startsAt`: it waits until then, and can be recalled. */
  | { readonly state: 'running'; readonly startsAt?: number }
  /** A freeze keeps it from starting: by whom, why, and since when. */
  | ({ readonly state: 'frozen' } & Frozen)
  /** `text`: its result in one line; null if there is nothing to say. */
  | { readonly state: 'done'; readonly at: number | null; readonly text: string | null }
  /** `mayHaveActed`: it may have taken effect before it failed. */
  | { readonly state: 'failed'; readonly at: number | null; readonly text: string; readonly mayHaveActed: boolean }
  /** It was started, and nobody knows whether it took effect. */
  | { readonly state: 'unknown'; readonly at: number | null }
  | { readonly state: 'not-run'; readonly at: number | null; readonly why: NotRun };

/**
 * Why a call did not run. `changes-asked`: a person sent it back with a comment. `edited`: someone proposed other input, which a
 * request of its own asks about. `changed`: what the tool said would happen has changed, or its tool is gone, so it asks again.
 * `stopped`: its run was ended first. `recalled`: a person recalled it after it was approved, before it started.
 */
export type NotRun =
  | 'rejected'
  | 'cancelled'
  | 'changes-asked'
  | 'expired'
  | 'withdrawn'
  | 'edited'
  | 'changed'
  | 'stopped'
  | 'recalled';

/** The parts of a settled request that its outcome comes from. */
export type Settled = {
  readonly kind: string;
  /** The body continues with the answer. */
  readonly continues: boolean;
  readonly settledAt: number | null;
  readonly settlement: {
    readonly decision?: Json | undefined;
    readonly by?: string | null | undefined;
    readonly channel?: string | null | undefined;
    readonly note?: string | null | undefined;
    /** A grant let the call run, so nobody was asked. */
    readonly granted?: unknown;
    /** A rule would have asked, and only observed. */
    readonly observed?: unknown;
  } | null;
  /** What the record of the call said last; null if nothing yet. */
  readonly recorded: CallOutcome | null;
};

/** Null while the request is pending, and for an answer that nothing runs with. */
export function outcomeOf({ kind, continues, settledAt, settlement, recorded }: Settled): CallOutcome | null {
  if (settledAt === null || recorded) return recorded;
  const { decision, by, channel, note, granted, observed } = settlement ?? {};
  if (granted ?? observed) return { state: 'running' };
  const type = isObject(decision) ? decision.type : undefined;
  const notRun = (why: NotRun): CallOutcome => ({ state: 'not-run', at: settledAt, why });
  switch (type) {
    case 'approve':
    case 'restart':
      return { state: 'running' };
    case 'respond':
      if (continues) return { state: 'running' };
      return null;
    case 'reject':
    case 'cancel':
      if (kind === 'recall') return notRun('recalled');
      if (kind === 'doubt') return { state: 'unknown', at: settledAt };
      if (by === 'deadline' && channel === null) return notRun('expired');
      return notRun(type === 'reject' ? 'rejected' : 'cancelled');
    case 'revise':
      return notRun('changes-asked');
    default:
      return notRun(note === 'edited' ? 'edited' : 'withdrawn');
  }
}

const LONGEST_LINE = 200;
const MOST_FIELDS = 4;

/** A result in one line: a text as it is, and the plain fields of an object. Null if neither says anything. */
export function lineOf(output: Json): string | null {
  if (typeof output === 'string') return shortened(output.trim().split('\n', 1)[0] ?? '');
  if (typeof output === 'number' || typeof output === 'boolean') return String(output);
  if (!isObject(output) || Array.isArray(output)) return null;
  const plain = Object.entries(output).filter(
    ([, value]) => value !== null && typeof value !== 'object' && value !== '',
  );
  return shortened(
    plain
      .slice(0, MOST_FIELDS)
      .map(([name, value]) => `${name}: ${String(value)}`)
      .join(', '),
  );
}

export function shortened(text: string): string | null {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return null;
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}
