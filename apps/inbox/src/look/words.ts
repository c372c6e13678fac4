// The inbox's own texts on cards.
import type { AppearanceProps } from '@countersign/react';

export const WORDS: NonNullable<AppearanceProps['words']> = {
  mayItRun: 'Approval needed',
  question: 'Question',
  unknownOutcome: 'Outcome unknown',
  unavailable: 'Can no longer run',
  risk: (risk: string) => `${risk[0]?.toUpperCase()}${risk.slice(1)} risk`,
};
