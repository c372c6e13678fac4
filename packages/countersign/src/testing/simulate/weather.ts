// The faults of a schedule: how often each happens. Each schedule has other ones, and some have none.
import type { Chance } from './chance.ts';

export type Weather = {
  /** A process dies before or after a call to the store or an effect. */
  readonly crash: number;
  /** A process, or its computer, stands still after an answer of the store; then for this long. */
  readonly freeze: number;
  readonly freezeMs: number;
  /** A call fails before it took effect. */
  readonly lostRequest: number;
  /** A call fails after it took effect. */
  readonly lostAnswer: number;
  /** A call takes seconds. */
  readonly slow: number;
  /** A change is announced late, twice or never. */
  readonly lateNews: number;
  readonly doubledNews: number;
  readonly lostNews: number;
  /** How far the clocks of processes are off, and how often one jumps, per second. */
  readonly skewMs: number;
  readonly jump: number;
  /** How often a process is cut off from the store, per second. */
  readonly partition: number;
  /** How often all processes are replaced by those of another release, per second. */
  readonly deploy: number;
  /** How often a model, a channel or a directory of people fails. */
  readonly failing: number;
  /** How long a call to the store takes. */
  readonly networkMs: number;
};

export const CALM: Weather = {
  crash: 0,
  freeze: 0,
  freezeMs: 0,
  lostRequest: 0,
  lostAnswer: 0,
  slow: 0,
  lateNews: 0,
  doubledNews: 0,
  lostNews: 0,
  skewMs: 0,
  jump: 0,
  partition: 0,
  deploy: 0,
  failing: 0,
  networkMs: 2,
};

/** A schedule with a few kinds of faults finds what one with all of them hides. */
export function weatherOf(chance: Chance, leaseMs: number): Weather {
  const some = (likely: number, most: number) => (chance.is(likely) ? most * chance.pick([0.1, 0.3, 1]) : 0);
  return {
    crash: some(0.7, 0.015),
    freeze: some(0.5, 0.06),
    freezeMs: leaseMs * chance.pick([0.4, 1.2, 2.5]),
    lostRequest: some(0.4, 0.1),
    lostAnswer: some(0.4, 0.1),
    slow: some(0.4, 0.1),
    lateNews: some(0.4, 0.5),
    doubledNews: some(0.4, 0.5),
    lostNews: some(0.4, 0.9),
    skewMs: some(0.4, 600_000),
    jump: some(0.3, 0.1),
    partition: some(0.3, 0.1),
    deploy: some(0.3, 0.05),
    failing: some(0.4, 0.2),
    networkMs: chance.pick([0, 2, 2, 20]),
  };
}
