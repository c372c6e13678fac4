// The gate over HTTP: programs in any language ask before they act, and report what happened.
import { z } from '@hono/zod-openapi';
import { ConflictError, type GateResult, gateText, UsageError } from 'countersign';
import { defined } from '../defined.ts';
import { askForCall, recordedCalls } from '../gate-calls.ts';
import { endpoint, json } from '../http/endpoint.ts';
import { unlessAborted } from '../live/unless-aborted.ts';
import {
  type GateAnswer,
  GateAskShape,
  GateGrantedShape,
  GateQueryShape,
  GateRenewShape,
  GateReportShape,
  GateShape,
  GateStartShape,
} from '../schemas/gate.ts';
import { requestIdShape } from '../schemas/request.ts';
import { CancelShape } from '../schemas/run.ts';
import type { Services } from './services.ts';

const params = z.object({
  id: requestIdShape.openapi({ description: 'The `runId` of the call, or the `id` of its request.' }),
});
const tag = 'Gate';
/** The server, and most proxies, end a connection that is silent for a minute. */
const ANSWERS_WITHIN_S = 55;
const answers = { 200: { description: 'The call as it is now.', shape: GateShape } };

export function gateEndpoints({ ai, access, hub, streams, addressOf, basePath, log }: Services) {
  const calls = recordedCalls(ai);

  /** Waits while somebody else does the next thing: a person decides, or another program runs the call. */
  async function settledWithin(seconds: number, first: GateResult, { signal }: Request): Promise<GateResult> {
    if (seconds === 0 || (first.status !== 'pending' && first.status !== 'started')) return first;
    const until = AbortSignal.any([signal, hub.closed]);
    const waiting = calls.wait(first.runId, { timeout: Math.min(seconds, ANSWERS_WITHIN_S) * 1_000, signal: until });
    return (await unlessAborted(waiting, until)) ?? first;
  }

  /** A waiting request counts as an open stream. */
  async function counted<T>(person: string, seconds: number, work: () => Promise<T>): Promise<T> {
    const ended = seconds === 0 ? undefined : streams.hold(person);
    try {
      return await work();
    } finally {
      ended?.();
    }
  }

  function shown(result: GateResult, request: Request): GateAnswer {
    const id = 'id' in result ? result.id : undefined;
    const page = id === undefined ? `runs/${result.runId}` : `requests/${encodeURIComponent(id)}`;
    // In front of what the caller sent, so that a shell script can find it.
    return { url: `${addressOf(request).origin}${basePath}/${page}`, ...result };
  }

  return [
    endpoint({
      route: 'POST /gate',
      operationId: 'askGate',
      summary: 'Ask before a call',
      description:
        'For programs outside, in any language. Asks people about the call, or finds it: the same key asks once, and the same ' +
        'key with another input is the conflict `gate-conflict`. Nothing runs on the server: once it is approved, ask for the start.',
      tag,
      scope: 'start',
      body: GateAskShape,
      answers,
      problems: [409, 422, 429],
      handle: async ({ body: { wait = 0, ...asked }, person, request }) =>
        counted(person.id, wait, async () => {
          // Only of a call that the caller may read: whether it was sent back is not for everyone.
          if (asked.revises !== undefined) await access.readable(asked.revises, person);
          const first = await askForCall(ai, person, asked);
          return json(shown(await settledWithin(wait, first, request), request));
        }),
    }),
    endpoint({
      route: 'GET /gate/{id}',
      operationId: 'getGate',
      summary: 'Get a call, or wait for it',
      tag,
      scope: 'start',
      params,
      query: GateQueryShape,
      answers,
      problems: [429],
      handle: async ({ params: { id }, query: { wait = 0 }, person, request }) => {
        const { id: runId } = await access.readable(runIdIn(id), person);
        return counted(person.id, wait, async () =>
          json(shown(await settledWithin(wait, await calls.read(runId), request), request)),
        );
      },
    }),
    endpoint({
      route: 'POST /gate/{id}/started',
      operationId: 'startGate',
      summary: 'Ask for the start of an approved call',
      description:
        'Granted once, to one program. Do exactly the `input` of the answer, then report with its token. The same token gets the ' +
        'same answer again, in case it was lost. If it is not granted, the conflict `start-refused` says how the call is.',
      tag,
      scope: 'start',
      params,
      body: GateStartShape,
      answers: { 200: { description: 'Start now.', shape: GateGrantedShape } },
      problems: [409],
      handle: async ({ params: { id }, body: { lease, token }, person, request }) => {
        const { id: runId } = await access.steerable(runIdIn(id), person);
        const start = await calls.start(runId, defined({ lease: lease && lease * 1_000, token }));
        if (start.status !== 'granted') throw startRefused(start, shown(start, request));
        log('info', 'call-started', { runId, by: person.id });
        return json({ runId, token: start.token, input: start.input, until: start.until });
      },
    }),
    endpoint({
      route: 'POST /gate/{id}/renew',
      operationId: 'renewGate',
      summary: 'Extend the lease of a started call',
      description:
        'For the program that holds the token of the start. Once the lease has ended, the conflict `start-refused` says how the ' +
        'call is, and the program still reports. A renewal never shortens the lease.',
      tag,
      scope: 'start',
      params,
      body: GateRenewShape,
      answers: { 200: { description: 'The lease was extended.', shape: GateGrantedShape } },
      problems: [409],
      handle: async ({ params: { id }, body: { lease, token }, person, request }) => {
        const { id: runId } = await access.steerable(runIdIn(id), person);
        const renewed = await calls.renew(runId, token, defined({ lease: lease && lease * 1_000 }));
        if (renewed.status !== 'granted') throw notRenewed(renewed, shown(renewed, request));
        return json({ runId, token, input: renewed.input, until: renewed.until });
      },
    }),
    endpoint({
      route: 'POST /gate/{id}/result',
      operationId: 'reportGate',
      summary: 'Report the result of a started call',
      description:
        'Repeating it changes nothing. A report after the lease settles the doubt, unless a person has settled it.',
      tag,
      scope: 'start',
      params,
      body: GateReportShape,
      answers,
      problems: [409],
      handle: async ({ params: { id }, body: { token, ...report }, person, request }) => {
        const { id: runId } = await access.steerable(runIdIn(id), person);
        return json(shown(await calls.finish(runId, token, report as Parameters<typeof calls.finish>[2]), request));
      },
    }),
    endpoint({
      route: 'POST /gate/{id}/withdraw',
      operationId: 'withdrawGate',
      summary: 'Withdraw a call',
      description: 'A pending or approved call will never start. A call that was started is unchanged.',
      tag,
      scope: 'start',
      params,
      body: CancelShape,
      answers,
      problems: [409],
      handle: async ({ params: { id }, body: { reason }, person, request }) => {
        const { id: runId } = await access.steerable(runIdIn(id), person);
        return json(shown(await calls.withdraw(runId, { by: person.id, ...defined({ reason }) }), request));
      },
    }),
  ];
}

/** The run of a call, from its own id or that of its request. */
function runIdIn(id: string): string {
  const [runId = ''] = id.split(':');
  if (/^gate\.[\w-]{22}$/.test(runId)) return runId;
  throw new UsageError('unknown-run', { runId: id }, `Call ${id} not found.`);
}

function startRefused(result: GateResult, gate: GateAnswer): ConflictError {
  return new ConflictError('start-refused', { runId: result.runId, gate }, `The start was not granted. ${why(result)}`);
}

function notRenewed(result: GateResult, gate: GateAnswer): ConflictError {
  const message = `The lease was not extended. ${why(result)} Report what the program did.`;
  return new ConflictError('start-refused', { runId: result.runId, gate }, message);
}

const why = (result: GateResult): string =>
  result.status === 'done' ? 'The call is done.' : gateText('The call', result);
