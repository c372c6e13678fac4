// What new events say came of calls, by the key of the request that a person decided.
import { roundId } from '../../core/authority/ballots.ts';
import type { RunEvent } from '../../core/run/event.ts';
import { type Outcomes, outcomesIn } from '../../core/run/outcomes.ts';
import type { State } from '../../core/run/state.ts';
import { requestKey } from './card.ts';

/** The key is that of the round that was decided. */
export function outcomesOf(runId: string, before: State, events: readonly RunEvent[]): Outcomes {
  const found = outcomesIn(before, events);
  if (found.size === 0) return found;
  const keyOf = (id: string): string => requestKey(runId, roundId(id, before.ballots?.get(id)?.round ?? 1));
  return new Map([...found].map(([id, outcome]) => [keyOf(id), outcome]));
}
