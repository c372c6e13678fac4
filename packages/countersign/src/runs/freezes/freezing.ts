// Records that frozen calls wait, in place of their starts, in the append that would have recorded the starts.
import { type Freeze, isCovered } from '../../core/authority/freeze.ts';
import { callOf, type State } from '../../core/run/call.ts';
import { EVENT_VERSION, type RunEvent } from '../../core/run/event.ts';
import { subAgentState } from '../../core/run/sub-agents.ts';
import type { NewRun, StoredEvent } from '../port/store.ts';

type CallFrozen = RunEvent & { readonly type: 'call-frozen' };

/** A call starts with these events, or is kept from it. */
export function startsCalls(events: readonly RunEvent[]): boolean {
  for (const event of events) {
    if (event.type === 'call-started' || event.type === 'call-frozen') return true;
    if (event.type === 'call-went-on' && startsCalls(event.inside)) return true;
  }
  return false;
}

/** The freezes by which the event keeps calls from starting. */
export function freezesIn(event: RunEvent): readonly string[] {
  if (event.type === 'call-went-on') return event.inside.flatMap(freezesIn);
  return event.type === 'call-frozen' ? [event.freeze.id] : [];
}

export class Freezing {
  /** The events that were replaced, by what is in their place. */
  #originals: Map<RunEvent, StoredEvent> | undefined;
  /** What is in the place of the start of a call of a sub-agent. */
  #instead: WeakMap<RunEvent, CallFrozen> | undefined;
  #isAny = false;
  /** The freezes of limits have ended, so their calls go on in the same append. */
  #unfrozen: StoredEvent | undefined;

  frozen(start: RunEvent): CallFrozen | undefined {
    return this.#isAny ? this.#instead?.get(start) : undefined;
  }

  /** Replaces the starts that the freezes cover. `state`: the run after these events. Returns whether there was one. */
  freeze(events: StoredEvent[], freezes: readonly Freeze[], run: NewRun, state: State): boolean {
    const people = [run.startedBy, state.spokenBy];
    let isAny = false;
    for (const [index, event] of events.entries()) {
      const replaced = this.#replaced(event, freezes, state, { agents: [run.agent], people });
      if (replaced === event) continue;
      this.#originals ??= new Map();
      this.#originals.set(replaced, event);
      events[index] = replaced;
      isAny = true;
    }
    this.#isAny ||= isAny;
    const byLimits = events.flatMap((event) => freezesIn(this.#originals?.get(event) ?? event));
    if (byLimits.some((id) => freezes.every((freeze) => freeze.id !== id))) {
      this.#unfrozen = { v: EVENT_VERSION, type: 'run-unfrozen', at: events[0]?.at ?? 0 };
      events.push(this.#unfrozen);
    }
    return isAny || byLimits.length > 0;
  }

  /** Puts the starts back: another freeze is judged by. */
  restore(events: StoredEvent[]): void {
    const unfrozen = this.#unfrozen ? events.lastIndexOf(this.#unfrozen) : -1;
    if (unfrozen >= 0) events.splice(unfrozen, 1);
    this.#unfrozen = undefined;
    if (!this.#originals) return;
    for (const [index, event] of events.entries()) {
      const original = this.#originals.get(event);
      if (!original) continue;
      events[index] = original;
      this.#forget(original);
    }
    this.#originals.clear();
  }

  /** Makes the events those that were written when other freezes stood. Returns whether they differ. */
  adopt(events: StoredEvent[], written: readonly StoredEvent[]): boolean {
    if (written.length === events.length && written.every((event, index) => event === events[index])) return false;
    this.restore(events);
    for (const [index, event] of events.entries()) {
      const instead = written[index];
      if (instead) this.#keep(event, instead);
    }
    events.splice(0, events.length, ...written);
    return true;
  }

  /** The start in the first event has become the second. */
  #keep(original: RunEvent, written: RunEvent): void {
    if (original.type === 'call-went-on' && written.type === 'call-went-on') {
      for (const [index, event] of original.inside.entries()) {
        const instead = written.inside[index];
        if (instead) this.#keep(event, instead);
      }
    } else if (original.type === 'call-started' && written.type === 'call-frozen') {
      this.#instead ??= new WeakMap();
      this.#instead.set(original, written);
      this.#isAny = true;
    }
  }

  /** The starts in it are recorded after all. */
  #forget(event: RunEvent): void {
    this.#instead?.delete(event);
    if (event.type === 'call-went-on') for (const inside of event.inside) this.#forget(inside);
  }

  #replaced<E extends RunEvent>(
    event: E,
    freezes: readonly Freeze[],
    state: State,
    within: { readonly agents: readonly string[]; readonly people: readonly (string | null | undefined)[] },
  ): E {
    if (event.type !== 'call-started' && event.type !== 'call-went-on') return event;
    const call = callOf(state, event.callId);
    if (event.type === 'call-went-on') {
      if (!call) return event;
      const inner = { ...within, agents: [...within.agents, call.name] };
      const inside = event.inside.map((one) => this.#replaced(one, freezes, subAgentState(call), inner));
      return inside.every((one, index) => one === event.inside[index]) ? event : { ...event, inside };
    }
    // A call that cannot be found counts as covered.
    const found = freezes.find((freeze) => !call || isCovered(freeze, { tool: call.name, ...within }));
    if (!found) return event;
    const { id, reason, by, at } = found;
    const told = {
      v: EVENT_VERSION,
      type: 'call-frozen',
      callId: event.callId,
      freeze: { id, reason, by, at },
    } as const;
    const frozen = { ...told, ...(event.at !== undefined && { at: event.at }) };
    this.#instead ??= new WeakMap();
    this.#instead.set(event, frozen);
    return frozen as RunEvent as E;
  }
}
