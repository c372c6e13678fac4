// Maps finish reasons to those of the AI SDK.
import type { FinishReason } from '../../core/run/event.ts';

export const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  error: 'error',
  interrupted: 'tool-calls',
  blocked: 'content-filter',
  'max-turns': 'other',
  aborted: 'other',
  other: 'other',
};
