// Deciding in the MCP client, where the operator allows it: a form in the client, and the decision in its answer.
import type { Countersign, DecisionInput } from 'countersign';
import { isRecord, metaOf, type Params, type RpcRequest } from './messages.ts';

const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
const MOST_CHARACTERS = 4_000;

/** The form for a call, as the parameters of `elicitation/create`. */
export function decisionForm(tool: string, input: Params): Params {
  const shown = JSON.stringify(input, null, 2).slice(0, MOST_CHARACTERS);
  return {
    mode: 'form',
    message: `Run ${tool} with these arguments?\n${shown}`,
    requestedSchema: {
      type: 'object',
      properties: { approve: { type: 'boolean', title: 'Approve', default: false } },
      required: ['approve'],
    },
  };
}

/** Whether the client of a request since 2026-07-28 shows forms. */
export function showsForms({ params }: RpcRequest): boolean {
  const capabilities = metaOf(params)[CAPABILITIES_KEY];
  return isRecord(capabilities) && isRecord(capabilities.elicitation);
}

/** Records the decision in an answer. Cancelling the form decides nothing. Somebody may have decided before. */
export async function decideFrom(ai: Countersign, id: string, by: string, answer: unknown): Promise<void> {
  const decision = decisionIn(answer);
  if (!decision) return;
  await ai.runs
    .decide(id, decision, { by, channel: 'mcp', drive: false })
    .catch((error: { readonly code?: string }) => {
      if (error.code !== 'already-decided') throw error;
    });
}

function decisionIn(answer: unknown): DecisionInput | undefined {
  if (!isRecord(answer)) return undefined;
  if (answer.action === 'accept' && isRecord(answer.content) && answer.content.approve === true)
    return { type: 'approve' };
  if (answer.action === 'accept' || answer.action === 'decline')
    return { type: 'reject', reason: 'rejected in the client' };
  return undefined;
}
