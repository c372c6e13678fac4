// Resuming: decisions are checked as a whole, then recorded as facts. Nothing runs here.

import { mayDecide } from '../core/authority/may-decide.ts';
import { ANYONE, isPlain, type Policies } from '../core/authority/policy.ts';
import { tally } from '../core/authority/tally.ts';
import { ConflictError, messageOf, UsageError } from '../core/errors.ts';
import { copyOf, type Json, toJson } from '../core/json.ts';
import { type Call, isInDoubt, pendingInterruptId } from '../core/run/call.ts';
import {
  type DecisionFault,
  type Decisions,
  type Leaf,
  type Matched,
  type Matching,
  matchDecisions,
  recordedBound,
} from '../core/run/decide.ts';
import {
  answerFor,
  type Decision,
  type EditBound,
  event,
  type Interrupt,
  type InterruptKind,
  isByDeadline,
  type Result,
} from '../core/run/event.ts';
import type { State } from '../core/run/state.ts';
import { hasSubAgent, isSubAgentInDoubt } from '../core/run/sub-agents.ts';
import { boundEdit } from './call/bound-input.ts';
import { isCounted } from './call/handed-over.ts';
import { judgeEdit } from './call/judge-edit.ts';
import type { Driver, Run } from './run.ts';
import { limitedSchema } from './tool/data-schema.ts';
import type { ToolDefinition } from './tool/definition.ts';
import { asSchema } from './tool/schema.ts';

export { DEADLINE } from '../core/run/event.ts';

type Tools = ReadonlyMap<string, ToolDefinition>;

/** What decisions are checked against. `bounds`: what edits on the cards are bound to, in a store, which counts the votes. */
export type KnownTools = {
  readonly tools: Tools;
  readonly defined: Tools;
  readonly bounds?: ReadonlyMap<string, EditBound | undefined>;
  /** Without a store: who asks the gate about edits. */
  readonly driver?: Driver;
};

/** Throws one error with every fault. Without `known` tools, the decisions were checked before they were recorded. */
export async function checkResume(
  state: State,
  decisions: Decisions,
  known: KnownTools | undefined,
): Promise<Pick<Matching, 'matched' | 'leaves'>> {
  if (decisions.entries.length === 0 && decisions.faults.length === 0) return NOTHING;
  const match = (boundOf?: Parameters<typeof matchDecisions>[3]) =>
    matchDecisions(state.turn, decisions, (ref) => state.refs.has(ref), boundOf);
  const { matched, leaves, faults } = match(known ? undefined : recordedBound);
  const checked = known ? await Promise.all(leaves.map((leaf) => checkLeaf(leaf, known.tools, known.defined))) : [];
  const misfits = [...faults, ...checked.flat()];
  const isCountedHere = known && !known.bounds && misfits.length === 0;
  const uncounted = isCountedHere ? await uncountedVotes(decisions, leaves, known) : [];
  const all = [...misfits, ...uncounted];
  if (all.length > 0) throw invalidResume(all);
  const bounds = known ? await boundEdits(leaves, known) : NO_EDITS;
  return bounds.size > 0 ? match((where) => bounds.get(where)) : { matched, leaves };
}

const NOTHING = { matched: [], leaves: [] };
const NO_EDITS: ReadonlyMap<string, EditBound> = new Map();

/** Without a store, a decision is one vote without roles, and it is not known who asked. An edit must satisfy its own policies too. */
async function uncountedVotes(
  { entries }: Decisions,
  leaves: readonly Leaf[],
  known: KnownTools,
): Promise<readonly DecisionFault[]> {
  const parts = new Map(entries.map(({ where, part }) => [where, part]));
  const faults: DecisionFault[] = [];
  for (const leaf of leaves) {
    const { call, where } = leaf;
    // The stored run around this `generate` has counted it.
    if (call.phase.at !== 'waiting' || isCounted(parts.get(where))) continue;
    const problem = await whyUncounted(leaf, call.phase.interrupt, known);
    if (problem !== undefined) faults.push({ where, problem: `${call.name} (${call.ref}): ${problem}` });
  }
  return faults;
}

async function whyUncounted(
  { call, path, decision }: Leaf,
  { policies, requesters = [] }: Interrupt,
  { tools, defined, driver }: KnownTools,
): Promise<string | undefined> {
  const { by = null, type } = decision;
  const vote = { by, decision: { type } };
  const ballot = { votes: [vote], requesters: [...requesters, ...(by === null ? [] : [by])] };
  const whyNot = (counted: Policies, input: Json): string | undefined => {
    if (isPlain(counted)) return undefined;
    const verdict = mayDecide(counted, ballot, vote);
    if (!verdict.ok) return `${verdict.why} ${COUNTED_IN_RUNS}`;
    const isShort = tally(counted, ballot, input).status === 'waiting';
    return isShort ? `Its policy asks for more votes. ${COUNTED_IN_RUNS}` : undefined;
  };
  const problem = whyNot(policies, call.input);
  const isEdit = decision.type === 'approve' || decision.type === 'restart';
  const input = isEdit ? decision.input : undefined;
  if (problem !== undefined || input === undefined || !driver) return problem;
  const tool = subAgentTools(path, tools)?.get(call.name) ?? defined.get(call.name);
  const edited = await judgeEdit(driver, tool, call, input, requesters);
  if (!edited.ok) return edited.why;
  return edited.judged.then === 'ask' ? whyNot(edited.judged.governed.policies, input) : undefined;
}

const COUNTED_IN_RUNS = 'Votes are counted in stored runs: use an agent with a store';

/** Binds edits, and calls that `returnToolRequests` handed out, to what the schema makes of their input now. */
async function boundEdits(
  leaves: readonly Leaf[],
  { tools, bounds: shown }: KnownTools,
): Promise<ReadonlyMap<string, EditBound>> {
  const bounds = new Map<string, EditBound>();
  for (const { call, decision, path, where } of leaves) {
    if (decision.type !== 'restart' && decision.type !== 'approve') continue;
    const { input = call.phase.at === 'open' ? call.input : undefined } = decision;
    const tool = subAgentTools(path, tools)?.get(call.name);
    const isShown = shown?.has(where) === true;
    const bound = isShown ? shown.get(where) : tool && input !== undefined && (await boundEdit(tool, call, input));
    if (bound) bounds.set(where, bound);
  }
  return bounds;
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
  for (const { call, interruptId: id, decision } of decisions) {
    // A call that `returnToolRequests` handed out has not asked anything yet.
    if (call.phase.at === 'open' && decision.type !== 'inside')
      run.record(
        event({
          type: 'call-interrupted',
          callId: call.id,
          interrupt: { id, kind: 'question', payload: true, policies: ANYONE, readAnew: true },
        }),
      );
    run.record(event({ type: 'decision-made', callId: call.id, interruptId: id, decision, resumed: note.value }));
    const result = resultOf(call, decision);
    if (result) run.record(event({ type: 'call-settled', callId: call.id, result }));
  }
}

/** Cancels every open call except those in `kept`, because the user spoke instead of deciding. */
export function cancelOpenCalls(run: Run, kept: ReadonlySet<string>, by: string | undefined): void {
  for (const call of run.state.turn?.calls ?? []) {
    const { phase } = call;
    if (phase.at === 'settled' || kept.has(call.id)) continue;
    if (run.keepsDecision(call)) continue;
    const reason = 'The user sent a message instead.';
    const decision: Decision = { type: 'cancel', reason, ...(by !== undefined && { by }) };
    const interruptId = pendingInterruptId(call);
    if (interruptId !== undefined)
      run.record(event({ type: 'decision-made', callId: call.id, interruptId, decision, resumed: true }));
    run.record(event({ type: 'call-settled', callId: call.id, result: resultOf(call, decision) as Result }));
  }
}

function resultOf(call: Call, decision: Decision): Result | undefined {
  if (answerFor(askedBy(call), decision)) return undefined;
  switch (decision.type) {
    case 'respond':
      return { type: 'output', output: decision.output, metadata: { interruptResponse: decision.metadata ?? true } };
    case 'reject':
      return { type: 'rejected', ...refusal(call, rejectedBy(decision), decision.reason) };
    case 'cancel':
      return { type: 'cancelled', ...refusal(call, 'was cancelled', decision.reason) };
    case 'restart':
    case 'approve':
    case 'inside':
      return undefined;
  }
}

const askedBy = ({ phase }: Call): Interrupt | undefined => (phase.at === 'waiting' ? phase.interrupt : undefined);

const rejectedBy = (decision: Decision): string =>
  isByDeadline(decision) ? 'was rejected, because its deadline passed' : 'was rejected by a person';

/** Says explicitly that nothing ran: a model mistakes a vague refusal for success. */
function refusal(call: Call, verb: string, reason: string | undefined): { text: string; mayHaveActed?: true } {
  const kind = isSubAgentInDoubt(call) ? 'unknown-outcome' : kindOf(call);
  const because = reason ? ` Reason: ${reason}` : '';
  const text = `${call.name} ${verb}. ${CONSEQUENCE[kind]}${because}`;
  return kind === 'unknown-outcome' ? { text, mayHaveActed: true } : { text };
}

function kindOf(call: Call): keyof typeof CONSEQUENCE {
  const { phase } = call;
  if (isInDoubt(call)) return 'unknown-outcome';
  if (hasSubAgent(call)) return 'sub-agent';
  if (phase.at === 'started') return 'unknown-outcome';
  if (phase.at === 'waiting' && !MAY_COME_LATE.has(phase.interrupt.kind)) return phase.interrupt.kind;
  // A person let it run again, but the process that had started it may only have been asleep.
  if (call.approvals.includes('unknown-outcome')) return 'unknown-outcome';
  return hadBegun(call) ? 'interrupt' : 'approval';
}

/** Questions that may come before the body, or, after a deploy, before it continues. */
const MAY_COME_LATE: ReadonlySet<InterruptKind> = new Set(['approval', 'unavailable']);

/** The body has done some of its steps, or was given an answer to continue with. */
function hadBegun({ steps, resumed, decided, approvals }: Call): boolean {
  if (steps.size > 0 || approvals.includes('interrupt')) return true;
  if (resumed === undefined || decided === undefined) return false;
  return decided.interrupt === undefined || !ASKED_BEFORE.has(decided.interrupt.kind);
}

const ASKED_BEFORE: ReadonlySet<InterruptKind> = new Set(['approval', 'question']);

const CONSEQUENCE: Readonly<Record<InterruptKind | 'sub-agent', string>> = {
  approval: 'It did not run.',
  question: 'It was not answered.',
  interrupt: 'It stopped before it was done.',
  'sub-agent': 'It stopped before it was done.',
  unavailable: 'It did not run.',
  'unknown-outcome': 'It had started, and it is unknown whether it took effect.',
};

/** For callers that pass the tools, and for people who decide in a stored run. */
const WITHOUT_TOOL = 'add it to the tools of the call or of the agent, or reject or cancel it';

async function checkLeaf(leaf: Leaf, tools: Tools, defined: Tools): Promise<readonly DecisionFault[]> {
  const { call, decision, where, path } = leaf;
  if (decision.type === 'reject' || decision.type === 'cancel') return [];
  let available: Tools | undefined = tools;
  for (const outer of path) {
    available = available?.get(outer.name)?.innerTools?.();
    // The body of a tool may call `generate` with tools that only it knows; it checks their decisions itself.
    if (!available && !outer.subAgent?.recorded) return [];
  }
  // An answer runs nothing, so its tool need not be available to the model.
  const tool = available?.get(call.name) ?? (decision.type === 'respond' ? defined.get(call.name) : undefined);
  // A person can say how a call ended even if its tool is missing.
  if (!tool && decision.type === 'respond' && isInDoubt(call)) return [];
  if (!tool) return [{ where, problem: `the tool ${call.name} is not available here; ${WITHOUT_TOOL}` }];
  const answerSchema = askedBy(call)?.answerSchema;
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
  // Also if a tool has since replaced the question.
  if (!tool.body || (call.phase.at === 'waiting' && call.phase.interrupt.kind === 'question'))
    return [{ where, problem: `${call.name} (${call.ref}) is a question and has nothing to run; use respond` }];
  if (decision.type === 'inside' || decision.input === undefined) return [];
  return misfits(tool.input, decision.input, where, `the edited input of ${call.name} (${call.ref})`);
}

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
