// Virtual time: the events of a schedule in their order, the machines to which they belong, and the hash of what happened.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Chance } from './chance.ts';

/** The time at which every schedule begins: a Monday morning. */
export const BEGIN = Date.UTC(2030, 0, 7, 9);

/** The machine in whose name the current code runs. Undefined outside the simulation. */
export const here = new AsyncLocalStorage<Machine>();

/** What still has to happen. `machine`: it does not happen once that has died, and late if that is frozen. */
export type Event = {
  at: number;
  readonly order: number;
  readonly machine: Machine | undefined;
  readonly what: string;
  readonly happen: () => void;
  isCancelled: boolean;
};

/** One computer, or one process on it: with clocks of its own, which may be wrong. */
export class Machine {
  readonly name: string;
  readonly timeline: Timeline;
  isAlive = true;
  /** Until then nothing happens on it. */
  frozenUntil = 0;
  /** One of its clocks may be wrong: nothing on it could tell that both are. */
  clocks: 'right' | 'jumps' | 'sleeps' = 'right';
  /** How far its wall clock is ahead. */
  skew = 0;
  /** How long its monotonic clock did not run, because the computer slept. */
  slept = 0;

  constructor(name: string, timeline: Timeline) {
    this.name = name;
    this.timeline = timeline;
  }

  wallClock(): number {
    return Math.floor(BEGIN + this.timeline.now + this.skew);
  }

  steadyClock(): number {
    return 1_000 + this.timeline.now - this.slept;
  }
}

/** Once all that was started has come to rest: microtasks and ticks are real. */
const rest = globalThis.setImmediate;

/** How many of the last events a trace keeps. */
const KEPT = Number(process.env.KEPT ?? 4_000);

export class Timeline {
  readonly chance: Chance;
  now = 0;
  /** How many events have happened. */
  happened = 0;
  #order = 0;
  #hash = 0x811c9dc5;
  readonly #events: Event[] = [];
  /** Real work, for which time stands still. */
  readonly #held = new Set<Promise<unknown>>();
  readonly #trace: string[] = [];

  constructor(chance: Chance) {
    this.chance = chance;
  }

  /** Stands for everything that happened, in its order. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  /** The last events, the newest last. */
  get trace(): readonly string[] {
    return this.#trace.slice(-KEPT);
  }

  /** Writes down what happens. */
  note(what: string): void {
    const line = `${this.now.toFixed(3)} ${what}`;
    for (let i = 0; i < line.length; i += 1) this.#hash = Math.imul(this.#hash ^ line.charCodeAt(i), 0x01000193);
    this.#trace.push(line);
    if (this.#trace.length > 2 * KEPT) this.#trace.splice(0, KEPT);
  }

  after(ms: number, machine: Machine | undefined, what: string, happen: () => void): Event {
    const at = this.now + Math.max(0, ms);
    const event = { at, order: this.#order++, machine, what, happen, isCancelled: false };
    push(this.#events, event);
    return event;
  }

  /** Resolves after this time, in the context of the caller. */
  pause(ms: number, machine?: Machine): Promise<void> {
    return new Promise((resolve) => this.after(ms, machine, '', resolve));
  }

  /** No event happens until this is settled: for stores with real connections. */
  readonly hold = <T>(work: Promise<T>): Promise<T> => {
    const ended = () => void this.#held.delete(work);
    this.#held.add(work);
    work.then(ended, ended);
    return work;
  };

  /** Lets events happen until it is enough, or nothing is left, or the time is over. */
  async run(until: number, isEnough: () => boolean): Promise<void> {
    while (!isEnough()) {
      const event = pop(this.#events);
      if (!event) return;
      if (event.at > until) {
        push(this.#events, event);
        this.now = until;
        return;
      }
      if (this.#isDropped(event)) continue;
      this.now = Math.max(this.now, event.at);
      this.happened += 1;
      if (event.what !== '') this.note(`${event.machine?.name ?? '-'} ${event.what}`);
      if (event.machine) here.run(event.machine, event.happen);
      else event.happen();
      await new Promise((resolve) => rest(resolve));
      while (this.#held.size > 0) {
        await Promise.allSettled(this.#held);
        await new Promise((resolve) => rest(resolve));
      }
    }
  }

  #isDropped(event: Event): boolean {
    const { machine } = event;
    if (event.isCancelled || machine?.isAlive === false) return true;
    if (!machine || machine.frozenUntil <= event.at) return false;
    // The order among late events stays.
    event.at = machine.frozenUntil;
    push(this.#events, event);
    return true;
  }
}

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/** A heap: the next event is the first one. */
function push(events: Event[], event: Event): void {
  let place = events.push(event) - 1;
  while (place > 0) {
    const parent = (place - 1) >> 1;
    const above = events[parent] as Event;
    if (!isBefore(event, above)) break;
    events[place] = above;
    place = parent;
  }
  events[place] = event;
}

function pop(events: Event[]): Event | undefined {
  const first = events[0];
  const last = events.pop();
  if (!first || !last || events.length === 0) return first;
  let place = 0;
  for (;;) {
    let child = 2 * place + 1;
    if (child >= events.length) break;
    if (child + 1 < events.length && isBefore(events[child + 1] as Event, events[child] as Event)) child += 1;
    if (!isBefore(events[child] as Event, last)) break;
    events[place] = events[child] as Event;
    place = child;
  }
  events[place] = last;
  return first;
}
