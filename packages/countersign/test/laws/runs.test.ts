// The laws of runs: a run is its events, and the timeline says what the state says.
import fc from 'fast-check';
import { expect } from 'vitest';
import { newState } from '../../src/core/messages/load-messages.ts';
import { pendingRequestId } from '../../src/core/run/call.ts';
import { next } from '../../src/core/run/next.ts';
import { fold, type State, waitingCalls } from '../../src/core/run/state.ts';
import { createTimeline, type TimelineEntry, timelineOf } from '../../src/core/run/timeline.ts';
import { law } from './law.ts';
import { randomRun, shownState } from './random-runs.ts';

const LIMITS = { maxTurns: 5 };

law(
  'folding again gives the same state, from the start and from any state between, and from events that were stored',
  fc.property(randomRun, fc.nat(), ({ events, states }, place) => {
    const last = shownState(states.at(-1) as State);
    const at = place % states.length;
    expect(shownState(events.slice(at).reduce(fold, states[at] as State))).toEqual(last);
    const stored = JSON.parse(JSON.stringify(events)) as typeof events;
    expect(shownState(stored.reduce(fold, newState()))).toEqual(last);
  }),
  150,
);
law(
  'an earlier state never changes, whatever is folded into it later, and two futures do not mix',
  fc.property(randomRun, fc.nat(), ({ events, states }, place) => {
    const at = place % states.length;
    const state = states[at] as State;
    const before = shownState(events.slice(0, at).reduce(fold, newState()));
    expect(shownState(state)).toEqual(before);
    const spoke = { v: 1, type: 'user-spoke', messages: [{ role: 'user', content: [{ text: 'other' }] }] } as const;
    const other = fold(state, spoke);
    expect(shownState(state)).toEqual(before);
    events.slice(at).reduce(fold, state);
    expect(shownState(fold(state, spoke))).toEqual(shownState(other));
  }),
  150,
);
law(
  'the timeline and the state agree on what waits, what has ended and how',
  fc.property(randomRun, ({ events, states }) => {
    const read = createTimeline();
    const waits = new Map<string, string>();
    const results = new Map<string, unknown>();
    for (const [index, event] of events.entries()) {
      for (const entry of read(event)) {
        if (entry.type === 'wait-started') waits.set(entry.call.id, entry.request.id);
        if (entry.type === 'wait-ended') {
          expect(entry.request?.id).toBe(waits.get(entry.call.id));
          waits.delete(entry.call.id);
        }
        if (entry.type === 'call-ended' && entry.result) results.set(entry.call.id, entry.result);
      }
      const following = events[index + 1];
      // A rejection and the end of its call are recorded together.
      if (event.type === 'decision-made' && following?.type === 'call-settled') continue;
      const state = states[index + 1] as State;
      expect(Object.fromEntries(waits)).toEqual(
        Object.fromEntries(waitingCalls(state).map((call) => [call.id, pendingRequestId(call)])),
      );
      for (const { id, phase } of state.turn?.calls ?? [])
        expect(results.get(id)).toEqual(phase.at === 'settled' ? phase.result : undefined);
    }
  }),
);
law(
  'the timeline of a run is the timeline of its start and what came after, and no time runs backwards',
  fc.property(randomRun, fc.nat(), ({ events }, place) => {
    const all = timelineOf(events);
    const start = timelineOf(events.slice(0, place % (events.length + 1)));
    expect(all.slice(0, start.length)).toEqual(start);
    for (const entry of all as readonly (TimelineEntry & { readonly startedAt?: number | null })[])
      expect(entry.startedAt ?? 0).toBeLessThanOrEqual(entry.at);
  }),
);
law(
  'no body starts before what the gate asked is answered, and a call that has begun is never started again unasked',
  fc.property(randomRun, ({ states }) => {
    for (const state of states) {
      const step = next(state, LIMITS);
      if (step.do === 'run-calls')
        for (const { phase } of step.calls) expect(['open', 'cleared', 'sub-agent-held']).toContain(phase.at);
      const begun = state.turn?.calls.filter(({ phase }) => phase.at === 'started') ?? [];
      if (begun.length > 0) expect(step).toEqual({ do: 'settle-doubt', calls: begun });
      const waits = waitingCalls(state).length;
      if (waits > 0) expect(['wait', 'run-calls', 'settle-doubt']).toContain(step.do);
      if (step.do === 'wait') expect(waits).toBeGreaterThan(0);
    }
  }),
);
