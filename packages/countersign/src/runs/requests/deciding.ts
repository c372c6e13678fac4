// The one path of a decision: read the run, check the decision against it, record it, drive the run on.
import { roundId } from '../../core/authority/ballots.ts';
import { dueOn } from '../../core/authority/due.ts';
import type { Vote } from '../../core/authority/policy.ts';
import { isEdit, type Missing } from '../../core/authority/tally.ts';
import { InvariantError } from '../../core/errors.ts';
import { defined, sameJson } from '../../core/json.ts';
import { type Found, matchedOf, mayRun } from '../../core/run/decide.ts';
import { drillMark } from '../../core/run/drill.ts';
import type { PersonDecision } from '../../core/run/event.ts';
import type { Decisions } from '../../core/run/made.ts';
import { applyDecisions, checkDecided, invalidResume } from '../../loop/resume.ts';
import type { Run } from '../../loop/run.ts';
import type { Drives } from '../driving/driving.ts';
import { refuseUnchecked } from '../driving/recorded-agent.ts';
import { checkedSignature } from '../passkeys/check-signature.ts';
import { Passkeys } from '../passkeys/passkeys.ts';
import { voterOf } from '../people.ts';
import { unknownRequest, unknownRun } from '../port/run-id.ts';
import { refuseLarge } from '../port/run-limit.ts';
import type { LoadedRun, RunRecord, Store } from '../port/store.ts';
import type { DecideOptions } from '../run-options.ts';
import { newlyInDoubt, openCallIds, type PendingCard, pendingCards, requestKey, runIdOf, willRun } from './card.ts';
import { saidIn, settlementOf, signatureOf } from './decision.ts';
import { areLeftToOthers, type Speaker } from './left-to-others.ts';
import { type Cards, cardKey, decisionOn, findOnCards, type OnCard, onCards } from './on-cards.ts';
import { progressOn } from './progress.ts';
import { refuseOutOfReach } from './reach.ts';
import { type Change, dryRun, type Loaded, loadRun, type Recording, record, type Stale } from './recording.ts';
import { rejudge } from './rejudge.ts';
import { type Decided, endedRun, refuseOutdated, settledAs } from './settled.ts';
import { type Cast, castVotes, type SignVote } from './votes.ts';
import { dueEscalations, waitingOn } from './waiting/escalation.ts';
import { expireCards, fetchTimeIfExpired, isExpired, type Settling } from './waiting/expiry.ts';
import { refuseRemovedVoters } from './waiting/removed-voter.ts';
import { withdrawing } from './waiting/withdrawing.ts';

/** Adds the user's message to the conversation. It withdraws none of the calls in `kept`. */
export type Say = (run: Run, kept: ReadonlySet<string>) => void;

/** When it was recorded, and the votes; or why the run must be read again. */
type Attempt = { readonly at: number; readonly casts: ReadonlyMap<string, Cast> } | Stale;

/** The recorded decision, or the votes so far if the policy of the request asks for more of them. */
export type DecideResult =
  | ({ readonly status: 'settled' } & Decided)
  | {
      readonly status: 'waiting';
      /** The request to decide now: a new one if this vote edited the input. */
      readonly requestId: string;
      readonly runId: string;
      readonly votes: readonly Vote[];
      readonly missing: readonly Missing[];
    };

/** A message that is sent with decisions. `now`: it is recorded with them. `speaker`: as for `speak`. */
type Words = { readonly say: Say; readonly now: boolean; readonly speaker: Speaker | undefined };

/** Decides one request. `read` is the run as the caller has just read it, for the first attempt. */
export async function decideOne(
  drives: Drives,
  requestId: string,
  decision: PersonDecision,
  options: Recording,
  read?: LoadedRun,
): Promise<DecideResult> {
  const settlement = settlementOf(decision);
  const runId = runIdOf(requestId);
  await drives.time.tell();
  for (let mayBegin = true, known = read; ; known = undefined) {
    const loaded = await loadRun(drives, runId, () => unknownRequest(requestId), known);
    const card = pendingCards(runId, loaded.state).get(requestId);
    // The request may be newer than what the caller read.
    if (!card && known) continue;
    if (!card) return recorded(drives, loaded, requestId, decision);
    await refuseOutdated(drives.store, requestId, card, options.digest);
    const cards = new Map([[requestId, card]]);
    const found = findOnCards(loaded.state, decisionOn(card, decision), cards);
    const attempt = await tryDecisions(drives, loaded, { found, cards }, options, mayBegin);
    if (typeof attempt === 'object') {
      const { at, casts } = attempt;
      const cast = casts.get(requestId);
      if (cast?.status === 'waiting') return waitingFor(runId, cast);
      const votes = cast && { votes: cast.votes };
      return { status: 'settled', requestId, runId, ...settlement, at, ...votes, ...drillMark(loaded.run) };
    }
    mayBegin = attempt !== 'claim-lost';
  }
}

function waitingFor(runId: string, { card, round, votes, missing }: Cast & { status: 'waiting' }): DecideResult {
  return { status: 'waiting', requestId: requestKey(runId, roundId(card.id, round)), runId, votes, missing };
}

/** Decides several requests of one run as a whole. Returns true if `say` was recorded with them. */
export async function decideSeveral(
  drives: Drives,
  runId: string,
  given: Decisions,
  { say, speaker, ...options }: DecideOptions & { readonly say?: Say; readonly speaker?: Speaker | undefined },
): Promise<boolean> {
  await drives.time.tell();
  const signature = signatureOf(options);
  const made = given.made.map((one) => ({ ...one, decision: { ...one.decision, ...signature } }));
  const decisions = given.with({ made });
  for (let mayBegin = true; ; ) {
    const loaded = await loadRun(drives, runId, () => unknownRun(runId));
    const cards = pendingCards(runId, loaded.state);
    const all = findOnCards(loaded.state, decisions, cards);
    const same = await recordedSame(drives.store, loaded, decisions, all);
    const isNew = ({ where }: { readonly where: string }) => !same.has(where);
    const found = { leaves: all.leaves.filter(isNew), faults: all.faults.filter(isNew) };
    if (same.size > 0 && found.leaves.length + found.faults.length === 0) return false;
    if (loaded.state.ended) throw endedRun(runId);
    const words = say && { say, speaker, now: mayBegin && loaded.run.status !== 'running' };
    const answers = { found, cards, metadata: decisions.metadata };
    const attempt = await tryDecisions(drives, loaded, answers, options, mayBegin, words);
    if (typeof attempt === 'object') return words?.now === true;
    mayBegin = attempt !== 'claim-lost';
  }
}

/** What an attempt decides: the calls, and the cards they were found on. */
type Answers = { readonly found: Found; readonly cards: Cards; readonly metadata?: unknown };

/** Checks the decisions against the deadlines, the tools, the caller's policy and those of the requests, and records them. */
async function tryDecisions(
  drives: Drives,
  loaded: Loaded,
  { found, cards, metadata }: Answers,
  options: Recording,
  mayBegin: boolean,
  words?: Words,
): Promise<Attempt> {
  const { run: recorded, state } = loaded;
  const decided = onCards(found.leaves, cards);
  refuseUnasked(found, decided);
  for (const { leaf } of decided) settlementOf(leaf.said);
  await fetchTimeIfExpired(recorded.id, state, drives.time);
  const isTooLate = (now: number) => decided.some(({ card }) => isExpired(card, now));
  if (isTooLate(drives.clock())) return expire(drives, loaded, options, mayBegin);
  const escalated = await escalate(drives, loaded, decided, options);
  if (escalated) return escalated;
  const agent = drives.agent(recorded.agent, state, options);
  const leaves = await checkDecided(found, { tools: agent.tools(), defined: agent.defined() });
  refuseUnchecked(agent, leaves);
  const checked = onCards(leaves, cards);
  const titles = new Map<string, string | undefined>();
  const casts = await castVotes(recorded, checked, {
    voterOf: (by, electorate) => voterOf(drives.people, by, options, electorate),
    isOnBehalf: options.onBehalfOf !== undefined,
    sign: signer(drives.store, options),
    rejudge: async (edited) => {
      const asked = await rejudge(recorded, state, agent, edited, drives.store.notes);
      titles.set(edited.key, asked.shown.title);
      return asked;
    },
    at: drives.clock(),
  });
  const taken = checked.map((one) => withComments(withCard(withTitle(one, titles.get(one.key)))));
  if (!options.evenIfOutOfReach) await refuseOutOfReach(recorded.id, casts.values(), drives.people);
  const matched = matchedOf(taken.flatMap(({ key, leaf }) => (casts.get(key)?.status === 'waiting' ? [] : leaf)));
  const isLeft = words?.speaker && (await isLeftOpen(drives, cards, taken, casts, words.speaker));
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
      for (const one of taken) settle(settling, one, casts.get(one.key), { at, ...defined(seenFor(options)) });
      for (const { recorded } of casts.values()) if (recorded) run.record(recorded);
      applyDecisions(run, matched, metadata);
      // The message does not answer a doubt that the person has not seen.
      if (say)
        withdrawing(run, settling, { by: options.by ?? null, at }, () =>
          say(run, isLeft ? openCallIds(run.state) : newlyInDoubt(run.state)),
        );
    };
  // If the message will be refused, even later, nothing is decided either.
  const added = dryRun(recorded.id, state, change(words?.say));
  refuseLarge(drives.runLimit, loaded, added, words ? 'message' : 'decision');
  const begins = mayBegin && (recorded.status === 'waiting' || words?.now === true);
  // After a vote that settles nothing, there is nothing to drive.
  const drive = matched.length > 0 || words?.now === true ? begins : 'no';
  const stale = await record(drives, loaded, change(words?.now ? words.say : undefined), options, drive);
  if (stale) return stale;
  const waiting = [...casts.values()].filter((cast) => cast.recorded && cast.status === 'waiting');
  const keyOf = ({ card, round }: Cast) => requestKey(recorded.id, roundId(card.id, round));
  await refuseRemovedVoters(drives, new Map(waiting.map((cast) => [keyOf(cast), cast.vote])));
  return { at, casts };
}

/** The title of the edited input, which people read from then on. */
function withTitle(one: OnCard, title: string | undefined): OnCard {
  const { decision } = one.leaf;
  if (title === undefined || !mayRun(decision) || decision.input === undefined) return one;
  return { ...one, leaf: { ...one.leaf, decision: { ...decision, title } } };
}

/** A request that is sent back: its next round shows what this card shows. */
function withCard(one: OnCard): OnCard {
  const { decision } = one.leaf;
  if (decision.type !== 'revise') return one;
  const { previous } = one.card.request.shown;
  const card = { requestId: one.key, input: willRun(one.card.part), round: (previous?.round ?? 0) + 1 };
  return { ...one, leaf: { ...one.leaf, decision: { ...decision, card } } };
}

/** What people commented, where the model reads it. */
function withComments(one: OnCard): OnCard {
  const { decision } = one.leaf;
  const comments = one.card.progress?.comments?.map(({ by, text }) => ({ by, text }));
  if (!one.card.request.shown.commentsForModel || !comments) return one;
  if (decision.type !== 'reject' && decision.type !== 'revise') return one;
  return { ...one, leaf: { ...one.leaf, decision: { ...decision, comments } } };
}

/** Whether other people decide one of the requests that stay open. */
function isLeftOpen(
  { people }: Drives,
  cards: Cards,
  taken: readonly OnCard[],
  casts: ReadonlyMap<string, Cast>,
  speaker: Speaker,
): Promise<boolean> {
  const settled = new Set(taken.flatMap(({ key }) => (casts.get(key)?.status === 'waiting' ? [] : key)));
  const open = [...cards].flatMap(([key, card]) => (settled.has(key) ? [] : card));
  return areLeftToOthers(people, open, speaker);
}

const seenFor = ({ seenForMs }: DecideOptions) => ({ seenForMs });

function refuseUnasked({ leaves }: Found, decided: readonly OnCard[]): void {
  if (decided.length === leaves.length) return;
  const asked = new Set(decided.map(({ leaf }) => leaf));
  const unasked = leaves.filter((leaf) => !asked.has(leaf));
  throw invalidResume(unasked.map(({ where, on }) => ({ where, problem: `${on.name} (${on.ref}) has not asked yet` })));
}

/** Undefined if the decision is not signed. */
function signer(store: Store, { signature }: DecideOptions): SignVote | undefined {
  if (signature === undefined) return undefined;
  const passkeys = new Passkeys(store.notes, () => store.now());
  return (requestId, { by, decision, digest, onBehalfOf }, earlier) =>
    checkedSignature(passkeys, signature, { requestId, by, decision, digest, onBehalfOf }, earlier);
}

/** Says how the card ends: decided, or withdrawn because others must agree to an edit. A card that waits on has no end. */
function settle(
  settling: Settling,
  { key, leaf }: OnCard,
  cast: Cast | undefined,
  when: { readonly at: number; readonly seenForMs?: number },
): void {
  const { decision } = leaf;
  const title = mayRun(decision) ? decision.title : undefined;
  const settlement = { ...settlementOf(leaf.said), ...when, ...defined({ title }) };
  if (!cast) settling.settle(key, settlement);
  else if (cast.status === 'settled')
    settling.settle(key, { ...settlement, decision: cast.vote.decision, votes: cast.votes });
  else if (cast.asksAgain) settling.settle(key, { withdrawn: true, by: settlement.by, note: 'edited', at: when.at });
}

/** Records what the deadlines that have passed decide. Then the run must be read again. */
async function expire(drives: Drives, loaded: Loaded, options: DecideOptions, mayBegin: boolean): Promise<Stale> {
  const at = drives.clock();
  const change: Change = (run, settling) => {
    expireCards(run, settling, at);
    if (run.state !== loaded.state) return;
    throw new InvariantError('invariant', { runId: settling.runId }, 'A deadline that has passed decided nothing.');
  };
  const begins = mayBegin && loaded.run.status === 'waiting';
  return (await record(drives, loaded, change, options, begins)) ?? 'stale-version';
}

/** Records the escalations that no worker has recorded yet: those people may decide already. Then the run must be read again. */
async function escalate(
  drives: Drives,
  loaded: Loaded,
  decided: readonly OnCard[],
  options: DecideOptions,
): Promise<Stale | undefined> {
  const at = drives.clock();
  if (!decided.some(({ card }) => dueOn(waitingOn(card), at))) return undefined;
  // If the directory of people fails, the decision counts without them, and a worker tries again.
  const due = await dueEscalations(loaded.run, loaded.state, at, drives.people).catch(() => []);
  if (due.length === 0) return undefined;
  const change: Change = (run) => {
    for (const escalation of due) run.record(escalation);
  };
  return (await record(drives, loaded, change, options, 'no')) ?? 'stale-version';
}

/** The recorded decision if it is the same one. Throws if the request was decided differently. */
async function recorded(
  { store }: Drives,
  { run, state }: Loaded,
  requestId: string,
  decision: PersonDecision,
): Promise<DecideResult> {
  const record = await store.request(requestId);
  if (!record) throw unknownRequest(requestId);
  const asked = askedAgain(pendingCards(run.id, state), run, requestId, decision);
  return asked ?? { status: 'settled', ...settledAs(record, decision) };
}

/** The request as it waits now, if this very vote edited the card and others were asked again. */
function askedAgain(
  cards: ReadonlyMap<string, PendingCard>,
  { id: runId }: RunRecord,
  requestId: string,
  decision: PersonDecision,
): DecideResult | undefined {
  const { by } = decision;
  for (const [key, card] of cards) {
    if (!requestId.startsWith(requestKey(runId, card.id)) || by === undefined) continue;
    const edits = card.progress?.votes.filter(isEdit) ?? [];
    const isSame = edits.some((vote) => vote.by === by && sameJson(vote.decision, saidIn(decision)));
    const progress = isSame && progressOn(card);
    if (progress) return { status: 'waiting', requestId: key, runId, votes: progress.votes, missing: progress.missing };
  }
  return undefined;
}

/** Where the decisions are that are recorded already. Throws if one of their requests was decided differently. */
async function recordedSame(
  store: Store,
  { run: { id: runId }, state }: Loaded,
  { made }: Decisions,
  { leaves, faults }: Found,
): Promise<ReadonlySet<string>> {
  // The requests of a cancelled run are settled too, by the person who cancelled it.
  const late = new Set(
    [...faults.filter(({ stale }) => stale), ...(state.ended ? leaves : [])].map(({ where }) => where),
  );
  const same = new Set<string>();
  for (const { where, on, decision } of made) {
    const record = late.has(where) ? await store.request(cardKey(runId, on, state)) : undefined;
    if (!record || record.settledAt === null) continue;
    settledAs(record, decision);
    same.add(where);
  }
  return same;
}
