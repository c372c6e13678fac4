// The one path of a decision: read the run, check the decision against it, record it, drive the run on.
import { type Decisions, readResume } from '../core/decide.ts';
import { drillMark } from '../core/drill.ts';
import { InvariantError } from '../core/errors.ts';
import type { State } from '../core/state.ts';
import { applyDecisions, checkResume } from '../loop/resume.ts';
import type { Run } from '../loop/run.ts';
import type { Drives } from './driving/driving.ts';
import { dryRun } from './dry-run.ts';
import { checkChain } from './port/chain.ts';
import { readRun } from './port/read-run.ts';
import { unknownInterrupt, unknownRun } from './port/run-id.ts';
import { refuseLarge } from './port/run-limit.ts';
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

/** Adds the user's message to the conversation. It withdraws none of the calls in `kept`. */
export type Say = (run: Run, kept: ReadonlySet<string>) => void;

/** The run that this attempt read. */
type Loaded = { readonly run: RunRecord; readonly state: State; readonly size: number };

/** When it was recorded, or why the run must be read again. `claim-lost`: another worker drives the run. */
type Attempt = { readonly at: number } | 'stale-version' | 'claim-lost';

/** `onRecorded` is awaited once the decision is durable, before anything runs. It must not reject. */
type Recording = DecideOptions & { readonly onRecorded?: () => Promise<void> };

/** A message that is sent with decisions. `now`: it is recorded with them. */
type Words = { readonly say: Say; readonly now: boolean };

/** Decides one question. `read` is the run as the caller has just read it, for the first attempt. */
export async function decideOne(
  drives: Drives,
  interruptId: string,
  decision: DecisionInput,
  options: Recording,
  read?: LoadedRun,
): Promise<Decided> {
  const { by = null, channel = null, note = null } = options;
  const settlement = checkDecider({ decision: decisionOf(decision), by, channel, note });
  const runId = runIdOf(interruptId);
  await drives.time.tell();
  for (let mayBegin = true, known = read; ; known = undefined) {
    const loaded = await load(drives, runId, () => unknownInterrupt(interruptId), known);
    const card = pendingCards(runId, loaded.state).get(interruptId);
    // The question may be newer than what the caller read.
    if (!card && known) continue;
    if (!card) return recorded(drives, interruptId, decision);
    await refuseOutdated(drives.store, interruptId, card, options.digest);
    const decided = new Map([[interruptId, { card, settlement }]]);
    const decisions = readResume([decisionPart(card.part, decision, options)]);
    const attempt = await tryDecisions(drives, loaded, decisions, decided, options, mayBegin);
    if (typeof attempt === 'object') return { interruptId, runId, ...settlement, ...attempt, ...drillMark(loaded.run) };
    mayBegin = attempt !== 'claim-lost';
  }
}

/** Decides several questions of one run as a whole. Returns true if `say` was recorded with them. */
export async function decideSeveral(
  drives: Drives,
  runId: string,
  decisions: Decisions,
  { say, ...options }: DecideOptions & { readonly say?: Say },
): Promise<boolean> {
  await drives.time.tell();
  const signed = signDecisions(decisions, options);
  for (let mayBegin = true; ; ) {
    const loaded = await load(drives, runId, () => unknownRun(runId));
    const { decided, late } = resumptionOf(runId, loaded.state, signed);
    const open = await withoutSame(drives.store, signed, late);
    if (!open) return false;
    if (loaded.state.ended) throw endedRun(runId);
    const words = say && { say, now: mayBegin && loaded.run.status !== 'running' };
    const attempt = await tryDecisions(drives, loaded, open, decided, options, mayBegin, words);
    if (typeof attempt === 'object') return words?.now === true;
    mayBegin = attempt !== 'claim-lost';
  }
}

async function load({ store }: Drives, runId: string, unknown: () => Error, known?: LoadedRun): Promise<Loaded> {
  const loaded = known ?? (await readRun(store, runId));
  if (!loaded) throw unknown();
  const size = await checkChain(loaded);
  return { run: loaded.run, state: await stateOfRun(loaded), size };
}

/** Checks the decisions against the deadlines, the tools and the caller's policy, and records them. */
async function tryDecisions(
  drives: Drives,
  loaded: Loaded,
  decisions: Decisions,
  decided: Resumption['decided'],
  options: Recording,
  mayBegin: boolean,
  words?: Words,
): Promise<Attempt> {
  const { run: recorded, state } = loaded;
  await fetchTimeIfExpired(recorded.id, state, drives.time);
  const isTooLate = (now: number) => [...decided.values()].some(({ card }) => isExpired(card, now));
  if (isTooLate(drives.clock())) return expire(drives, loaded, options, mayBegin);
  const agent = drives.agent(recorded.agent);
  const { matched, leaves } = await checkResume(state, decisions, { tools: agent.tools(), defined: agent.defined() });
  if (options.mayDecide) await askPolicy(options.mayDecide, recorded, decided, leaves);
  const at = drives.clock();
  if (matched.length === 0 && !words?.now) return { at };
  // Checking the decision may have taken until after the deadline.
  if (isTooLate(at)) return 'stale-version';
  const change =
    (say: Say | undefined): Change =>
    (run, settling) => {
      // A message comes after every deadline that has passed.
      if (say) expireCards(run, settling, at);
      for (const [key, { settlement }] of decided) settling.settle(key, { ...settlement, at });
      applyDecisions(run, matched, decisions.metadata);
      // The message does not answer a doubt that the person has not seen.
      if (say) withdrawing(run, settling, { by: options.by ?? null, at }, () => say(run, newlyInDoubt(run.state)));
    };
  // If the message will be refused, even later, nothing is decided either.
  const added = dryRun(recorded.id, state, change(words?.say));
  refuseLarge(drives.runLimit, loaded, added, words ? 'message' : 'decision');
  const begins = mayBegin && (recorded.status === 'waiting' || words?.now === true);
  return record(drives, loaded, change(words?.now ? words.say : undefined), options, begins, at);
}

/** Records what the deadlines that have passed decide. Then the run must be read again. */
async function expire(drives: Drives, loaded: Loaded, options: DecideOptions, mayBegin: boolean): Promise<Attempt> {
  const at = drives.clock();
  const change: Change = (run, settling) => {
    expireCards(run, settling, at);
    if (run.state !== loaded.state) return;
    throw new InvariantError('invariant', { runId: settling.runId }, 'A deadline that has passed decided nothing.');
  };
  const attempt = await record(drives, loaded, change, options, mayBegin && loaded.run.status === 'waiting', at);
  return attempt === 'claim-lost' ? attempt : 'stale-version';
}

type Change = (run: Run, settling: Settling) => void;

/** With `mayBegin`, the run is driven on at once, and the change becomes durable together with the start of its call. */
async function record(
  drives: Drives,
  { run: record, state }: Loaded,
  change: Change,
  options: Recording,
  mayBegin: boolean,
  at: number,
): Promise<Attempt> {
  const begins = mayBegin && options.drive !== false && !options.onRecorded;
  const agent = drives.agent(record.agent);
  const claim = begins ? 'enter' : 'take';
  const open = drives.open(record, state, agent, { ...options, claim });
  const { run, journal } = open;
  change(run, journal);
  const refusal = await refusalOf(begins ? drives.begin(open) : journal.recorded());
  if (refusal) return refusal;
  await options.onRecorded?.();
  if (begins || !journal.holds) return { at };
  if (options.drive === false) await journal.finish();
  else await drives.driveOrLeave(open);
  return { at };
}

/** The recorded decision if it is the same one. Throws if the question was decided differently. */
async function recorded({ store }: Drives, interruptId: string, decision: DecisionInput): Promise<Decided> {
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
