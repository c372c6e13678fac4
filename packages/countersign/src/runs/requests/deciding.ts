// The one path of a decision: read the run, check the decision against it, record it, drive the run on.
import { roundId } from '../../core/authority/ballots.ts';
import { dueOn } from '../../core/authority/due.ts';
import type { Vote } from '../../core/authority/policy.ts';
import { isEdit, type Missing } from '../../core/authority/tally.ts';
import { InvariantError } from '../../core/errors.ts';
import { defined, sameJson } from '../../core/json.ts';
import { type Decisions, readResume } from '../../core/run/decide.ts';
import { drillMark } from '../../core/run/drill.ts';
import type { State } from '../../core/run/state.ts';
import { applyDecisions, checkResume } from '../../loop/resume.ts';
import type { Run } from '../../loop/run.ts';
import type { Drives } from '../driving/driving.ts';
import { refuseUnchecked } from '../driving/recorded-agent.ts';
import { stayFailed } from '../journal/outcome.ts';
import { checkedSignature } from '../passkeys/check-signature.ts';
import { Passkeys } from '../passkeys/passkeys.ts';
import { voterOf } from '../people.ts';
import { checkChain } from '../port/chain.ts';
import { readRun } from '../port/read-run.ts';
import { unknownInterrupt, unknownRun } from '../port/run-id.ts';
import { refuseLarge } from '../port/run-limit.ts';
import type { LoadedRun, RunRecord, Store } from '../port/store.ts';
import { refusalOf } from '../port/store-errors.ts';
import type { DecideOptions } from '../run-options.ts';
import { interruptKey, newlyInDoubt, type PendingCard, pendingCards, runIdOf } from './card.ts';
import {
  checkDecider,
  type DecisionInput,
  decisionOf,
  decisionPart,
  type Resumption,
  resumptionOf,
  type Signed,
  signDecisions,
  withoutEntries,
} from './decision.ts';
import { dryRun } from './dry-run.ts';
import { dueEscalations, waitingOn } from './escalation.ts';
import { expireCards, fetchTimeIfExpired, isExpired, type Settling } from './expiry.ts';
import { progressOn } from './progress.ts';
import { rejudge } from './rejudge.ts';
import { type Decided, endedRun, refuseOutdated, settledAs } from './settled.ts';
import { stateOfRun } from './view.ts';
import { type Cast, castVotes, type Electorate, onRecord, type RecordedDecisions, type SignVote } from './votes.ts';
import { withdrawing } from './withdrawing.ts';

/** Adds the user's message to the conversation. It withdraws none of the calls in `kept`. */
export type Say = (run: Run, kept: ReadonlySet<string>) => void;

/** The run that this attempt read. */
type Loaded = { readonly run: RunRecord; readonly state: State; readonly size: number };

/** When it was recorded, and the votes; or why the run must be read again. `claim-lost`: another worker drives the run. */
type Attempt = Recorded | 'stale-version' | 'claim-lost';
type Recorded = { readonly at: number; readonly casts: ReadonlyMap<string, Cast> };

/** The recorded decision, or the votes so far if the policy of the question asks for more of them. */
export type DecideResult =
  | ({ readonly status: 'settled' } & Decided)
  | {
      readonly status: 'waiting';
      /** The request to decide now: a new one if this vote edited the input. */
      readonly interruptId: string;
      readonly runId: string;
      readonly votes: readonly Vote[];
      readonly missing: readonly Missing[];
    };

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
): Promise<DecideResult> {
  const { by = null, channel = null, note = null } = options;
  const settlement = checkDecider({ decision: decisionOf(decision), by, channel, note });
  const runId = runIdOf(interruptId);
  await drives.time.tell();
  for (let mayBegin = true, known = read; ; known = undefined) {
    const loaded = await loadRun(drives, runId, () => unknownInterrupt(interruptId), known);
    const card = pendingCards(runId, loaded.state).get(interruptId);
    // The question may be newer than what the caller read.
    if (!card && known) continue;
    if (!card) return recorded(drives, loaded, interruptId, decision, options);
    await refuseOutdated(drives.store, interruptId, card, options.digest);
    const decided = new Map([[interruptId, { card, settlement }]]);
    const decisions = readResume([decisionPart(card.part, decision, options)]);
    const attempt = await tryDecisions(drives, loaded, onRecord(decisions, [card]), decided, options, mayBegin);
    if (typeof attempt === 'object') {
      const result = resultOf(interruptId, runId, settlement, attempt);
      return result.status === 'settled' ? { ...result, ...drillMark(loaded.run) } : result;
    }
    mayBegin = attempt !== 'claim-lost';
  }
}

function resultOf(interruptId: string, runId: string, settlement: Signed, { at, casts }: Recorded): DecideResult {
  const cast = casts.get(interruptId);
  if (cast?.status !== 'waiting')
    return { status: 'settled', interruptId, runId, ...settlement, at, ...(cast && { votes: cast.votes }) };
  const { card, round, votes, missing } = cast;
  return { status: 'waiting', interruptId: interruptKey(runId, roundId(card.id, round)), runId, votes, missing };
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
    const loaded = await loadRun(drives, runId, () => unknownRun(runId));
    const onCards = onRecord(signed, pendingCards(runId, loaded.state).values());
    const { decided, late } = resumptionOf(runId, loaded.state, onCards.decisions);
    const open = await withoutSame(drives.store, onCards.decisions, late);
    if (!open) return false;
    if (loaded.state.ended) throw endedRun(runId);
    const words = say && { say, now: mayBegin && loaded.run.status !== 'running' };
    const said = { ...onCards, decisions: open };
    const attempt = await tryDecisions(drives, loaded, said, decided, options, mayBegin, words);
    if (typeof attempt === 'object') return words?.now === true;
    mayBegin = attempt !== 'claim-lost';
  }
}

export async function loadRun(
  { store }: Drives,
  runId: string,
  unknown: () => Error,
  known?: LoadedRun,
): Promise<Loaded> {
  const loaded = known ?? (await readRun(store, runId));
  if (!loaded) throw unknown();
  const size = await checkChain(loaded);
  return { run: loaded.run, state: await stateOfRun(loaded), size };
}

/** Checks the decisions against the deadlines, the tools, the caller's policy and those of the questions, and records them. */
async function tryDecisions(
  drives: Drives,
  loaded: Loaded,
  { decisions, bounds }: RecordedDecisions,
  decided: Resumption['decided'],
  options: Recording,
  mayBegin: boolean,
  words?: Words,
): Promise<Attempt> {
  const { run: recorded, state } = loaded;
  await fetchTimeIfExpired(recorded.id, state, drives.time);
  const isTooLate = (now: number) => [...decided.values()].some(({ card }) => isExpired(card, now));
  if (isTooLate(drives.clock())) return expire(drives, loaded, options, mayBegin);
  const escalated = await escalate(drives, loaded, decided, options);
  if (escalated) return escalated;
  const agent = drives.agent(recorded.agent, state, options);
  const known = { tools: agent.tools(), defined: agent.defined(), bounds };
  const { matched: all, leaves } = await checkResume(state, decisions, known);
  refuseUnchecked(agent, leaves);
  const casts = await castVotes(recorded, decided, leaves, {
    voterOf: (signed: Signed, electorate: Electorate) => voterOf(drives.people, signed, options, electorate),
    isOnBehalf: options.onBehalfOf !== undefined,
    sign: signer(drives.store, options),
    rejudge: (edited) => rejudge(recorded, state, agent, edited),
    at: drives.clock(),
  });
  const waiting = new Set([...casts.values()].flatMap(({ status, where }) => (status === 'waiting' ? where : [])));
  const settling = waiting.size > 0 ? withoutEntries(decisions, waiting) : decisions;
  const matched = waiting.size > 0 ? (await checkResume(state, settling ?? NO_DECISIONS, known)).matched : all;
  const at = drives.clock();
  const isVote = [...casts.values()].some((cast) => cast.recorded);
  if (matched.length === 0 && !isVote && !words?.now) return { at, casts };
  // Checking the decision may have taken until after the deadline.
  if (isTooLate(at)) return 'stale-version';
  const change =
    (say: Say | undefined): Change =>
    (run, settling) => {
      // A message comes after every deadline that has passed.
      if (say) expireCards(run, settling, at);
      for (const [key, { settlement }] of decided)
        settle(settling, key, { ...settlement, ...defined({ seenForMs: options.seenForMs }) }, casts.get(key), at);
      for (const { recorded } of casts.values()) if (recorded) run.record(recorded);
      applyDecisions(run, matched, decisions.metadata);
      // The message does not answer a doubt that the person has not seen.
      if (say) withdrawing(run, settling, { by: options.by ?? null, at }, () => say(run, newlyInDoubt(run.state)));
    };
  // If the message will be refused, even later, nothing is decided either.
  const added = dryRun(recorded.id, state, change(words?.say));
  refuseLarge(drives.runLimit, loaded, added, words ? 'message' : 'decision');
  const begins = mayBegin && (recorded.status === 'waiting' || words?.now === true);
  // After a vote that settles nothing, there is nothing to drive.
  const drive = matched.length > 0 || words?.now === true ? begins : 'no';
  return record(drives, loaded, change(words?.now ? words.say : undefined), options, drive, { at, casts });
}

/** Undefined if the decision is not signed. */
function signer(store: Store, { signature }: DecideOptions): SignVote | undefined {
  if (signature === undefined) return undefined;
  const passkeys = new Passkeys(store.notes, () => store.now());
  return (interruptId, { by, decision, digest, onBehalfOf }, earlier) =>
    checkedSignature(passkeys, signature, { interruptId, by, decision, digest, onBehalfOf }, earlier);
}

const NO_DECISIONS: Decisions = { entries: [], faults: [] };

/** Says how the card ends: decided, or withdrawn because others must agree to an edit. A card that waits on has no end. */
function settle(settling: Settling, key: string, settlement: Signed, cast: Cast | undefined, at: number): void {
  if (!cast) settling.settle(key, { ...settlement, at });
  else if (cast.status === 'settled')
    settling.settle(key, { ...settlement, decision: cast.vote.decision, at, votes: cast.votes });
  else if (cast.asksAgain) settling.settle(key, { withdrawn: true, by: settlement.by, note: 'edited', at });
}

/** Records what the deadlines that have passed decide. Then the run must be read again. */
async function expire(drives: Drives, loaded: Loaded, options: DecideOptions, mayBegin: boolean): Promise<Attempt> {
  const at = drives.clock();
  const change: Change = (run, settling) => {
    expireCards(run, settling, at);
    if (run.state !== loaded.state) return;
    throw new InvariantError('invariant', { runId: settling.runId }, 'A deadline that has passed decided nothing.');
  };
  const begins = mayBegin && loaded.run.status === 'waiting';
  const attempt = await record(drives, loaded, change, options, begins, { at, casts: new Map() });
  return attempt === 'claim-lost' ? attempt : 'stale-version';
}

/** Records the escalations that no worker has recorded yet: those people may decide already. Then the run must be read again. */
async function escalate(
  drives: Drives,
  loaded: Loaded,
  decided: Resumption['decided'],
  options: DecideOptions,
): Promise<Attempt | undefined> {
  const at = drives.clock();
  if (![...decided.values()].some(({ card }) => dueOn(waitingOn(card), at))) return undefined;
  // If the directory of people fails, the decision counts without them, and a worker tries again.
  const due = await dueEscalations(loaded.run, loaded.state, at, drives.people).catch(() => []);
  if (due.length === 0) return undefined;
  const change: Change = (run) => {
    for (const escalation of due) run.record(escalation);
  };
  const attempt = await record(drives, loaded, change, options, 'no', { at, casts: new Map() });
  return attempt === 'claim-lost' ? attempt : 'stale-version';
}

export type Change = (run: Run, settling: Settling) => void;

/**
 * Makes the change durable. If `begins`, the run is driven on at once, and the change becomes durable together with the start
 * of its call. `no`: there is nothing to drive.
 */
export async function record(
  drives: Drives,
  { run: record, state }: Loaded,
  change: Change,
  options: Recording,
  drive: boolean | 'no',
  done: Recorded,
): Promise<Attempt> {
  const begins = drive === true && options.drive !== false && !options.onRecorded;
  const agent = drives.agent(record.agent, state, options);
  const claim = drive === 'no' ? 'none' : begins ? 'enter' : 'take';
  const open = drives.open(record, state, agent, { ...options, claim });
  const { run, journal } = open;
  change(run, journal);
  if (drive === 'no') stayFailed(run, record);
  const refusal = await refusalOf(begins ? drives.begin(open) : journal.recorded());
  if (refusal) return refusal;
  await options.onRecorded?.();
  if (begins || !journal.holds) return done;
  if (options.drive === false) await journal.finish();
  else await drives.driveOrLeave(open);
  return done;
}

/** The recorded decision if it is the same one. Throws if the question was decided differently. */
async function recorded(
  { store }: Drives,
  { run, state }: Loaded,
  interruptId: string,
  decision: DecisionInput,
  { by }: DecideOptions,
): Promise<DecideResult> {
  const record = await store.interrupt(interruptId);
  if (!record) throw unknownInterrupt(interruptId);
  const asked = askedAgain(pendingCards(run.id, state), run, interruptId, {
    by: by ?? null,
    decision: decisionOf(decision),
  });
  return asked ?? { status: 'settled', ...settledAs(record, decision) };
}

/** The question as it waits now, if this very vote edited the card and others were asked again. */
function askedAgain(
  cards: ReadonlyMap<string, PendingCard>,
  { id: runId }: RunRecord,
  interruptId: string,
  { by, decision }: Pick<Vote, 'by' | 'decision'>,
): DecideResult | undefined {
  for (const [key, card] of cards) {
    if (!interruptId.startsWith(interruptKey(runId, card.id)) || by === null) continue;
    const edits = card.progress?.votes.filter(isEdit) ?? [];
    const progress = edits.some((vote) => vote.by === by && sameJson(vote.decision, decision)) && progressOn(card);
    if (progress)
      return { status: 'waiting', interruptId: key, runId, votes: progress.votes, missing: progress.missing };
  }
  return undefined;
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
