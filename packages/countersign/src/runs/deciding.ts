// The one path of a decision: read the run, check the decision against it, record it, drive the run on.
import { type Decisions, type Matching, readResume } from '../core/decide.ts';
import { InvariantError } from '../core/errors.ts';
import type { State } from '../core/state.ts';
import { applyDecisions, checkResume } from '../loop/resume.ts';
import type { Run } from '../loop/run.ts';
import type { Drives } from './driving/driving.ts';
import { dryRun } from './dry-run.ts';
import { bufferUntilDurable } from './journal/buffer-until-durable.ts';
import { checkChain } from './port/chain.ts';
import { readRun } from './port/read-run.ts';
import { unknownInterrupt, unknownRun } from './port/run-id.ts';
import { refuseLargeDecision, refuseLargeMessage } from './port/run-limit.ts';
import type { LoadedRun, RunRecord, Store } from './port/store.ts';
import { refusalOf } from './port/store-errors.ts';
import { newlyInDoubt, pendingCards, runIdOf } from './questions/card.ts';
import {
  checkDecider,
  type DecisionInput,
  decisionOf,
  decisionPart,
  type Resumption,
  resumptionOf,
  signDecisions,
  withoutEntries,
} from './questions/decision.ts';
import { expireCards, fetchTimeIfExpired, isExpired, type Settling } from './questions/expiry.ts';
import { askPolicy } from './questions/policy.ts';
import { type Decided, endedRun, refuseOutdated, settledAs } from './questions/settled.ts';
import { stateOfRun } from './questions/view.ts';
import { withdrawing } from './questions/withdrawing.ts';
import type { DecideOptions } from './run-options.ts';

type Desk = { readonly store: Store; readonly drives: Drives };

/** Adds the user's message to the conversation. It withdraws none of the calls in `kept`. */
export type Say = (run: Run, kept: ReadonlySet<string>) => void;

/** The run that this attempt read. */
type Loaded = { readonly run: RunRecord; readonly state: State; readonly size: number };

/** Decisions that fit that run. */
type Checked = Pick<Matching, 'matched'> & Pick<Resumption, 'decided'> & { readonly metadata?: unknown };

/** When it was recorded, or why the run must be read again. `claim-lost`: another worker drives the run. */
type Attempt = { readonly at: number } | 'stale-version' | 'claim-lost' | 'expired';

/** Decides one question. `read` is the run as the caller has just read it, for the first attempt. */
export async function decideOne(
  desk: Desk,
  interruptId: string,
  decision: DecisionInput,
  options: DecideOptions,
  read?: LoadedRun,
): Promise<Decided> {
  const { by = null, channel = null, note = null } = options;
  const settlement = checkDecider({ decision: decisionOf(decision), by, channel, note });
  const runId = runIdOf(interruptId);
  await desk.drives.refreshTime();
  for (let mayBegin = true, known = read; ; known = undefined) {
    const loaded = await load(desk, runId, () => unknownInterrupt(interruptId), known);
    const card = pendingCards(runId, loaded.state).get(interruptId);
    // The question may be newer than what the caller read.
    if (!card && known) continue;
    if (!card) return recorded(desk, interruptId, decision);
    const decided = new Map([[interruptId, { card, settlement }]]);
    if (await isOver(desk, loaded, decided)) mayBegin = await expire(desk, loaded, options, mayBegin);
    else {
      await refuseOutdated(desk.store, interruptId, card, options.digest);
      const decisions = readResume([decisionPart(card.part, decision, options)]);
      const checked = await checkFit(desk, loaded, decisions, decided, options);
      const attempt = await recordChecked(desk, loaded, checked, options, mayBegin);
      if (typeof attempt === 'object') return { interruptId, runId, ...settlement, ...attempt };
      mayBegin = attempt !== 'claim-lost';
    }
  }
}

/** Decides several questions of one run as a whole. Returns true if `say` was recorded with them. */
export async function decideSeveral(
  desk: Desk,
  runId: string,
  decisions: Decisions,
  { say, ...options }: DecideOptions & { readonly say?: Say },
): Promise<boolean> {
  await desk.drives.refreshTime();
  const signed = signDecisions(decisions, options);
  for (let mayBegin = true; ; ) {
    const loaded = await load(desk, runId, () => unknownRun(runId));
    const { decided, late } = resumptionOf(runId, loaded.state, signed);
    const open = await withoutSame(desk.store, signed, late);
    if (!open) return false;
    if (loaded.state.ended) throw endedRun(runId);
    if (await isOver(desk, loaded, decided)) mayBegin = await expire(desk, loaded, options, mayBegin);
    else {
      const checked = await checkFit(desk, loaded, open, decided, options);
      const words = say && { say, now: mayBegin && loaded.run.status !== 'running' };
      const attempt = await recordChecked(desk, loaded, checked, options, mayBegin, words);
      if (typeof attempt === 'object') return words?.now === true;
      mayBegin = attempt !== 'claim-lost';
    }
  }
}

async function load({ store }: Desk, runId: string, unknown: () => Error, known?: LoadedRun): Promise<Loaded> {
  const loaded = known ?? (await readRun(store, runId));
  if (!loaded) throw unknown();
  const size = await checkChain(loaded);
  return { run: loaded.run, state: await stateOfRun(loaded), size };
}

/** A deadline passed before the decision, by the time of the store. */
async function isOver({ drives }: Desk, { run, state }: Loaded, decided: Resumption['decided']): Promise<boolean> {
  await fetchTimeIfExpired(run.id, state, drives);
  return isAnyExpired(decided, drives.clock());
}

function isAnyExpired(decided: Resumption['decided'], now: number): boolean {
  return [...decided.values()].some(({ card }) => isExpired(card, now));
}

/** Records what the deadlines that have passed decide. Returns false if another worker drives the run. */
async function expire(desk: Desk, loaded: Loaded, options: DecideOptions, mayBegin: boolean): Promise<boolean> {
  const at = desk.drives.clock();
  const change: Change = (run, settling) => {
    expireCards(run, settling, at);
    if (run.state !== loaded.state) return;
    throw new InvariantError('invariant', { runId: settling.runId }, 'A deadline that has passed decided nothing.');
  };
  const attempt = await record(desk, loaded, change, options, mayBegin && loaded.run.status === 'waiting', at);
  return attempt !== 'claim-lost';
}

/** Checks the decisions against the tools and the caller's policy. */
async function checkFit(
  { drives }: Desk,
  { run, state }: Loaded,
  decisions: Decisions,
  decided: Resumption['decided'],
  { mayDecide }: DecideOptions,
): Promise<Checked> {
  const agent = drives.agent(run.agent);
  const tools = { tools: agent.tools(), defined: agent.defined() };
  const { matched, leaves } = await checkResume(state, decisions, tools);
  if (mayDecide) await askPolicy(mayDecide, run, decided, leaves);
  return { matched, decided, metadata: decisions.metadata };
}

async function recordChecked(
  desk: Desk,
  loaded: Loaded,
  { matched, decided, metadata }: Checked,
  options: DecideOptions,
  mayBegin: boolean,
  words?: { readonly say: Say; readonly now: boolean },
): Promise<Attempt> {
  const at = desk.drives.clock();
  const { run, state } = loaded;
  if (matched.length === 0 && !words?.now) return { at };
  // Checking the decision may have taken until after the deadline.
  if (isAnyExpired(decided, at)) return 'expired';
  const change =
    (say: Say | undefined): Change =>
    (run, settling) => {
      // A message comes after every deadline that has passed.
      if (say) expireCards(run, settling, at);
      for (const [key, { settlement }] of decided) settling.settle(key, { ...settlement, at });
      applyDecisions(run, matched, metadata);
      // The message does not answer a doubt that the person has not seen.
      if (say) withdrawing(run, settling, { by: options.by ?? null, at }, () => say(run, newlyInDoubt(run.state)));
    };
  // If the message will be refused, even later, nothing is decided either.
  const added = dryRun(run.id, state, change(words?.say));
  (words ? refuseLargeMessage : refuseLargeDecision)(desk.drives.runLimit, loaded, added);
  const begins = mayBegin && (run.status === 'waiting' || words?.now === true);
  return record(desk, loaded, change(words?.now ? words.say : undefined), options, begins, at);
}

type Change = (run: Run, settling: Settling) => void;

/** With `mayBegin`, the run is driven on at once, and the change becomes durable together with the start of its call. */
async function record(
  { drives }: Desk,
  { run: record, state }: Loaded,
  change: Change,
  options: DecideOptions,
  mayBegin: boolean,
  at: number,
): Promise<Exclude<Attempt, 'expired'>> {
  const begins = mayBegin && options.drive !== false;
  const chunks = options.onChunk && bufferUntilDurable(options.onChunk);
  const driving = { ...options, ...(chunks && { onChunk: chunks.hear }) };
  const agent = drives.agent(record.agent);
  const { run, journal } = drives.open(record, state, agent, {
    onStale: 'fail',
    emit: chunks?.hear,
    ...(begins && { claim: 'enter' }),
  });
  change(run, journal);
  const refusal = await refusalOf(begins ? drives.begin(agent, run, journal, driving) : journal.recorded());
  if (refusal) return refusal;
  chunks?.release();
  if (begins || !journal.holds) return { at };
  if (options.drive === false) await journal.finish();
  else await drives.driveOrLeave(agent, run, journal, driving);
  return { at };
}

/** The recorded decision if it is the same one. Throws if the question was decided differently. */
async function recorded({ store }: Desk, interruptId: string, decision: DecisionInput): Promise<Decided> {
  const record = await store.interrupt(interruptId);
  if (!record) throw unknownInterrupt(interruptId);
  return settledAs(record, decision);
}

/** The decisions that are not recorded yet; undefined if there are none. Throws if one was decided differently. */
async function withoutSame(
  store: Store,
  decisions: Decisions,
  late: Resumption['late'],
): Promise<Decisions | undefined> {
  const same = new Set<string>();
  for (const { where, key, decision } of late) {
    const record = await store.interrupt(key);
    if (!record || record.settledAt === null) continue;
    settledAs(record, decision);
    same.add(where);
  }
  return same.size > 0 ? withoutEntries(decisions, same) : decisions;
}
