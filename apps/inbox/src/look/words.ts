// What the cards say here.
import type { AppearanceProps } from '@countersign/react';

export const WORDS: NonNullable<AppearanceProps['words']> = {
  mayItRun: 'Approval needed',
  question: 'Question',
  unknownOutcome: 'Outcome unknown',
  unavailable: 'Cannot run any more',
  risk: (risk: string) => `${risk[0]?.toUpperCase()}${risk.slice(1)} risk`,
  deadline: 'Decide',
  onExpiry: {
    reject: '· Then it is rejected.',
    cancel: '· Then it is cancelled.',
    approve: '· Then it is approved.',
  },
};
