// What a tool asks before its body runs: its approval, or the question that it is.
import { messageOf } from '../../core/errors.ts';
import type { Approval, ApprovalContext, ToolDefinition } from './definition.ts';

export async function requestPayload({ requestMetadata }: ToolDefinition, input: unknown): Promise<unknown> {
  return typeof requestMetadata === 'function' ? await requestMetadata(input) : requestMetadata;
}

/** Returns `false` if the call may run; otherwise what the person is shown. An unclear answer means: ask. */
export async function askGate(
  { name, needsApproval }: ToolDefinition,
  input: unknown,
  ctx: ApprovalContext,
): Promise<false | Approval | true> {
  if (typeof needsApproval !== 'function') return needsApproval;
  try {
    const verdict = await needsApproval(input, ctx);
    if (verdict === false) return false;
    return typeof verdict === 'object' && verdict !== null ? verdict : true;
  } catch (error) {
    return { message: `Could not determine whether ${name} needs approval: ${messageOf(error)}` };
  }
}
