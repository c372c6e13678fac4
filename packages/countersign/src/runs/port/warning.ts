// What operators have to know and no caller can be told: a warning of the process.
import type { ErrorCode } from '../../core/errors.ts';

export function warn(message: string, code?: ErrorCode): void {
  process.emitWarning(message, { type: 'CountersignWarning', ...(code !== undefined && { code }) });
}
