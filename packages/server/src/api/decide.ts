// POST /interrupts/{id}/decide: records a person's decision.
import { z } from '@hono/zod-openapi';
import { type DecisionInput, type Json, UsageError } from 'countersign';
import { misfitOf } from 'countersign/ui';
import { defined } from '../defined.ts';
import { removeHold } from '../holds.ts';
import { endpoint, json } from '../http/endpoint.ts';
import { DecidedShape, DecideShape } from '../schemas/decision.ts';
import { interruptIdShape } from '../schemas/interrupt.ts';
import { IdempotencyHeaders, remember } from './idempotency.ts';
import type { Services } from './services.ts';

const CHANNELS = ['api', 'inbox', 'chat', 'cli'] as const;

export function decideEndpoints({ ai, access, holds }: Services) {
  const { runs } = ai;
  return [
    endpoint({
      route: 'POST /interrupts/{interruptId}/decide',
      summary: 'Decide a request',
      description:
        'The decision is durable before the response is sent. Repeating it returns the recorded decision; a different one is ' +
        'a conflict that says who decided what, and when. A decision that the `allows` of the card does not list is ' +
        'invalid, except to reject and to cancel.',
      tag: 'Requests',
      scope: 'decide',
      params: z.object({ interruptId: interruptIdShape }),
      headers: IdempotencyHeaders.extend({
        'x-countersign-channel': z.enum(CHANNELS).optional().openapi({ description: '`api` by default.' }),
      }),
      body: DecideShape,
      answers: { 200: { description: 'The recorded decision.', shape: DecidedShape } },
      problems: [409, 422],
      handle: async ({ params: { interruptId }, body: { decision, digest, note }, headers, person }) => {
        const { 'x-countersign-channel': channel = 'api', 'idempotency-key': key } = headers;
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
          ...defined({ digest, note, context }),
        });
        if (seen.status === 'pending') {
          await removeHold(runs.notes, interruptId);
          holds.look();
        }
        return json(decided);
      },
    }),
  ];
}
