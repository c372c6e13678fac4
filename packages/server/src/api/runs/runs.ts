// Runs: list, read, cancel, resume, verify.
import { z } from '@hono/zod-openapi';
import { ConflictError, evidenceText } from 'countersign';
import type { ListedRun } from 'countersign/store';
import { defined } from '../../defined.ts';
import { endpoint, json } from '../../http/endpoint.ts';
import { pageOf, runIdShape } from '../../schemas/page.ts';
import {
  CancelShape,
  EvidenceShape,
  NamesShape,
  RunQueryShape,
  RunShape,
  type RunSummary,
  RunSummaryShape,
  VerifiedShape,
} from '../../schemas/run.ts';
import { keptPage } from '../kept-page.ts';
import type { Services } from '../services.ts';
import { namesIn, runAnswer } from './run-answer.ts';
import { runSummaries } from './run-summaries.ts';

const params = z.object({ runId: runIdShape });
const tag = 'Runs';
const ofRun = { tag, params, answers: { 200: { description: 'The run.', shape: RunShape } } } as const;

export function runEndpoints({ ai, access, log }: Services) {
  const summariesOf = runSummaries(ai.runs);
  return [
    endpoint({
      route: 'GET /runs',
      operationId: 'listRuns',
      summary: 'List runs',
      tag,
      scope: 'read',
      query: RunQueryShape,
      answers: { 200: { description: 'A page of runs.', shape: pageOf(RunSummaryShape) } },
      handle: async ({ query: { cursor, limit = 50, startedBy, status, agent, order, search }, person }) => {
        const only = access.ownRuns(person);
        if (only !== undefined && startedBy !== undefined && startedBy !== only)
          return json({ items: [], cursor: null });
        const filters = defined({ status, agent, order, startedBy: only ?? startedBy });
        return json(
          await keptPage(
            (page) => ai.runs.list({ ...filters, ...page }),
            { cursor, limit },
            async (runs: readonly ListedRun[]) => {
              const mayRead = await Promise.all(runs.map((run) => access.mayRead(run, person)));
              const summaries = await summariesOf(runs.filter((_, index) => mayRead[index]));
              return search === undefined ? summaries : summaries.filter((run) => contains(run, search));
            },
          ),
        );
      },
    }),
    endpoint({
      route: 'GET /runs/{runId}',
      operationId: 'getRun',
      summary: 'Get a run with its conversation and its requests',
      ...ofRun,
      scope: 'read',
      handle: async ({ params: { runId }, person }) => {
        await access.readable(runId, person);
        return json(await runAnswer(ai, access, runId, person));
      },
    }),
    endpoint({
      route: 'POST /runs/{runId}/cancel',
      operationId: 'cancelRun',
      summary: 'Cancel a run',
      description:
        'Signals running tools to stop and withdraws pending requests. A run that has ended is unchanged. A run whose call a ' +
        'program outside has started is the conflict `call-started`.',
      ...ofRun,
      scope: 'start',
      body: CancelShape,
      problems: [409],
      handle: async ({ params: { runId }, body: { reason }, person }) => {
        await access.steerable(runId, person);
        await ai.runs.cancel(runId, { by: person.id, ...defined({ reason }) });
        log('info', 'cancelled', { runId, by: person.id });
        return json(await runAnswer(ai, access, runId, person));
      },
    }),
    endpoint({
      route: 'POST /runs/{runId}/drive',
      operationId: 'driveRun',
      summary: 'Resume a failed run',
      ...ofRun,
      scope: 'start',
      problems: [409],
      handle: async ({ params: { runId }, person }) => {
        const run = await access.steerable(runId, person);
        const context = run.startedBy === person.id ? person.context : undefined;
        await ai.runs.drive(runId, context ? { context } : {});
        return json(await runAnswer(ai, access, runId, person));
      },
    }),
    endpoint({
      route: 'GET /runs/{runId}/names',
      operationId: 'getRunNames',
      summary: 'Get the names of the people in a run',
      description: 'By their ids, as far as the directory knows them: who started it, and everyone on its requests.',
      tag,
      scope: 'read',
      params,
      answers: { 200: { description: 'The names.', shape: NamesShape } },
      handle: async ({ params: { runId }, person }) => {
        const run = await access.readable(runId, person);
        return json(await namesIn(ai, access, run, person));
      },
    }),
    endpoint({
      route: 'GET /runs/{runId}/verify',
      operationId: 'verifyRun',
      summary: 'Verify the record of a run',
      description: 'Checks the hash chain over the events of the run.',
      tag,
      scope: 'read',
      params,
      answers: { 200: { description: 'The result of the check.', shape: VerifiedShape } },
      handle: async ({ params: { runId }, person }) => {
        await access.readable(runId, person);
        return json(await ai.runs.verify(runId));
      },
    }),
    endpoint({
      route: 'GET /runs/{runId}/evidence',
      operationId: 'getEvidence',
      summary: 'Get the evidence of a run',
      description:
        'One document with the events, their chain, the cards as shown and the decisions. Keep its bytes as they are: `countersign verify` checks them without this server. A run that is running or has pending requests has no evidence yet.',
      tag,
      scope: 'read',
      params,
      answers: { 200: { description: 'The document.', shape: EvidenceShape } },
      problems: [409],
      handle: async ({ params: { runId }, person }) => {
        await access.readable(runId, person);
        // The record names the agent, and so a drill, which people must not recognize before they decide it.
        const { status, pending } = await ai.runs.get(runId);
        if (status === 'running' || pending.length > 0) throw notSettled(runId);
        const evidence = await ai.runs.evidence(runId);
        // Writing a large document takes as long as collecting it: other requests run in between.
        await new Promise(setImmediate);
        const text = evidenceText(evidence);
        return new Response(text, {
          headers: {
            'content-type': 'application/json; charset=utf-8',
            'content-disposition': 'attachment; filename="evidence.json"',
          },
        });
      },
    }),
  ];
}

const notSettled = (runId: string): ConflictError =>
  new ConflictError('run-not-ended', { runId }, `Run ${runId} is running or has pending requests. Decide them first.`);

function contains({ id, title, waitsFor }: RunSummary, search: string): boolean {
  const words = search.toLowerCase();
  return [id, title, waitsFor?.title].some((text) => text?.toLowerCase().includes(words));
}
