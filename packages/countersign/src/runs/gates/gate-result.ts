// The answer of a gate about a call, and what a model reads of it.
import type { Frozen } from '../../core/authority/freeze.ts';
import { defined } from '../../core/json.ts';
import { type Decision, isByDeadline } from '../../core/run/event.ts';
import { requestKey } from '../requests/card.ts';
import type { CallRecord } from './call-gate.ts';

/** The answer of a gate. `runId` is the run of the call; `id` is the request that a person has to decide. */
export type GateResult<Output = any, Input = any> =
  /** A person has not decided yet. `waitsUntil`: it is approved, and must not start before, because a person may recall it. */
  | {
      readonly status: 'pending';
      readonly id: string;
      readonly runId: string;
      readonly waitsUntil?: number | undefined;
    }
  /**
   * It may run, and was not started. `input` is what runs: a person may have edited it. `frozen`: a freeze keeps it from starting;
   * it may start once that is lifted.
   */
  | { readonly status: 'approved'; readonly runId: string; readonly input: Input; readonly frozen?: Frozen | undefined }
  /** A program outside was granted the start, and has until then to report the result. */
  | { readonly status: 'started'; readonly runId: string; readonly input: Input; readonly until: number }
  | { readonly status: 'done'; readonly runId: string; readonly input: Input; readonly output: Output }
  /** It ran and failed, or its input did not fit. `mayHaveActed`: it may have taken effect anyway. */
  | {
      readonly status: 'failed';
      readonly runId: string;
      readonly input: Input;
      readonly error: string;
      readonly mayHaveActed: boolean;
    }
  /**
   * It was rejected, was withdrawn, or has expired. It did not run and will not. `expired`: its deadline passed. `revise`: a person
   * asks for changes. Ask for the changed call with another key and `revises: runId`.
   */
  | {
      readonly status: 'rejected';
      readonly runId: string;
      readonly reason: string;
      readonly expired?: true | undefined;
      readonly revise?: { readonly comment: string; readonly by: string | null } | undefined;
    }
  /** It was started, and its outcome is unknown. A person is asked under this id. */
  | { readonly status: 'doubt'; readonly id: string; readonly runId: string };

export function resultOf({ run, edited: input, status }: CallRecord): GateResult {
  const runId = run.id;
  switch (status.at) {
    case 'begun':
    case 'approved':
      if (status.at === 'approved' && status.host) return { status: 'started', runId, input, until: status.host.until };
      return { status: 'approved', runId, input, ...(status.at === 'approved' && defined({ frozen: status.frozen })) };
    case 'waiting':
      return {
        status: 'pending',
        id: requestKey(runId, status.requestId),
        runId,
        ...(status.isApproved && defined({ waitsUntil: status.expiresAt })),
      };
    case 'stuck':
      return { status: status.isDoubt ? 'doubt' : 'pending', id: requestKey(runId, status.requestId), runId };
    case 'settled': {
      const { result, decision } = status;
      if (result.type === 'output') return { status: 'done', runId, input, output: result.output };
      if (result.type === 'error' || result.mayHaveActed)
        return { status: 'failed', runId, input, error: result.text, mayHaveActed: result.mayHaveActed === true };
      const reason = reasonOf(decision) ?? result.text;
      const expired = decision?.type === 'reject' && isByDeadline(decision);
      if (decision?.type !== 'revise') return { status: 'rejected', runId, reason, ...(expired && { expired }) };
      return { status: 'rejected', runId, reason, revise: { comment: decision.comment, by: decision.by ?? null } };
    }
  }
}

/** What a person gave as the reason, or what happened. It completes the sentence `pay was not run: …`. */
function reasonOf(decision: Decision | undefined): string | undefined {
  if (decision?.type === 'revise') return `a person asks for changes: ${decision.comment}`;
  if (decision?.type !== 'reject' && decision?.type !== 'cancel') return undefined;
  if (decision.reason) return decision.reason;
  if (isByDeadline(decision)) return 'its deadline passed.';
  return decision.type === 'reject' ? 'a person rejected it.' : 'a person cancelled it.';
}

/** What a model reads about a call: its output, or why there is none. */
export function gateText(tool: string, result: GateResult): string {
  switch (result.status) {
    case 'pending':
      if (result.waitsUntil !== undefined)
        return `${tool} is approved and starts after ${new Date(result.waitsUntil).toISOString()}, unless a person recalls it (${result.id}). It was not run.`;
      return `${tool} waits for a person's decision (${result.id}). It was not run.`;
    case 'approved':
      if (result.frozen)
        return `${tool} is frozen (${result.frozen.reason}). It was not run, and may start once people lift the freeze.`;
      return `${tool} is approved and was not run yet.`;
    case 'started':
      return `${tool} was started and has not reported its result yet.`;
    case 'done':
      return typeof result.output === 'string' ? result.output : JSON.stringify(result.output);
    case 'failed':
      return result.error;
    case 'rejected':
      return `${tool} was not run: ${result.reason}`;
    case 'doubt':
      return `${tool} was started, and its outcome is unknown: it may have taken effect. A person is asked (${result.id}). Do not repeat it.`;
  }
}
