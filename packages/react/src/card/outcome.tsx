// How a request ended, and what came of its call: a word for each, and one icon. Colour alone never tells it.
import type { CallOutcome } from 'countersign/request';
import type { CardDecision, RequestCard } from 'countersign/ui';
import type { ReactNode } from 'react';
import { useNamed, type Words } from '../appearance.tsx';

/**
 * `edited`: approved with changes. `expired`: decided by the deadline. `withdrawn`: no longer pending, without a decision.
 * `changes-asked`: sent back with a comment. `proposed`: someone proposed other input, which a request of its own asks about.
 * `granted`: a grant or a rule let the call run, and nobody was asked. `observed`: it ran, and a rule would have asked.
 */
export type DecisionOutcome =
  | 'approved'
  | 'edited'
  | 'continued'
  | 'answered'
  | 'rejected'
  | 'changes-asked'
  | 'cancelled'
  | 'expired'
  | 'withdrawn'
  | 'proposed'
  | 'granted'
  | 'observed';

/** What people should see first: a call that was approved and has failed is not simply approved. */
export type Outcome = DecisionOutcome | 'running' | 'frozen' | 'failed' | 'unknown' | 'not-run';

type Decidable = Pick<RequestCard, 'status' | 'decision' | 'grant' | 'rule' | 'observed'> & {
  readonly outcome?: CallOutcome | null;
};

/** Undefined while the request is pending. */
export function outcomeOf(request: Decidable): Outcome | undefined {
  const { outcome } = request;
  const decided = decisionOutcome(request);
  if (decided === undefined || !outcome || outcome.state === 'done') return decided;
  if (outcome.state !== 'not-run') return outcome.state;
  return NEWS.has(outcome.why) ? 'not-run' : decided;
}

/** The decision does not say it. */
const NEWS: ReadonlySet<string> = new Set(['changed', 'stopped', 'recalled']);

/** What was decided, whatever came of it. Undefined while the request is pending. */
export function decisionOutcome({
  status,
  decision,
  outcome,
  grant,
  rule,
  observed,
}: Decidable): DecisionOutcome | undefined {
  if (rule || grant?.is === 'used') return 'granted';
  if (observed) return 'observed';
  if (outcome?.state === 'not-run' && outcome.why === 'edited') return 'proposed';
  if (decision !== null) return outcomeOfDecision(decision);
  return status === 'decided' ? 'withdrawn' : undefined;
}

/** What came of the call, in one line; undefined where the decision says all. */
export function cameText(outcome: CallOutcome | null | undefined, words: Words): string | undefined {
  switch (outcome?.state) {
    case 'running':
      return (outcome.startsAt ?? 0) > Date.now() ? words.waitsToStart : words.running;
    case 'frozen':
      return words.frozen(outcome.reason, outcome.by);
    case 'done':
      return words.done(outcome.text);
    case 'failed':
      return words.failed(outcome.text, outcome.mayHaveActed);
    case 'unknown':
      return words.outcomeIsUnknown;
    case 'not-run':
      return words.notRun[outcome.why as keyof Words['notRun']];
    default:
      return undefined;
  }
}

type Decided = Pick<CardDecision, 'type'> & Partial<CardDecision>;

export function outcomeOfDecision(decision: Decided): DecisionOutcome {
  if (isExpired(decision)) return 'expired';
  switch (decision.type) {
    case 'approve':
      return 'edit' in decision ? 'edited' : 'approved';
    case 'restart':
      return 'continued';
    case 'respond':
      return 'answered';
    case 'reject':
      return 'rejected';
    case 'revise':
      return 'changes-asked';
    case 'cancel':
      return 'cancelled';
  }
}

/** The engine decides an expired request as `deadline`, without a channel. */
const isExpired = ({ by, channel }: Decided): boolean => by === 'deadline' && channel === null;

/** “Approved with changes”, “Expired, rejected automatically”. */
export function outcomeText(request: Decidable & Pick<RequestCard, 'kind'>, words: Words): string {
  const { decision } = request;
  if (request.rule) return words.allowedByRule;
  if (request.grant?.is === 'used') return words.granted;
  if (request.observed) return words.observed(request.observed.why);
  if (decisionOutcome(request) === 'proposed') return words.decidedProposed;
  if (decision === null) return words.withdrawn;
  const outcome = outcomeOfDecision(decision);
  if (outcome === 'expired') return words.expired[decision.type as keyof Words['expired']] ?? words.deadlinePassed;
  if (request.kind === 'recall' && outcome === 'rejected') return words.decidedRecall;
  return outcome === 'edited' ? words.decidedWithChanges : words.decided[decision.type];
}

const STROKE = { fill: 'none', stroke: 'currentColor', strokeWidth: 2.5, strokeLinecap: 'round' } as const;

const SHAPES: Readonly<Record<Outcome, ReactNode>> = {
  approved: <path d="m6 12.5 4 4 8-9" />,
  edited: <path d="M5 19h4L19 9l-4-4L5 15zm8-12 4 4" />,
  continued: <path d="M8 6v12l9-6z" />,
  answered: <path d="M5 6h14v10h-8l-4 4v-4H5z" />,
  rejected: <path d="m7 7 10 10M17 7 7 17" />,
  'changes-asked': <path d="M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3" />,
  cancelled: <path d="M6 12h12" />,
  expired: <path d="M12 6v6l4 3M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z" />,
  withdrawn: <path d="M9 7l-5 5 5 5m-5-5h16" />,
  proposed: <path d="M5 19h4L19 9l-4-4L5 15zm8-12 4 4" />,
  granted: <path d="M4 7l6 5-6 5zm8 0 6 5-6 5z" />,
  observed: <path d="M3 12s3.500-6 9-6 9 6 9 6-3.500 6-9 6-9-6-9-6zm9 .5v-1" />,
  running: <path d="M12 4a8 8 0 1 1-8 8" />,
  frozen: <path d="M12 3v18M4.200 7.500l15.600 9M4.200 16.500l15.600-9" />,
  failed: <path d="M12 5v9m0 4.5v.5" />,
  unknown: <path d="M8.5 9a3.5 3.5 0 1 1 5 3.2c-1 .5-1.500 1.300-1.500 2.300m0 4v.5" />,
  'not-run': <path d="M5.800 5.800l12.400 12.400M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z" />,
};

/** The sign of an outcome. The text beside it says the same. */
export function OutcomeIcon({ outcome }: { readonly outcome: Outcome }) {
  const named = useNamed();
  return (
    <svg {...named('outcome-icon')} data-outcome={outcome} viewBox="0 0 24 24" aria-hidden="true">
      <g {...STROKE} strokeLinejoin="round">
        {SHAPES[outcome]}
      </g>
    </svg>
  );
}
