// Records the decision of a signed-in person: checks that they may, binds it to the card, and removes the note of its assignee.

import type { z } from '@hono/zod-openapi';
import { type DecideResult, type DecisionInput, type GrantRequest, type Json, UsageError } from 'countersign';
import { misfitOf } from 'countersign/ui';
import { rolesOf } from '../access.ts';
import { forgetReviewer } from '../assignees.ts';
import { defined } from '../defined.ts';
import type { Person } from '../identity/person.ts';
import { refuseOwnRequests } from '../mcp/own-requests.ts';
import type { DecideShape } from '../schemas/decision.ts';
import type { ApiRequest } from '../schemas/request.ts';
import type { Services } from './services.ts';

/** The channels that a caller of the API can name. Others are the names of channels such as `mail`. */
export const CHANNELS = ['api', 'inbox', 'chat', 'cli', 'mcp'] as const;

/** The person, the channel, and the address of this server, where a passkey must have signed. */
export type Decider = { readonly person: Person; readonly channel: string; readonly address: URL };

type Asked = z.output<typeof DecideShape>;

/** The request that this person may decide in this way. Throws if it does not exist for them, or they may not. */
export async function decidableRequest(
  { access }: Pick<Services, 'access'>,
  requestId: string,
  person: Person,
  { decision }: Pick<Asked, 'decision'>,
): Promise<ApiRequest> {
  const seen = await access.request(requestId, person);
  if (!(await access.mayDecide(seen, person)))
    throw new UsageError('not-allowed', { status: 403, requestId }, `${person.id} cannot decide ${requestId}.`);
  const misfit = seen.status === 'pending' ? misfitOf(seen, decision as DecisionInput) : undefined;
  if (misfit !== undefined) throw new UsageError('invalid-decision', { requestId }, misfit);
  return seen;
}

export async function recordDecision(
  { ai, assignees, mcp }: Pick<Services, 'ai' | 'assignees' | 'mcp'>,
  seen: ApiRequest,
  { person, channel, address }: Decider,
  { decision, digest, note, grant, signature, onBehalfOf, seenForMs, evenIfOutOfReach }: Asked,
): Promise<DecideResult> {
  if (channel === 'mcp') refuseOwnRequests(seen, person, mcp);
  // Tools get the context of the person who started the run, never that of another approver.
  const context = seen.startedBy === person.id ? person.context : undefined;
  const decided = await ai.runs.decide(seen.id, decision as DecisionInput, {
    by: person.id,
    roles: rolesOf(person),
    channel,
    ...(signature && { signature: signedAt(address, signature) }),
    ...defined({
      digest,
      note,
      seenForMs,
      context,
      onBehalfOf,
      evenIfOutOfReach,
      grant: grant as GrantRequest | undefined,
    }),
  });
  if (seen.status === 'pending') {
    await forgetReviewer(ai.runs.notes, seen.id);
    assignees.look();
  }
  return decided;
}

/** The signature, and where the passkey must have made it. */
export const signedAt = ({ origin, hostname: rpId }: URL, signature: NonNullable<Asked['signature']>) =>
  ({ type: 'passkey', ...signature, origin, rpId }) as unknown as Json;
