// POST /interrupts/{id}/decide: records a person's decision.
import { z } from '@hono/zod-openapi';
import { type DecisionInput, type Json, UsageError } from 'countersign';
import { misfitOf } from 'countersign/ui';
import { removeHold } from '../holds.ts';
import { endpoint, json } from '../http/endpoint.ts';
import { DecidedShape, DecideShape } from '../schemas/decision.ts';
import { interruptIdShape } from '../schemas/interrupt.ts';
import { ChannelHeaders, channelOf } from './channel.ts';
import { IdempotencyHeaders, keyIn, remember } from './idempotency.ts';
import type { Services } from './services.ts';

export function decideEndpoints({ ai, access, holds }: Services) {
  const { runs } = ai;
  return [
    endpoint(
      {
        method: 'post',
        path: '/interrupts/{interruptId}/decide',
        summary: 'Decide a request',
        description:
          'The decision is durable before the response is sent. Repeating it returns the recorded decision; a different one is ' +
          'a conflict that says who decided what, and when. A decision that the `allows` of the card does not list is ' +
          'invalid, except to reject and to cancel.',
        tag: 'Requests',
        scope: 'decide',
        params: z.object({ interruptId: interruptIdShape }),
        headers: z.object({ ...IdempotencyHeaders.shape, ...ChannelHeaders.shape }),
        body: DecideShape,
        answers: { 200: { description: 'The recorded decision.', shape: DecidedShape } },
        problems: [404, 409, 422],
      },
      async ({ params: { interruptId }, body: { decision, digest, note }, person, request }) => {
        const channel = channelOf(request);
        const key = keyIn(request);
        const seen = await access.interrupt(interruptId, person);
        if (!(await access.mayDecide(seen, person)))
          throw new UsageError(
            'not-allowed',
            { status: 403, interruptId },
            `${person.id} cannot decide ${interruptId}.`,
          );
        const misfit = seen.status === 'pending' ? misfitOf(seen, decision as DecisionInput) : undefined;
        if (misfit !== undefined) throw new UsageError('invalid-decision', { interruptId }, misfit);
        if (key !== undefined)
          await remember(runs.notes, {
            key,
            person: person.id,
            asked: ['decide', interruptId, decision as Json, digest ?? null, note ?? null],
            kept: null,
          });
        // Tools get the context of the person who started the run, never that of another approver.
        const context = seen.startedBy === person.id ? person.context : undefined;
        const decided = await runs.decide(interruptId, decision as DecisionInput, {
          by: person.id,
          channel,
          // An edit changes what would run, so the policy is asked about that too.
          mayDecide: ({ input }) => access.mayDecide({ ...seen, input }, person),
          ...(digest !== undefined && { digest }),
          ...(note !== undefined && { note }),
          ...(context && { context }),
        });
        if (seen.status === 'pending') {
          await removeHold(runs.notes, interruptId);
          holds.look();
        }
        return json(decided);
      },
    ),
  ];
}
