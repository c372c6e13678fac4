// How a request ended: one word for it, and its icon. Colour alone never tells it.
import type { CardDecision, RequestCard } from 'countersign/ui';
import type { ReactNode } from 'react';
import { useNamed, type Words } from '../appearance.tsx';

/** `edited`: approved with changes. `expired`: decided by the deadline. `withdrawn`: no longer pending, without a decision. */
export type Outcome =
  | 'approved'
  | 'edited'
  | 'continued'
  | 'answered'
  | 'rejected'
  | 'cancelled'
  | 'expired'
  | 'withdrawn';

/** Undefined while the request is pending. */
export function outcomeOf({ status, decision }: Pick<RequestCard, 'status' | 'decision'>): Outcome | undefined {
  if (decision !== null) return outcomeOfDecision(decision);
  return status === 'decided' ? 'withdrawn' : undefined;
}

type Decided = Pick<CardDecision, 'type'> & Partial<CardDecision>;

export function outcomeOfDecision(decision: Decided): Outcome {
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
    case 'cancel':
      return 'cancelled';
  }
}

/** The engine decides an expired request as `deadline`, without a channel. */
const isExpired = ({ by, channel }: Decided): boolean => by === 'deadline' && channel === null;

/** “Approved with changes”, “Expired, rejected automatically”. */
export function outcomeText(decision: Decided | null, words: Words): string {
  if (decision === null) return words.withdrawn;
  const outcome = outcomeOfDecision(decision);
  if (outcome === 'expired') return words.expired[decision.type as keyof Words['expired']] ?? words.deadlinePassed;
  return outcome === 'edited' ? words.decidedWithChanges : words.decided[decision.type];
}

const STROKE = { fill: 'none', stroke: 'currentColor', strokeWidth: 2.5, strokeLinecap: 'round' } as const;

const SHAPES: Readonly<Record<Outcome, ReactNode>> = {
  approved: <path d="m6 12.5 4 4 8-9" />,
  edited: <path d="M5 19h4L19 9l-4-4L5 15zm8-12 4 4" />,
  continued: <path d="M8 6v12l9-6z" />,
  answered: <path d="M5 6h14v10h-8l-4 4v-4H5z" />,
  rejected: <path d="m7 7 10 10M17 7 7 17" />,
  cancelled: <path d="M6 12h12" />,
  expired: <path d="M12 6v6l4 3M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z" />,
  withdrawn: <path d="M9 7l-5 5 5 5m-5-5h16" />,
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
