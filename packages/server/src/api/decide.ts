// POST /interrupts/{id}/decide: records the decision of a person, once and for all.
import { z } from '@hono/zod-openapi';
import { type DecisionInput, type Json, UsageError } from 'countersign';
import { misfitOf } from 'countersign/ui';
import { endpoint, json } from '../http/endpoint.ts';
import { DecidedShape, DecideShape } from '../schemas/decision.ts';
import { interruptIdShape } from '../schemas/interrupt.ts';
import { ChannelHeaders, channelOf } from './channel.ts';
import { dropClaim } from './holds.ts';
import { IdempotencyHeaders, keyIn, remember } from './idempotency.ts';
import type { Services } from './services.ts';

export function decideEndpoints({ ai, access, claims }: Services) {
  const { runs } = ai;
  return [
    endpoint(
      {
        method: 'post',
        path: '/interrupts/{interruptId}/decide',
        summary: 'Decide a question',
        description:
          'The decision is durable before the answer is sent. Deciding the same again gives the recorded decision; deciding ' +
          'otherwise is a conflict that says who decided what, when. What the `allows` of a card does not name does not fit ' +
          'it, except to reject and to cancel.',
        tag: 'Questions',
        scope: 'decide',
        params: z.object({ interruptId: interruptIdShape }),
        headers: z.object({ ...IdempotencyHeaders.shape, ...ChannelHeaders.shape }),
        body: DecideShape,
        answers: { 200: { description: 'The decision, as it is recorded.', shape: DecidedShape } },
        problems: [404, 409, 422],
      },
      async ({ params: { interruptId }, body: { decision, digest, note }, person, request }) => {
        const channel = channelOf(request);
        const key = keyIn(request);
        const found = await runs.interrupt(interruptId);
        const seen = await access.seen(found, person, null);
        if (!seen)
          throw new UsageError(
            'unknown-interrupt',
            { interruptId },
            `There is no interrupt ${interruptId} in the store.`,
          );
        if (!(await access.mayDecide(seen, person)))
          throw new UsageError(
            'not-allowed',
            { status: 403, interruptId },
            `${person.id} may not decide ${interruptId}.`,
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
        // What tools may know of a person belongs to the one who asked, not to the one who decides.
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
          await dropClaim(runs.notes, interruptId);
          claims.look();
        }
        return json(decided);
      },
    ),
  ];
}
