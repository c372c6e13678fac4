// The door `countersign/ai-sdk` as a page has it: the same names, without the engine behind the gate.
import { UsageError } from '../core/errors.ts';
import type { gate as serverGate } from './gate.ts';

export { APPROVAL, getToolsRequiringConfirmation } from './approval.ts';
export { processToolCalls } from './process-tool-calls.ts';

/** What a page could let through, its user could, too. */
export const gate: typeof serverGate = () => {
  throw new UsageError('invalid-options', {}, 'A gate is for the server. Import the file that makes it there only.');
};
