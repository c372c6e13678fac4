// Resuming: decisions are checked as a whole, then recorded as facts. Nothing runs here.

import { mayDecide } from '../core/authority/may-decide.ts';
import { ANYONE, isPlain, type Policies, recallTime } from '../core/authority/policy.ts';
import { isFor, tally } from '../core/authority/tally.ts';
import { ConflictError, messageOf, UsageError } from '../core/errors.ts';
import { copyOf, type Json, toJson } from '../core/json.ts';
import { askedAnswer, type Request, type RequestKind } from '../core/request/request.ts';
import { type Call, isInDoubt, isRecallable, pendingRequestId } from '../core/run/call.ts';
import { type Found, type Leaf, type Matched, mayRun } from '../core/run/decide.ts';
import {
  answerFor,
  type Decision,
  EVENT_VERSION,
  event,
  isByDeadline,
  type Result,
  type Said,
} from '../core/run/event.ts';
import type { DecisionFault } from '../core/run/made.ts';
import { hasSubAgent, isSubAgentInDoubt } from '../core/run/sub-agents.ts';
import { boundEdit } from './call/bound-input.ts';
import { judgeEdit } from './call/judging/judge-edit.ts';
import { allOf, type MaybePromise } from './maybe-promise.ts';
import type { Driver, Run } from './run.ts';
import { limitedSchema } from './tool/data-schema.ts';
import type { ToolDefinition } from './tool/definition.ts';
import { asSchema } from './tool/schema.ts';

export { DEADLINE } from '../core/run/event.ts';

type Tools = ReadonlyMap<string, ToolDefinition>;

/** What decisions are checked against. */
export type KnownTools = {
  readonly tools: Tools;
  readonly defined: Tools;
  /** Asks the gate about edits, where no store has counted the votes. */
  readonly driver?: Driver | undefined;
};

/** Throws one error with every fault. Binds edits to what the schemas make of them now. */
export async function checkDecided({ leaves, faults }: Found, known: KnownTools): Promise<readonly Leaf[]> {
  const checks = allOf(leaves.map((leaf) => checkLeaf(leaf, known.tools, known.defined)));
  const checked = checks instanceof Promise ? await checks : checks;
  const misfits = [...faults, ...checked.flat()];
  const { driver } = known;
  const counts = driver && misfits.length === 0 && leaves.some(mayBeUncounted);
  const all = counts ? await uncountedVotes(leaves, known, driver) : misfits;
  if (all.length > 0) throw invalidResume(all);
  return allOf(leaves.map((leaf) => boundLeaf(leaf, known.tools)));
}

/** The decisions that were found. Throws one error with every fault. */
export function sound({ leaves, faults }: Found): readonly Leaf[] {
  if (faults.length > 0) throw invalidResume(faults);
  return leaves;
}

/** Without a store, a decision is one vote without roles, and it is not known who asked. An edit must satisfy its own policies too. */
async function uncountedVotes(
  leaves: readonly Leaf[],
  known: KnownTools,
  driver: Driver,
): Promise<readonly DecisionFault[]> {
  const faults: DecisionFault[] = [];
  for (const leaf of leaves) {
    const { call, where } = leaf;
    if (call.phase.at !== 'waiting') continue;
    const problem = await whyUncounted(leaf, call.phase.request, known, driver);
    if (problem !== undefined) faults.push({ where, problem: `${call.name} (${call.ref}): ${problem}` });
  }
  return faults;
}

/** One vote of anyone settles most requests. */
function mayBeUncounted({ call: { phase }, decision }: Leaf): boolean {
  if (phase.at !== 'waiting') return false;
  const { policies } = phase.request.authority;
  return !isPlain(policies) || recallTime(policies) > 0 || 'input' in decision;
}

async function whyUncounted(
  { call, path, decision }: Leaf,
  { authority: { policies, requesters } }: Request,
  { tools, defined }: KnownTools,
  driver: Driver,
): Promise<string | undefined> {
  const { by = null, type } = decision;
  const vote = { by, decision: { type } };
  const ballot = { votes: [vote], requesters: [...requesters, ...(by === null ? [] : [by])] };
  const whyNot = (counted: Policies, input: Json): string | undefined => {
    if (isFor(vote) && recallTime(counted) > 0) return `It waits so that it can be recalled. ${COUNTED_IN_RUNS}`;
    if (isPlain(counted)) return undefined;
    const verdict = mayDecide(counted, ballot, vote);
    if (!verdict.ok) return `${verdict.why} ${COUNTED_IN_RUNS}`;
    const isShort = tally(counted, ballot, input).status === 'waiting';
    return isShort ? `Its policy asks for more votes. ${COUNTED_IN_RUNS}` : undefined;
  };
  const problem = whyNot(policies, call.input);
  const input = mayRun(decision) ? decision.input : undefined;
  if (problem !== undefined || input === undefined) return problem;
  const tool = subAgentTools(path, tools)?.get(call.name) ?? defined.get(call.name);
  const edited = await judgeEdit(driver, tool, call, input, requesters);
  if (!edited.ok) return edited.why;
  return edited.judged.then === 'ask' ? whyNot(edited.judged.governed.policies, input) : undefined;
}

const COUNTED_IN_RUNS = 'Votes are counted, and times kept, in stored runs: use an agent with a store';

/** Binds an edit, and a call that `returnToolRequests` handed out, to what the schema makes of its input now. */
function boundLeaf(leaf: Leaf, tools: Tools): MaybePromise<Leaf> {
  const { call, decision, path, isBound } = leaf;
  if (isBound || !mayRun(decision) || decision.bound) return leaf;
  const { input = call.phase.at === 'open' ? call.input : undefined } = decision;
  const tool = input === undefined ? undefined : subAgentTools(path, tools)?.get(call.name);
  if (!tool || input === undefined) return leaf;
  return boundEdit(tool, call, input).then((bound) => (bound ? { ...leaf, decision: { ...decision, bound } } : leaf));
}

/** Undefined if one of the tools on the path is missing, or has tools that only its body knows. */
export function subAgentTools(path: readonly Call[], tools: Tools): Tools | undefined {
  return path.reduce<Tools | undefined>((found, { name }) => found?.get(name)?.innerTools?.(), tools);
}

/** Records the decisions; those that end a call settle it. */
export function applyDecisions(run: Run, decisions: readonly Matched[], metadata: unknown): void {
  // Without metadata, that of an earlier resumption of this turn stays.
  const note = toJson(metadata ?? run.state.turn?.resumed ?? true);
  if (!note.ok) throw new UsageError('not-json', {}, `resume.metadata is not JSON: ${note.problem}.`);
  for (const { call, requestId: id, decision } of decisions) {
    // A call that `returnToolRequests` handed out has not asked anything yet.
    if (call.phase.at === 'open' && decision.type !== 'inside')
      run.record(
        event({
          type: 'call-interrupted',
          callId: call.id,
          request: {
            id,
            kind: 'question',
            shown: { payload: true },
            authority: { policies: ANYONE, requesters: [] },
          },
        }),
      );
    const resumed = note.value;
    run.record({ v: EVENT_VERSION, type: 'decision-made', callId: call.id, requestId: id, decision, resumed });
    const result = resultOf(call, decision);
    if (result) run.record(event({ type: 'call-settled', callId: call.id, result }));
  }
}

/** Cancels every open call except those in `kept`, because the user spoke instead of deciding. */
export function cancelOpenCalls(run: Run, kept: ReadonlySet<string>, by: string | undefined): void {
  for (const call of run.state.turn?.calls ?? []) {
    const { phase } = call;
    if (phase.at === 'settled' || kept.has(call.id) || isRecallable(call)) continue;
    if (run.keepsDecision(call)) continue;
    const reason = 'The user sent a message instead.';
    const decision: Decision = { type: 'cancel', reason, ...(by !== undefined && { by }) };
    const requestId = pendingRequestId(call);
    if (requestId !== undefined)
      run.record(event({ type: 'decision-made', callId: call.id, requestId, decision, resumed: true }));
    run.record(event({ type: 'call-settled', callId: call.id, result: resultOf(call, decision) as Result }));
  }
}

function resultOf(call: Call, decision: Decision): Result | undefined {
  if (answerFor(askedBy(call), decision)) return undefined;
  switch (decision.type) {
    case 'respond':
      return { type: 'output', output: decision.output, metadata: { interruptResponse: decision.metadata ?? true } };
    case 'reject':
      return {
        type: 'rejected',
        ...withComments(refusal(call, rejectedBy(call, decision), decision.reason), decision),
      };
    case 'cancel':
      return { type: 'cancelled', ...refusal(call, 'was cancelled', decision.reason) };
    case 'revise':
      return { type: 'rejected', ...withComments(sentBack(call, decision.comment), decision) };
    case 'restart':
    case 'approve':
    case 'inside':
      return undefined;
  }
}

/** The comment is for the model. What may have taken effect must not be called again. */
function sentBack(call: Call, comment: string): Refusal {
  const refused = refusal(call, 'was sent back: a person asks for changes', undefined);
  const next = refused.mayHaveActed ? '' : ` Call ${call.name} again with changed arguments, or answer.`;
  return { ...refused, text: `${refused.text}${next} They say: ${comment}` };
}

type Refusal = { readonly text: string; readonly mayHaveActed?: true };

function withComments(refusal: Refusal, { comments = [] }: { readonly comments?: readonly Said[] }): Refusal {
  if (comments.length === 0) return refusal;
  const said = comments.map(({ by, text }) => `${by}: ${text}`);
  return { ...refusal, text: `${refusal.text}\nComments on the request:\n${said.join('\n')}` };
}

const askedBy = ({ phase }: Call): Request | undefined => (phase.at === 'waiting' ? phase.request : undefined);

function rejectedBy(call: Call, decision: Decision): string {
  if (isRecallable(call)) return 'was recalled by a person before it started';
  return isByDeadline(decision) ? 'was rejected, because its deadline passed' : 'was rejected by a person';
}

/** Says explicitly that nothing ran: a model mistakes a vague refusal for success. */
function refusal(call: Call, verb: string, reason: string | undefined): Refusal {
  const kind = isSubAgentInDoubt(call) ? 'doubt' : kindOf(call);
  const because = reason ? ` Reason: ${reason}` : '';
  const text = `${call.name} ${verb}. ${CONSEQUENCE[kind]}${because}`;
  return kind === 'doubt' ? { text, mayHaveActed: true } : { text };
}

function kindOf(call: Call): keyof typeof CONSEQUENCE {
  const { phase } = call;
  if (isInDoubt(call)) return 'doubt';
  if (hasSubAgent(call)) return 'sub-agent';
  if (phase.at === 'started') return 'doubt';
  if (phase.at === 'waiting' && !MAY_COME_LATE.has(phase.request.kind)) return phase.request.kind;
  // A person let it run again, but the process that had started it may only have been asleep.
  if (call.approvals.includes('doubt')) return 'doubt';
  return hadBegun(call) ? 'interrupt' : 'approval';
}

/** Requests that may come before the body, or, after a deploy, before it continues. */
const MAY_COME_LATE: ReadonlySet<RequestKind> = new Set(['approval', 'unavailable', 'recall']);

/** The body has done some of its steps, or was given an answer to continue with. */
function hadBegun({ steps, resumed, decided, approvals }: Call): boolean {
  if (steps.size > 0 || approvals.includes('interrupt')) return true;
  if (resumed === undefined || decided === undefined) return false;
  return decided.request === undefined || !ASKED_BEFORE.has(decided.request.kind);
}

const ASKED_BEFORE: ReadonlySet<RequestKind> = new Set(['approval', 'question']);

const CONSEQUENCE: Readonly<Record<RequestKind | 'sub-agent', string>> = {
  approval: 'It did not run.',
  question: 'It was not answered.',
  interrupt: 'It stopped before it was done.',
  'sub-agent': 'It stopped before it was done.',
  unavailable: 'It did not run.',
  recall: 'It did not run.',
  doubt: 'It had started, and it is unknown whether it took effect.',
};

/** For callers that pass the tools, and for people who decide in a stored run. */
const WITHOUT_TOOL = 'add it to the tools of the call or of the agent, or reject or cancel it';

function checkLeaf(leaf: Leaf, tools: Tools, defined: Tools): MaybePromise<readonly DecisionFault[]> {
  const { call, decision, where, path } = leaf;
  if (decision.type === 'reject' || decision.type === 'cancel') return FITS;
  if (decision.type === 'revise')
    return canBeSentBack(call) ? FITS : [{ where, problem: `${call.name} ${NOT_SENT_BACK}` }];
  if (isRecallable(call) && !isByDeadline(decision)) return [{ where, problem: `${call.name} ${ONLY_RECALLED}` }];
  let available: Tools | undefined = tools;
  for (const outer of path) {
    available = available?.get(outer.name)?.innerTools?.();
    // The body of a tool may call `generate` with tools that only it knows; it checks their decisions itself.
    if (!available && !outer.subAgent?.recorded) return FITS;
  }
  // An answer runs nothing, so its tool need not be available to the model.
  const tool = available?.get(call.name) ?? (decision.type === 'respond' ? defined.get(call.name) : undefined);
  // A person can say how a call ended even if its tool is missing.
  if (!tool && decision.type === 'respond' && isInDoubt(call)) return FITS;
  if (!tool) return [{ where, problem: `the tool ${call.name} is not available here; ${WITHOUT_TOOL}` }];
  const answerSchema = askedAnswer(askedBy(call))?.answerSchema;
  if (decision.type === 'respond') {
    const what = `the answer to ${call.name} (${call.ref})`;
    return misfits(
      answerSchema ? asSchema(limitedSchema(answerSchema) ?? answerSchema, what) : tool.output,
      decision.output,
      where,
      what,
    );
  }
  if (answerSchema) return [{ where, problem: `${call.name} (${call.ref}) asks for an answer; use respond` }];
  // Also if a tool has since replaced the request.
  if (!tool.body || (call.phase.at === 'waiting' && call.phase.request.kind === 'question'))
    return [{ where, problem: `${call.name} (${call.ref}) is a question and has nothing to run; use respond` }];
  if (decision.input === undefined) return FITS;
  return misfits(tool.input, decision.input, where, `the edited input of ${call.name} (${call.ref})`);
}

/** Only a call whose body has not asked: the model calls its tool again. */
const canBeSentBack = (call: Call): boolean => askedBy(call)?.kind === 'approval';

const NOT_SENT_BACK = 'does not ask for an approval before it runs, so nobody can ask for changes; decide it otherwise';

const ONLY_RECALLED =
  'is approved and starts by itself when its time to recall has passed; until then it can only be rejected';

const FITS: readonly DecisionFault[] = [];

/** The schema gets a copy, so that it cannot change the decision. */
async function misfits(
  schema: ToolDefinition['input'],
  given: Json,
  where: string,
  what: string,
): Promise<readonly DecisionFault[]> {
  try {
    const checked = await schema.validate(copyOf(given));
    if (checked.ok) return [];
    const problem = `${what} does not fit its schema: ${checked.problems.join('; ')}`;
    return [{ where, problem, issues: checked.issues }];
  } catch (error) {
    return [{ where, problem: `${what} could not be checked, because its schema threw: ${messageOf(error)}` }];
  }
}

export function invalidResume(faults: readonly DecisionFault[]): UsageError | ConflictError {
  const list = faults.map(({ where, problem }) => `${where}: ${problem}`).join('; ');
  const message = `These decisions do not match the pending interrupts, and nothing ran. ${list}.`;
  const details = {
    faults: faults.map(({ where, problem, issues }) => ({ where, problem, ...(issues && { issues }) })),
  };
  return faults.every((fault) => fault.stale)
    ? new ConflictError('already-decided', details, message)
    : new UsageError('invalid-resume', details, message);
}
