// The entry point `countersign/ai-sdk` for browsers: the same names, without the engine.
import { UsageError } from '../../core/errors.ts';
import type { gateTools as serverGate } from './gate-tools.ts';

export { APPROVAL, getToolsRequiringConfirmation } from './approval.ts';
export { processToolCalls } from './process-tool-calls.ts';

/** A gate in a page would be under the control of its user. */
export const gateTools: typeof serverGate = () => {
  throw new UsageError('invalid-options', {}, '`gateTools` only works on the server. Import it in server code only.');
};
