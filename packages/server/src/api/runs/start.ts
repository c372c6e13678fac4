// POST /runs: starts a run of an agent.
import { randomBytes } from 'node:crypto';
import { CountersignError, UsageError } from 'countersign';
import { endpoint, json } from '../../http/endpoint.ts';
import type { Person } from '../../identity/person.ts';
import { RunShape, StartShape } from '../../schemas/run.ts';
import { IdempotencyHeaders, type Remembered, remember } from '../idempotency.ts';
import type { Services } from '../services.ts';
import { runAnswer, unknownAgent } from './run-answer.ts';

/** The metadata key under which a run started with an idempotency key records its request, together with the start. */
const START_MARK = 'startedWith';

export function startEndpoints({ ai, access }: Services) {
  /** Returns false if this same request started the run before. */
  async function start(
    asked: { readonly agent: string; readonly prompt: string },
    runId: string,
    person: Person,
    remembered: Remembered | undefined,
  ): Promise<boolean> {
    const agent = ai.agents.get(asked.agent);
    if (!agent) throw unknownAgent(asked.agent);
    const { context } = person;
    const metadata = remembered && { [START_MARK]: remembered.mark };
    const said = { role: 'user' as const, content: [{ text: asked.prompt }], ...(metadata && { metadata }) };
    try {
      await agent.start({ messages: [said] }, { runId, by: person.id, ...(context && { context }) });
      return true;
    } catch (error) {
      if (!(error instanceof CountersignError && error.code === 'run-exists')) throw error;
      // A repetition may overtake the first request, so only the record says which one started the run.
      if (remembered && (await isMarked(runId, remembered.mark))) return false;
      // The caller chose an id that another run has.
      if (remembered?.isFirst) await remembered.forget();
      throw error;
    }
  }

  async function isMarked(runId: string, mark: string): Promise<boolean> {
    const loaded = await ai.runs.store.read(runId, { limit: 1 });
    const [first] = loaded?.events ?? [];
    return first?.type === 'user-spoke' && first.messages.some(({ metadata }) => metadata?.[START_MARK] === mark);
  }

  return [
    endpoint({
      route: 'POST /runs',
      operationId: 'startRun',
      summary: 'Start a run',
      description: 'The run is recorded before the response is sent, and continues in the background.',
      tag: 'Runs',
      scope: 'start',
      headers: IdempotencyHeaders,
      body: StartShape,
      answers: {
        201: { description: 'The run was started.', shape: RunShape },
        200: { description: 'The same request started it before.', shape: RunShape },
      },
      problems: [404, 409, 422],
      handle: async ({ body, headers, person }) => {
        if (!ai.agents.has(body.agent)) throw unknownAgent(body.agent);
        if (body.prompt.trim() === '') throw new UsageError('invalid-request', { status: 400 }, 'The prompt is empty.');
        const key = headers['idempotency-key'];
        const chosen = body.runId ?? `run_${randomBytes(15).toString('base64url')}`;
        // The id is stored under the key before the run starts, so that a repeated request starts the same run.
        const remembered =
          key === undefined
            ? undefined
            : await remember(ai.runs.notes, {
                key,
                person: person.id,
                asked: ['start', body.agent, body.prompt, body.runId ?? null],
                kept: chosen,
              });
        const runId = remembered ? String(remembered.kept) : chosen;
        const isNew = await start(body, runId, person, remembered);
        return json(await runAnswer(ai, access, runId, person), isNew ? 201 : 200);
      },
    }),
  ];
}
