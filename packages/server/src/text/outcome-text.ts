// What came of a call after the decision on its request, in words for terminals, mail and Slack.
import type { CallOutcome, NotRun } from 'countersign/request';
import { visibleLine } from './visible-text.ts';

/** As in `done: status: paid`, or `failed: The bank refused. It may have taken effect`; empty where the decision says all. */
export function outcomeText(outcome: CallOutcome | null | undefined): string {
  switch (outcome?.state) {
    case 'running':
      return 'running';
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
};
