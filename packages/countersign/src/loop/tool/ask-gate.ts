// What a tool asks before its body runs: its approval, or the request that it is.
import { messageOf } from '../../core/errors.ts';
import type { Approval, ApprovalContext, ToolDefinition } from './definition.ts';

export async function requestPayload({ requestMetadata }: ToolDefinition, input: unknown): Promise<unknown> {
  return typeof requestMetadata === 'function' ? await requestMetadata(input) : requestMetadata;
}

/** What the gate says: `false` if the call may run; otherwise what the person is shown. `failure`: why it could say nothing. */
type GateSays = { readonly said: false | Approval | true; readonly failure?: string };

/** An unclear answer means: ask. */
export async function askGate(
  { name, needsApproval }: ToolDefinition,
  input: unknown,
  ctx: ApprovalContext,
): Promise<GateSays> {
  if (typeof needsApproval !== 'function') return { said: needsApproval };
  try {
    const verdict = await needsApproval(input, ctx);
    if (verdict === false) return { said: false };
    return { said: typeof verdict === 'object' && verdict !== null ? verdict : true };
  } catch (error) {
    const failure = `Could not determine whether ${name} needs approval: ${messageOf(error)}`;
    return { said: { message: failure }, failure };
  }
}
