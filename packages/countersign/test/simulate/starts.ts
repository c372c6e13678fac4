// The calls that start in events, in sub-agents too.
import type { RunEvent } from '../../src/core/run/event.ts';

export function startsIn(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === 'call-started') return [event.callId];
    return event.type === 'call-went-on' ? startsIn(event.inside) : [];
  });
}
