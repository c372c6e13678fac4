// What came of a call after the decision on its request, in words for terminals, mail and Slack.
import type { CallOutcome, NotRun } from 'countersign/request';
import { visibleLine } from './visible-text.ts';

/** As in `done: status: paid`, or `failed: The bank refused. It may have taken effect`; empty where the decision says all. */
export function outcomeText(outcome: CallOutcome | null | undefined): string {
  switch (outcome?.state) {
    case 'running':
      return (outcome.startsAt ?? 0) > Date.now() ? 'waits to start, and can be recalled' : 'running';
    case 'frozen':
      return `frozen${outcome.by === null ? '' : ` by ${visibleLine(outcome.by)}`}: ${visibleLine(outcome.reason)}`;
    case 'done':
      return outcome.text === null ? 'done' : `done: ${visibleLine(outcome.text)}`;
    case 'failed':
      return `failed: ${visibleLine(outcome.text)}${outcome.mayHaveActed ? ' It may have taken effect.' : ''}`;
    case 'unknown':
      return 'it was started, and nobody knows yet whether it took effect';
    case 'not-run':
      return NOT_RUN[outcome.why] ?? '';
    default:
      return '';
  }
}

const NOT_RUN: Readonly<Partial<Record<NotRun, string>>> = {
  changed: 'not run: what would happen has changed, so it was asked again',
  edited: 'not run: it was asked again, with the changes',
  stopped: 'not run: its run was stopped first',
  recalled: 'not run: it was recalled',
};

/** The state of a call as a headline. */
export const OUTCOME_WORDS = {
  running: 'Running',
  frozen: 'Frozen',
  done: 'Done',
  failed: 'Failed',
  unknown: 'Outcome unknown',
  'not-run': 'Not run',
} as const satisfies Record<CallOutcome['state'], string>;

/** Why a call did not run, beside the headline. */
export const WHY_NOT_RUN = {
  changed: 'What would happen has changed, so it was asked again.',
  edited: 'It was asked again, with the changes.',
  stopped: 'Its run was stopped first.',
  recalled: 'It was recalled before it started.',
} as const;

export const MAY_HAVE_ACTED = 'It may have taken effect before it failed. Check before you ask for it again.';
export const UNKNOWN_NEXT =
  'It was started, and nobody knows yet whether it took effect. A person is asked to check. It does not run again before that.';
