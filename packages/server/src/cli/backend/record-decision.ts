// Records a decision for `decide` and the inbox, and explains in plain words why one was not saved.
import type { Decided, DecisionInput } from 'countersign';
import { CommandFailure, failureOf } from '../failure.ts';
import { conflictText, type Recorded } from '../print/decision-text.ts';
import { visibleLine } from '../print/visible-text.ts';
import type { Backend, Card, DecideOptions } from './backend.ts';

export async function recordDecision(
  backend: Backend,
  card: Card,
  decision: DecisionInput,
  options: DecideOptions,
): Promise<Decided> {
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
  if (failure.code === 'invalid-resume') return withoutIds(failure);
  const settlement = failure.details.settlement as Recorded | null | undefined;
  if (failure.code !== 'already-decided' || !settlement) return failure;
  const { exitCode, code, details, cause } = failure;
  return new CommandFailure(exitCode, code, conflictText(settlement, person), { details, cause });
}

/** Only one request was decided, so its problem needs no id. */
function withoutIds(failure: CommandFailure): CommandFailure {
  const faults = Array.isArray(failure.details.faults) ? failure.details.faults : [];
  const problems = faults.map(({ problem }: { readonly problem?: unknown }) => String(problem)).join('; ');
  if (problems === '') return failure;
  const { exitCode, code, details, cause } = failure;
  return new CommandFailure(exitCode, code, `Not saved: ${problems}.`, { details, cause });
}
