// Decisions of people, put on record once and for all; then the run is driven on.
import { type Decisions, type Matching, readResume } from '../core/decide.ts';
import type { State } from '../core/state.ts';
import { applyDecisions, checkResume } from '../loop/resume.ts';
import type { Run } from '../loop/run.ts';
import type { Drives } from './driving/driving.ts';
import { tryOut } from './dry-run.ts';
import { holdNews } from './journal/buffer-until-durable.ts';
import { unknownInterrupt, unknownRun } from './port/run-id.ts';
import type { RunRecord, Store } from './port/store.ts';
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
import { askIfOver, expireCards, type Settling } from './questions/expiry.ts';
import { askPolicy } from './questions/policy.ts';
import { type Decided, endedRun, refuseExpired, refuseOutdated, settledAs } from './questions/settled.ts';
import { trustedState } from './questions/view.ts';
import { withdrawing } from './questions/withdrawing.ts';
import type { DecideOptions } from './run-options.ts';

type Desk = { readonly store: Store; readonly drives: Drives };

/** The user says something, which withdraws none of the calls in `kept`. */
export type Say = (run: Run, kept: ReadonlySet<string>) => void;

/** The run that is decided on. */
type Ground = { readonly run: RunRecord; readonly state: State };

/** Decisions that fit what is asked. */
type Fitting = {
  readonly ground: Ground;
  readonly decisions: Decisions;
  readonly matched: Matching['matched'];
  readonly decided: Resumption['decided'];
};

/** Decides one question. */
export async function decideOne(
  desk: Desk,
  interruptId: string,
  decision: DecisionInput,
  options: DecideOptions,
): Promise<Decided> {
  const runId = runIdOf(interruptId);
  await desk.drives.tellTime();
  for (let mayBegin = true; ; ) {
    const ground = await readGround(desk, runId, () => unknownInterrupt(interruptId));
    const fitting = await fitOne(desk, ground, interruptId, decision, options);
    const settlement = fitting?.decided.get(interruptId)?.settlement;
    if (!fitting || !settlement) return settled(desk, interruptId, decision);
    const recorded = await advance(desk, fitting, options, mayBegin);
    if (typeof recorded === 'number') return { interruptId, runId, ...settlement, at: recorded };
    mayBegin = recorded !== 'claim-lost';
  }
}

/** Decides several questions of one run as a whole. True if what was to be said is said. */
export async function decideSeveral(
  desk: Desk,
  runId: string,
  decisions: Decisions,
  { say, ...options }: DecideOptions & { readonly say?: Say },
): Promise<boolean> {
  await desk.drives.tellTime();
  const signed = signDecisions(decisions, options);
  for (let mayBegin = true; ; ) {
    const fitting = await fitSeveral(desk, await readGround(desk, runId, () => unknownRun(runId)), signed, options);
    if (!fitting) return false;
    const words = say && { say, now: mayBegin && fitting.ground.run.status !== 'running' };
    const recorded = await advance(desk, fitting, options, mayBegin, words);
    if (typeof recorded === 'number') return words?.now === true;
    mayBegin = recorded !== 'claim-lost';
  }
}

async function readGround({ store }: Desk, runId: string, unknown: () => Error): Promise<Ground> {
  const loaded = await store.read(runId);
  if (!loaded) throw unknown();
  return { run: loaded.run, state: trustedState(loaded) };
}

/** Undefined if the question does not wait. */
async function fitOne(
  { store, drives }: Desk,
  ground: Ground,
  interruptId: string,
  decision: DecisionInput,
  options: DecideOptions,
): Promise<Fitting | undefined> {
  const card = pendingCards(ground.run.id, ground.state).get(interruptId);
  if (!card) return undefined;
  await askIfOver(ground.run.id, ground.state, drives);
  refuseExpired(interruptId, card, drives.clock());
  await refuseOutdated(store, interruptId, card, options.digest);
  const part = decisionPart(card.part, decision, options);
  const settlement = checkDecider({
    decision: decisionOf(decision),
    by: options.by ?? null,
    channel: options.channel ?? null,
    note: options.note ?? null,
  });
  return fitted(drives, ground, readResume([part]), new Map([[interruptId, { card, settlement }]]), options);
}

/** Undefined if somebody else has decided everything the same. */
async function fitSeveral(
  { store, drives }: Desk,
  ground: Ground,
  decisions: Decisions,
  options: DecideOptions,
): Promise<Fitting | undefined> {
  const { run, state } = ground;
  const { decided, late } = resumptionOf(run.id, state, decisions);
  const open = await stillOpen(store, decisions, late);
  if (!open) return undefined;
  if (state.ended) throw endedRun(run.id);
  await askIfOver(run.id, state, drives);
  for (const [key, { card }] of decided) refuseExpired(key, card, drives.clock());
  return fitted(drives, ground, open, decided, options);
}

async function fitted(
  drives: Drives,
  ground: Ground,
  decisions: Decisions,
  decided: Resumption['decided'],
  { mayDecide }: DecideOptions,
): Promise<Fitting> {
  const agent = drives.agent(ground.run.agent);
  const tools = { tools: agent.tools(), defined: agent.defined() };
  const { matched, leaves } = await checkResume(ground.state, decisions, tools);
  if (mayDecide) await askPolicy(mayDecide, ground.run, decided, leaves);
  return { ground, decisions, decided, matched };
}

/**
 * The time of the record, or why everything must be looked at again: somebody was first, or drives the run already.
 * A run that nobody drives goes on at once, and the decision becomes durable together with the start of its call.
 */
async function advance(
  { drives }: Desk,
  { ground, decisions, matched, decided }: Fitting,
  options: DecideOptions,
  mayBegin: boolean,
  words?: { readonly say: Say; readonly now: boolean },
): Promise<number | 'stale-version' | 'claim-lost'> {
  const { run: record, state } = ground;
  if (matched.length === 0 && !words?.now) return drives.clock();
  // Looking at the decision may have taken until after the deadline.
  const at = drives.clock();
  const decideAndSay = (run: Run, settling: Settling, say: Say | undefined): void => {
    // What is said to a deadline that has passed is said after it.
    if (say) expireCards(run, settling, at);
    applyDecisions(run, matched, decisions.metadata);
    // Whoever decides and speaks at once has answered nothing of what is in doubt.
    if (say) withdrawing(run, settling, { by: options.by ?? null, at }, () => say(run, newlyInDoubt(run.state)));
  };
  for (const [key, { card }] of decided) refuseExpired(key, card, at);
  // If it cannot be said, also where that comes later, nothing is decided either.
  if (words) tryOut(record.id, state, (run, settling) => decideAndSay(run, settling, words.say));
  const begins = mayBegin && options.drive !== false && (record.status === 'waiting' || words?.now === true);
  const chunks = options.onChunk && holdNews(options.onChunk);
  const driving = { ...options, ...(chunks && { onChunk: chunks.hear }) };
  const agent = drives.agent(record.agent);
  const { run, journal } = drives.open(record, state, agent, {
    onStale: 'fail',
    emit: chunks?.hear,
    ...(begins && { claim: 'enter' }),
  });
  for (const [key, { settlement }] of decided) journal.settle(key, { ...settlement, at });
  decideAndSay(run, journal, words?.now ? words.say : undefined);
  const refusal = await refusalOf(begins ? drives.begin(agent, run, journal, driving) : journal.recorded());
  if (refusal) return refusal;
  chunks?.release();
  if (begins) return at;
  if (journal.holds && options.drive !== false) await drives.goOrLeave(agent, run, journal, driving);
  else if (journal.holds) await journal.finish();
  return at;
}

async function settled({ store }: Desk, interruptId: string, decision: DecisionInput): Promise<Decided> {
  const record = await store.interrupt(interruptId);
  if (!record) throw unknownInterrupt(interruptId);
  return settledAs(record, decision);
}

/** Without what somebody else decided the same; undefined if that is everything. Throws if they decided otherwise. */
async function stillOpen(store: Store, decisions: Decisions, late: Resumption['late']): Promise<Decisions | undefined> {
  const same = new Set<string>();
  for (const { where, key, decision } of late) {
    const record = await store.interrupt(key);
    if (!record || record.settledAt === null) continue;
    settledAs(record, decision);
    same.add(where);
  }
  return same.size > 0 ? withoutEntries(decisions, same) : decisions;
}
