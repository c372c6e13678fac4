// Records a decision for `decide` and the inbox, and explains in plain words why one was not saved.
import type { DecideResult, DecisionInput } from 'countersign';
import { conflictText, type Recorded } from '../../text/decision-text.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { type CommandFailure, failureOf } from '../failure.ts';
import type { Backend, Card, DecideOptions } from './backend.ts';

export async function recordDecision(
  backend: Backend,
  card: Card,
  decision: DecisionInput,
  options: DecideOptions,
): Promise<DecideResult> {
  const leave = () => {
    process.stderr.write(
      `The decision on ${visibleLine(card.tool)} was sent, but not confirmed. Check it with: countersign show ${card.runId}\n`,
    );
    process.exit(130);
  };
  process.once('SIGINT', leave);
  try {
    return await backend.decide(card.id, decision, options);
  } catch (error) {
    throw explained(failureOf(error), backend.person);
  } finally {
    process.off('SIGINT', leave);
  }
}

function explained(failure: CommandFailure, person: string | undefined): CommandFailure {
  const { settlement, faults } = failure.details;
  if (failure.code === 'already-decided' && settlement)
    return failure.saying(conflictText(settlement as Recorded, person));
  if (failure.code !== 'invalid-resume' || !Array.isArray(faults) || faults.length === 0) return failure;
  // Only one request was decided, so its problem needs no id.
  return failure.saying(`Not saved: ${faults.map(({ problem }) => String(problem)).join('; ')}.`);
}
