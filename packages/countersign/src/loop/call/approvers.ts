// Who let a call run, as its record says.

import { progressOf } from '../../core/authority/ballots.ts';
import { isFor, standingVotes } from '../../core/authority/tally.ts';
import { type Call, requestId, type State } from '../../core/run/call.ts';

/** Everyone whose vote or decision let the call run, the first first. */
export function approversOf(state: State, { id, pauses, decided }: Call): readonly string[] {
  const ids = Array.from({ length: pauses }, (_, index) => requestId(id, index + 1));
  const voters = ids.flatMap((request) => standingVotes(progressOf(state, request).votes).filter(isFor));
  const made = decided ? [...decided.earlier, decided.decision] : [];
  const deciders = made.filter(({ type }) => typeof type === 'string' && RUNS.has(type));
  const people = [...voters, ...deciders].map(({ by }) => by);
  return [...new Set(people.filter((person) => typeof person === 'string'))];
}

/** The decisions, and the notes of earlier ones, after which a body runs. */
const RUNS: ReadonlySet<string> = new Set(['approve', 'edit', 'restart']);
