// Maps finish reasons to those of the AI SDK.
import type { FinishReason } from '../../core/event.ts';

export function finishReason(reason: FinishReason): string {
  switch (reason) {
    case 'interrupted':
      return 'tool-calls';
    case 'blocked':
      return 'content-filter';
    case 'stop':
    case 'length':
    case 'error':
      return reason;
    case 'max-turns':
    case 'aborted':
    case 'other':
      return 'other';
  }
}
