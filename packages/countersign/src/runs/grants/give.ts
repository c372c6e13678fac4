// Giving a grant: only with an approval that was recorded, by a person who decided it, and never wider than its policy allows.
import { fieldOf, fieldText, meets } from '../../core/authority/condition.ts';
import { type Grant, type GrantRequest, maximumOf } from '../../core/authority/grants/grant.ts';
import { isAmount } from '../../core/authority/grants/grant-maximum.ts';
import { grantProblem } from '../../core/authority/grants/grant-problem.ts';
import type { Vote } from '../../core/authority/policy.ts';
import { isEdit, isFor, tally } from '../../core/authority/tally.ts';
import { ConflictError, UsageError } from '../../core/errors.ts';
import { canonicalJson, copyOf, type Json, sameJson } from '../../core/json.ts';
import { DEADLINE, type PersonDecision } from '../../core/run/event.ts';
import { dataSchemaProblem, fitsLimited } from '../../loop/tool/data-schema.ts';
import { shortHash } from '../port/chain.ts';
import { unknownRequest } from '../port/run-id.ts';
import type { Store } from '../port/store.ts';
import type { Settlement } from '../requests/decision.ts';
import { type RunRequest, requestView } from '../requests/view.ts';
import { type GrantRecord, GrantRecords } from './records.ts';
import type { GivenGrant } from './view.ts';

/** Who gives a grant. */
export type Giver = { readonly by: string; readonly roles?: readonly string[] };

/** Throws `invalid-grant` before anything is decided. Then the grant is given once the decision is recorded. */
export async function prepareGrant(
  store: Store,
  requestId: string,
  decision: PersonDecision,
  given: GrantRequest,
  { by, roles }: Partial<Giver>,
): Promise<{ readonly onRecorded: () => Promise<void>; readonly give: () => Promise<GivenGrant> }> {
  const request = copyOf(given);
  const question = await readQuestion(store, requestId);
  if (decision.type !== 'approve') throw invalid(requestId, 'a grant is given with an approval');
  checkGiver(requestId, by);
  const now = await store.now();
  // A decision that is repeated may find its grant, which may have expired since then.
  const known = await new GrantRecords(store.notes).find(grantId(question));
  if (!known)
    checkLimits(question, decision.input === undefined ? question.input : decision.input, request, { by, now });
  const give = async (): Promise<GivenGrant> => {
    const { state } = await giveGrant(store, requestId, request, { by, ...(roles && { roles }) }, now);
    const { id, tool, uses, expiresAt } = state.grant;
    return { id, tool, uses, expiresAt };
  };
  // The caller gives it again, and gets the error. The run continues in any case.
  return {
    give,
    onRecorded: () =>
      give().then(
        () => undefined,
        () => undefined,
      ),
  };
}

/** Makes the grant that belongs to a recorded approval. The same grant again returns the first. */
export async function giveGrant(
  store: Store,
  requestId: string,
  given: GrantRequest,
  giver: Giver,
  now: number,
): Promise<GrantRecord> {
  const request = copyOf(given);
  const question = await readQuestion(store, requestId);
  const { by } = giver;
  checkGiver(requestId, by);
  if (question.drill) throw invalid(requestId, 'it was a drill, which had to be rejected');
  const { settlement } = question;
  const decision = settlement?.decision as { readonly type?: string; readonly edit?: Json } | undefined;
  if (!settlement || decision?.type !== 'approve')
    throw invalid(requestId, 'it was not approved, and a grant extends an approval');
  if (settlement.by !== by) throw notAllowed(question, `${by} did not settle it`);
  const votes = votesOf(question, settlement as Settlement, giver);
  if (votes.length === 0) throw notAllowed(question, 'a delegate decides one request, and a grant is for later ones');
  const { startedBy, agent, tool } = question;
  const serves = request.serves ?? { agents: [agent], people: startedBy === null ? [] : [startedBy] };
  const id = grantId(question);
  const grant: Grant = { ...request, id, tool, where: request.where ?? [], serves, givenBy: by, requestId, votes };
  const records = new GrantRecords(store.notes);
  const known = await records.find(id);
  if (!known) {
    const input = decision.edit === undefined ? question.input : decision.edit;
    checkLimits(question, input, request, { by, now });
    const stranger = request.serves?.people?.find((person) => !settles(question, votes, person, input));
    if (stranger !== undefined) throw notAllowed(question, `its votes could not approve a request of ${stranger}`);
  }
  return madeOnce(records, grant, now);
}

/** The same grant again changes nothing. */
export async function madeOnce(records: GrantRecords, grant: Grant, now: number): Promise<GrantRecord> {
  const { id, requestId } = grant;
  if (await records.make(grant, now)) return records.read(id);
  const first = await records.read(id);
  if (sameJson(first.state.grant, grant)) return first;
  const message = `A grant with other limits was given with ${requestId}: ${id}, by ${first.state.grant.givenBy}.`;
  throw new ConflictError('grant-exists', { grantId: id, requestId }, message);
}

export async function readQuestion(store: Store, requestId: string): Promise<RunRequest> {
  const record = await store.request(requestId);
  if (!record) throw unknownRequest(requestId);
  const question = requestView(record);
  if (question.kind === 'approval') return question;
  throw invalid(requestId, `it is a question of the kind ${question.kind}, and a grant lets calls pass an approval`);
}

/** One request has one grant. Its id begins with a number that falls with time, so that lists show the newest first. */
export function grantId({ id, createdAt }: Pick<RunRequest, 'id' | 'createdAt'>): string {
  const age = (LAST_MS - createdAt).toString(36).padStart(LAST_MS.toString(36).length, '0');
  return `grant_${age}${shortHash(id)
    .replace(/[^a-zA-Z0-9]/g, 'x')
    .slice(0, 12)}`;
}

const LAST_MS = 36 ** 9 - 1;

export function checkGiver(requestId: string, by: string | null | undefined): asserts by is string {
  if (typeof by !== 'string' || by === '')
    throw invalid(requestId, 'a grant names the person who gives it, so pass `by`');
  if (by === DEADLINE) throw invalid(requestId, 'a deadline cannot give a grant');
}

/** The most characters of JSON of a grant: every later call of its tool reads it. */
const LONGEST = 100_000;

/** The grant is well-formed, within the maximum, and accepts the call that was approved. */
function checkLimits(
  question: RunRequest,
  input: Json,
  request: GrantRequest,
  { by, now }: { readonly by: string; readonly now: number },
): void {
  const problem = grantProblem(request, question.policies.map(maximumOf), now);
  if (problem !== undefined) throw invalid(question.id, problem);
  const { where = [], schema, budget, serves } = request;
  if (!serves && question.startedBy === null)
    throw invalid(question.id, 'no person is known for its run, so say whom the grant serves: pass `serves`');
  if (question.policies.some(({ notRequester }) => notRequester) && serves?.people?.includes(by))
    throw invalid(question.id, `${by} may not approve requests of ${by}, so the grant cannot serve ${by}`);
  const { length } = JSON.stringify(request);
  if (length > LONGEST) throw invalid(question.id, `it has ${length} characters of JSON, and the limit is ${LONGEST}`);
  const fault = schema && dataSchemaProblem(schema);
  if (fault !== undefined) throw invalid(question.id, `its schema ${fault}`);
  const fields = [...where, ...(budget ? [budget] : [])].map(({ field }) => field);
  const missing = fields.find((field) => fieldOf(input, field) === undefined);
  if (missing !== undefined) throw invalid(question.id, `the call at hand has no field ${fieldText(missing)}`);
  // An edit has changed what the origins are of.
  const origins = sameJson(input, question.input) ? question.origins : undefined;
  if (meets(where, input, origins) !== true)
    throw invalid(question.id, 'its conditions do not accept the call at hand');
  if (!fits(request, input)) throw invalid(question.id, 'its schema does not accept the call at hand');
  const amount = budget && fieldOf(input, budget.field);
  if (budget && !(isAmount(amount) && amount <= budget.total))
    throw invalid(question.id, 'its budget does not cover the call at hand');
}

/**
 * The votes that approved the request, which this person settled. A delegate votes only while the person is away, and a grant is for
 * later calls, so the votes of delegates are not in it.
 */
export function votesOf({ policies }: RunRequest, { votes }: Settlement, { by, roles = [] }: Giver): readonly Vote[] {
  const decision = { type: 'approve' };
  if (!votes) return [{ by, ...(roles.length > 0 && { roles }), decision }];
  const isFourEyes = policies.some(({ notRequester }) => notRequester);
  return votes
    .filter((vote) => isFor(vote) && !(isFourEyes && isEdit(vote)) && vote.onBehalfOf === undefined)
    .map(({ by, roles }) => ({ by, ...(roles && { roles }), decision }));
}

/** The same votes would approve such a request of this person, too. */
function settles({ policies }: RunRequest, votes: readonly Vote[], requester: string, input: Json): boolean {
  return tally(policies, { votes, requesters: [requester] }, input).status === 'settled';
}

function notAllowed({ id }: RunRequest, why: string): UsageError {
  const message = `No grant can be given with ${id}: ${why}.`;
  return new UsageError('not-allowed', { status: 403, requestId: id }, message);
}

function invalid(requestId: string, problem: string): UsageError {
  const message = `No grant can be given with ${requestId}: ${problem}.`;
  return new UsageError('invalid-grant', { requestId }, message);
}

/** A schema that cannot be checked in limited steps accepts nothing. */
export function fits({ schema, inputDigest }: Pick<Grant, 'schema' | 'inputDigest'>, input: Json): boolean {
  if (inputDigest !== undefined && digestOfInput(input) !== inputDigest) return false;
  return schema === undefined || (dataSchemaProblem(schema) === undefined && fitsLimited(schema, input));
}

export const digestOfInput = (input: Json): string => shortHash(canonicalJson(input));
