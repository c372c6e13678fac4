// Deciding in the MCP client, where the operator allows it: the whole card in a form, and a decision bound to exactly that card.
import type { Countersign, DecisionInput } from 'countersign';
import { wholeCard } from '../access.ts';
import { isRecord } from '../is-record.ts';
import { decisionCard } from '../mcp/decision-card.ts';
import { capabilitiesIn, type Params, type RpcRequest } from './messages.ts';

/** A form as the parameters of `elicitation/create`. `digest` is that of the card; a form without it decides nothing. */
export type DecisionForm = { readonly params: Params; readonly digest?: string };

/** The form for a request. If its card does not fit, or the person may not decide it here, the form says so. */
export async function decisionForm(ai: Countersign, id: string, by: string): Promise<DecisionForm> {
  const card = wholeCard(ai, await ai.runs.request(id), { person: by, mayDecide: true });
  const mayDecide = card.mayDecide && !card.policies.some(({ signed }) => signed);
  const message = mayDecide ? decisionCard(card, { decision: 'approve' }) : undefined;
  if (message === undefined) return { params: formOf(`${ELSEWHERE} The request is ${id}.`, {}) };
  return { params: formOf(message, APPROVE), digest: card.digest };
}

const ELSEWHERE = 'A request for approval cannot be decided in this client. It waits in the inbox.';
const APPROVE = { approve: { type: 'boolean', title: 'Approve', default: false } };

const formOf = (message: string, properties: Params): Params => ({
  mode: 'form',
  message,
  requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
});

/** Whether the client of a request since 2026-07-28 shows forms. */
export const showsForms = (request: RpcRequest): boolean => isRecord(capabilitiesIn(request).elicitation);

/** Records the decision in an answer, if the card is still the one with this digest. Cancelling the form decides nothing. */
export async function decideFrom(
  ai: Countersign,
  { id, by, digest }: { readonly id: string; readonly by: string; readonly digest: string | undefined },
  answer: unknown,
): Promise<void> {
  const decision = digest === undefined ? undefined : decisionIn(answer);
  if (!decision || digest === undefined) return;
  await ai.runs
    .decide(id, decision, { by, digest, channel: 'mcp', drive: false })
    .catch((error: { readonly code?: string }) => {
      // The request stays in the inbox.
      if (error.code !== 'already-decided' && error.code !== 'outdated-card') throw error;
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
