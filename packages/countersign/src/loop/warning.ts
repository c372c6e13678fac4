// Process warnings, for operators, about problems that no caller sees.
import type { ErrorCode } from '../core/errors.ts';

export function warn(message: string, code?: ErrorCode): void {
  // Other runtimes than Node may not have it.
  globalThis.process?.emitWarning?.(message, { type: 'CountersignWarning', ...(code !== undefined && { code }) });
}
