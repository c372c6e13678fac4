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

export class Freezing {
  /** The events that were replaced, by what is in their place. */
  #originals: Map<RunEvent, StoredEvent> | undefined;
  /** What is in the place of the start of a call of a sub-agent. */
  #instead: WeakMap<RunEvent, CallFrozen> | undefined;
  #isAny = false;

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
    return isAny;
  }

  /** Puts the starts back: another freeze is judged by. */
  restore(events: StoredEvent[]): void {
    if (!this.#originals) return;
    for (const [index, event] of events.entries()) {
      const original = this.#originals.get(event);
      if (original) events[index] = original;
    }
    this.#originals.clear();
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
