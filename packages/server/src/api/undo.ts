// Recalling an approved call before it starts, and undoing calls that ran.
import { z } from '@hono/zod-openapi';
import type { Undoing } from 'countersign/store';
import { namesDeciders } from 'countersign/ui';
import { rolesOf } from '../access.ts';
import { endpoint, json } from '../http/endpoint.ts';
import { DecideResultShape } from '../schemas/decision.ts';
import { runIdShape } from '../schemas/page.ts';
import { requestIdShape } from '../schemas/request.ts';
import { ChannelHeaders } from './decide.ts';
import type { Services } from './services.ts';

const STATUSES = ['undone', 'waits', 'running', 'doubt', 'rejected', 'failed', 'no-undo'] as const;

const UndoingShape = z
  .object({
    runId: z.string(),
    isDone: z.boolean().openapi({ description: 'Every call is undone.' }),
    steps: z.array(
      z
        .object({
          callId: z.string(),
          tool: z.string(),
          status: z.enum(STATUSES).openapi({ description: 'With all but `undone`, the undo stops here.' }),
          message: z.string().openapi({ description: 'How far it is, and why.' }),
          runId: z.string().optional().openapi({ description: 'The run of the undo.' }),
          requestId: z.string().optional().openapi({ description: 'The request that people decide.' }),
        })
        .openapi('UndoStep'),
    ),
  })
  .openapi('Undoing', {
    description: 'How far the undo of a call, or of the calls of a run, is. The newest call comes first.',
  });

export function undoEndpoints({ ai, access }: Services) {
  const undo = (id: string, person: Parameters<typeof rolesOf>[0] & { readonly id: string }): Promise<Undoing> =>
    ai.runs.undo(id, { by: person.id, roles: rolesOf(person) });
  const asked = { description: 'How far the undo is.', shape: UndoingShape };
  return [
    endpoint({
      route: 'POST /requests/{requestId}/recall',
      operationId: 'recallRequest',
      summary: 'Recall an approved call that waits to start',
      description:
        'Names any request about the call. It does not run. A conflict says that it has started, or who recalled it.',
      tag: 'Requests',
      scope: 'decide',
      params: z.object({ requestId: requestIdShape }),
      headers: ChannelHeaders,
      body: z.strictObject({ reason: z.string().max(2_000).optional() }),
      answers: { 200: { description: 'The recorded recall.', shape: DecideResultShape } },
      problems: [409, 422],
      handle: async ({ params: { requestId }, body: { reason }, headers, person }) => {
        await access.request(requestId, person);
        const options = { by: person.id, roles: rolesOf(person), channel: headers['x-countersign-channel'] };
        return json(await ai.runs.recall(requestId, { ...options, ...(reason !== undefined && { reason }) }));
      },
    }),
    endpoint({
      route: 'POST /requests/{requestId}/undo',
      operationId: 'undoRequest',
      summary: 'Ask for the undo of a call that ran',
      description:
        'The people who decide the call decide its undo. There is one undo per call, however often it is asked for.',
      tag: 'Requests',
      scope: 'decide',
      params: z.object({ requestId: requestIdShape }),
      body: z.strictObject({}),
      answers: { 200: asked },
      problems: [409, 422],
      handle: async ({ params: { requestId }, person }) => {
        const { policies, runId } = await access.request(requestId, person);
        // A process without this server may have made the request, so that its policies name nobody.
        if (!policies.some(namesDeciders)) await access.steerable(runId, person);
        return json(await undo(requestId, person));
      },
    }),
    endpoint({
      route: 'POST /runs/{runId}/undo',
      operationId: 'undoRun',
      summary: 'Undo the calls of a run, the newest first',
      description: 'It stops at the first call that is not undone, and says why. Send it again to continue.',
      tag: 'Runs',
      scope: 'decide',
      params: z.object({ runId: runIdShape }),
      body: z.strictObject({}),
      answers: { 200: asked },
      problems: [409, 422],
      handle: async ({ params: { runId }, person }) => {
        await access.steerable(runId, person);
        return json(await undo(runId, person));
      },
    }),
  ];
}
