// Plans: the grants that an approved plan gives, one for each step, and what came of the steps.

import { roundId } from '../../core/authority/ballots.ts';
import { type Grant, type GrantStatus, grantLeft, grantStatus } from '../../core/authority/grants/grant.ts';
import { limitsOf, type PlanStep, stepsIn, validWithin } from '../../core/authority/grants/plan.ts';
import { UsageError } from '../../core/errors.ts';
import { defined, isObject } from '../../core/json.ts';
import type { CallOutcome } from '../../core/request/outcome.ts';
import { unaskedIdOf } from '../../core/run/call.ts';
import type { ApprovedPlan } from '../../loop/sink.ts';
import type { NewRun, Store } from '../port/store.ts';
import { requestKey, runIdOf } from '../requests/card.ts';
import type { Settlement } from '../requests/decision.ts';
import { type RunRequest, requestView } from '../requests/view.ts';
import { checkGiver, digestOfInput, grantId, madeOnce, readQuestion, votesOf } from './give.ts';
import { reconcile } from './outcomes.ts';
import { GrantRecords } from './records.ts';

/** A step of a plan, and what came of it. */
export type PlannedStep = PlanStep & {
  /** What a person reads instead of the input; null if its tool gave no title. */
  readonly title: string | null;
  /** `proposed`: nobody has approved it. `rejected`: it will not run under this plan. Otherwise the status of its grant. */
  readonly status: 'proposed' | 'rejected' | GrantStatus;
  readonly grantId: string | null;
  /** How many calls of it may still run. */
  readonly left: number;
  /** The calls that ran under it, oldest first, or are about to run. */
  readonly calls: readonly {
    readonly requestId: string;
    readonly runId: string;
    readonly at: number;
    readonly outcome: CallOutcome | null;
  }[];
};

export type PlanProgress = { readonly requestId: string; readonly steps: readonly PlannedStep[] };

/** Gives the grants of the steps. Again, after a crash, it finds them. Returns until when they hold. */
export async function givePlan(
  store: Store,
  { id: runId, agent, startedBy }: NewRun,
  { requestId: questionId, steps, validForMs, isOutside }: ApprovedPlan,
): Promise<number> {
  const question = await approvedRound(store, runId, questionId);
  const { id: requestId, policies, settledAt } = question;
  const settlement = question.settlement as Settlement;
  const { by } = settlement;
  checkGiver(requestId, by);
  const votes = votesOf(question, settlement, { by });
  const expiresAt = (settledAt ?? 0) + validWithin(policies, validForMs);
  const people = startedBy === null ? {} : { people: [startedBy] };
  const serves = { agents: [agent], ...people };
  const records = new GrantRecords(store.notes);
  for (const [step, planned] of steps.entries()) {
    const { tool, input, where } = planned;
    const limits = { ...limitsOf(planned, expiresAt), where: where ?? [], serves };
    const only = defined({
      runId: isOutside ? undefined : runId,
      inputDigest: where ? undefined : digestOfInput(input),
    });
    const id = stepGrantId(question, step);
    const grant: Grant = { ...limits, ...only, id, tool, givenBy: by, requestId, votes, step };
    await madeOnce(records, grant, settledAt ?? 0);
  }
  return expiresAt;
}

/** The ids of the grants of a plan begin with that of its request. */
const stepGrantId = (question: Pick<RunRequest, 'id' | 'createdAt'>, step: number): string =>
  `${grantId(question)}-${step + 1}`;

/** The round of the request that was approved: an edit that others had to agree to began a new one. */
async function approvedRound(store: Store, runId: string, questionId: string): Promise<RunRequest> {
  for (let round = 1; ; round++) {
    const record = await store.request(requestKey(runId, roundId(questionId, round)));
    if (!record) break;
    const question = requestView(record);
    const decision = question.settlement?.decision;
    if (isObject(decision) && decision.type === 'approve') return question;
  }
  const message = `The plan of ${questionId} in ${runId} was not approved, so its steps have no grants.`;
  throw new UsageError('invalid-grant', { runId, requestId: questionId }, message);
}

/** What came of each step of a plan; undefined if the request is not a plan. */
export async function planProgress(store: Store, requestId: string): Promise<PlanProgress | undefined> {
  const asked = await store.request(requestId);
  // Only an approval can be a plan.
  if (asked && requestView(asked).kind !== 'approval') return undefined;
  const question = await readQuestion(store, requestId);
  const { plan } = isObject(question.payload) ? question.payload : {};
  if (!isObject(plan) || !Array.isArray(plan.steps)) return undefined;
  const titles = plan.steps.map((step) => (isObject(step) && typeof step.title === 'string' ? step.title : null));
  const decision = question.settlement?.decision;
  const edited = isObject(decision) && decision.edit !== undefined ? decision.edit : undefined;
  const steps = stepsIn(edited ?? question.input);
  const isOpen = question.settledAt === null;
  const progress = steps.map(async (planned, step): Promise<PlannedStep> => {
    const title = edited === undefined ? (titles[step] ?? null) : null;
    const id = stepGrantId(question, step);
    const found = await grantOf(store, id);
    if (found) return { ...planned, title, ...found, grantId: id };
    return { ...planned, title, status: isOpen ? 'proposed' : 'rejected', grantId: null, left: 0, calls: [] };
  });
  return { requestId, steps: await Promise.all(progress) };
}

async function grantOf(store: Store, id: string): Promise<Pick<PlannedStep, 'status' | 'left' | 'calls'> | undefined> {
  const records = new GrantRecords(store.notes);
  const record = await records.find(id);
  if (!record) return undefined;
  const now = await store.now();
  const { state } = await reconcile(store, records, record, now);
  const calls = [...state.uses.values()].map(async ({ key, at }) => {
    const runId = runIdOf(key);
    // A use ends with the request that was not asked.
    const asked = decodeURIComponent(key.slice(key.search(/[^/:]*$/)));
    const own = requestKey(runId, unaskedIdOf(asked));
    const row = await store.request(own);
    return { requestId: own, runId, at, outcome: row ? requestView(row).outcome : null };
  });
  return { status: grantStatus(state, now), left: grantLeft(state).uses, calls: await Promise.all(calls) };
}
