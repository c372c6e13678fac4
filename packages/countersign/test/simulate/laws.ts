// The laws that every schedule must keep, checked from the record and the world alone.
import { isDeepStrictEqual } from 'node:util';
import type { Vote } from '../../src/core/authority/policy.ts';
import { messagesOf, newState } from '../../src/core/messages/load-messages.ts';
import type { Part } from '../../src/core/messages/message.ts';
import { fold } from '../../src/core/run/state.ts';
import type { StoredEvent } from '../../src/runs/port/store.ts';
import {
  everyRunEnds,
  type Law,
  noneAfterRejection,
  nothingLeft,
  oneEffect,
  recordVerifies,
} from '../../src/testing/simulate/laws.ts';
import type { Life } from '../../src/testing/simulate/life.ts';
import { keyOf, type RecordedCall, type RecordedRun } from '../../src/testing/simulate/records.ts';
import { BEGIN } from '../../src/testing/simulate/timeline.ts';
import type { SimulatedEffect, World } from '../../src/testing/simulate/world.ts';
import { type Bank, FINANCE, PEOPLE, SECRET, SWALLOWED } from './bank.ts';
import type { Controls } from './controls/controls.ts';
import { beyondLimit } from './controls/limit-law.ts';
import { unplanned } from './controls/plan-law.ts';
import { ranTooEarly, recalledAndRan } from './controls/recall-law.ts';
import { undoneTwice, undoneUntruly } from './controls/undo-law.ts';
import type { Acts, Said } from './people.ts';
import type { KeptGrant, Remains } from './remains.ts';

export const LAWS: Readonly<Record<string, Law<Remains>>> = {
  'a call has at most one effect': oneEffect,

  'an effect happens only after authority': (remains) =>
    remains.world.effects.flatMap((effect) => withoutAuthority(remains, effect) ?? []),

  'a rejected call has no effect': noneAfterRejection,

  'an acknowledged decision is recorded': (remains) => remains.acts.said.flatMap((one) => lost(remains, one) ?? []),

  'a grant is never overdrawn': (remains) => overdrawn(remains),

  'no more calls start than a limit allows': beyondLimit,

  'a recalled call has no effect': recalledAndRan,

  'a call that can be recalled waits': ranTooEarly,

  'an undo takes back what ran, once': undoneTwice,

  'what is told as undone is undone': undoneUntruly,

  'no call starts while every call is frozen': ({ acts, starts }) =>
    acts.frozen.flatMap(({ id, at }) => {
      const until = acts.lifting.get(id) ?? Number.POSITIVE_INFINITY;
      const late = starts.filter(({ from, to }) => from > at && to < until);
      return late.map(({ callId }) => `${callId} started under ${id}`);
    }),

  'the model is told what happened': ({ records, world, controls }) =>
    records.flatMap(({ calls, events }) => {
      // An earlier try of a call that may run again can act after a later one was refused: the record says so, late.
      const late = JSON.stringify(events.filter(({ type }) => type === 'call-ended-late'));
      return [...calls.values()].flatMap((call) =>
        late.includes(call.id) ? [] : (untrue(world, call, controls) ?? []),
      );
    }),

  'every started run exists': ({ records, started }) =>
    started.flatMap(({ id, isKnown, isDeleted }) => {
      const isThere = records.some(({ run }) => run.id === id);
      return isThere || !isKnown || isDeleted ? [] : [`${id} is lost`];
    }),

  'a stream shows the whole run': ({ records, started }) =>
    started.flatMap(({ id, heard }) => {
      const events = records.find(({ run }) => run.id === id)?.events.map(({ type }, index) => `${index + 1} ${type}`);
      const said = heard.filter((one) => one !== 'end');
      if (!events || said.length === 0) return [];
      const expected = events.slice(0, said.length);
      return isDeepStrictEqual(said, expected)
        ? []
        : [`of ${id}, a client heard ${said.join()}, not ${expected.join()}`];
    }),

  'a run keeps its turn limit, its context to itself, and its editors': (remains) =>
    remains.records.flatMap((record) => unkept(remains, record)),

  // Who continued a run after its turn limit has left: nobody drives it on if it fails then.
  'every run ends': (remains) => {
    const isLeft = ({ run, events }: RecordedRun) => run.status === 'failed' && events.some(isTurnLimit);
    return everyRunEnds({ ...remains, records: remains.records.filter((record) => !isLeft(record)) });
  },

  'nothing is left claimed or pending': nothingLeft,

  'every notice is delivered': ({ records, told, toldSince }) =>
    records.flatMap(({ requests }) =>
      requests.flatMap(({ id, kind, settledAt }) => {
        // What was over before the channel existed is not announced, nor what a grant let run, nor a wait in which a call can be recalled.
        if (kind === 'recall') return [];
        if (settledAt !== null && (settledAt < toldSince || id.endsWith('/granted'))) return [];
        const types = new Set(told.filter(({ requestId }) => requestId === id).map(({ type }) => type));
        const opened = types.has(kind === 'doubt' ? 'doubt' : 'opened');
        const ended = settledAt === null || types.has('decided') || types.has('expired') || types.has('withdrawn');
        return opened && ended ? [] : [`${id}: people were told only ${[...types].join() || 'nothing'}`];
      }),
    ),

  'the record verifies': recordVerifies,
};

const isTurnLimit = (event: StoredEvent): boolean => event.type === 'run-ended' && event.reason === 'max-turns';

function unkept({ maxTurns }: Remains, { run, events, calls }: RecordedRun): readonly string[] {
  const problems: string[] = [];
  let turns = 0;
  for (const event of events) {
    if (event.type === 'user-spoke') turns = 0;
    if (event.type === 'model-replied') turns += 1;
    if (turns > maxTurns && !/^(gate|undo)\./.test(run.id)) problems.push(`${run.id} took more than ${maxTurns} turns`);
  }
  const replied = events.findLast(({ type }) => type === 'model-replied');
  const isCut = events.some(isTurnLimit);
  if (run.status === 'done' && !isCut && replied?.type === 'model-replied' && replied.calls.length > 0)
    problems.push(`${run.id} is done before its model has said so`);
  if (JSON.stringify(events).includes(SECRET)) problems.push(`the record of ${run.id} has the context of its caller`);
  for (const { key, events } of calls.values())
    for (const event of events)
      if (event.type === 'call-settled' && event.result.type === 'output' && event.result.output === SWALLOWED)
        problems.push(`${key} asked, and its result came all the same`);
  const state = events.reduce(fold, newState());
  for (const { content } of messagesOf(state, run.id))
    for (const { metadata } of content as readonly Part[])
      if (metadata?.replacedInput !== undefined && !PEOPLE.includes(String(metadata.editedBy)))
        problems.push(`${run.id} does not say who edited ${JSON.stringify(metadata.replacedInput)}`);
  return problems;
}

/** Nothing is to be done any more: no claim is held, and everybody was told. */
export async function isQuiet(
  { store }: Life<Bank>,
  remains: () => Promise<Remains>,
  isTold: boolean,
): Promise<boolean> {
  if ((await store.queue()).some(({ due, claimed }) => due + claimed > 0)) return false;
  return !isTold || (await LAWS['every notice is delivered']?.(await remains()))?.length === 0;
}

/** Tools that need nobody's word, or whose word is another one. */
const FREE: ReadonlySet<string> = new Set(['look', 'reserve']);

function withoutAuthority(remains: Remains, effect: SimulatedEffect): string | undefined {
  const { acts, records, controls } = remains;
  const { name, key, at, input } = effect;
  if (FREE.has(name) || (name === 'draw' && !controls.limited?.isGated)) return undefined;
  const what = `${name} ${key} of ${JSON.stringify(input)}`;
  const before = acts.said.filter(
    (one) => one.key === key && one.at <= at && (one.type === 'approve' || one.type === 'restart'),
  );
  const run = records.find(({ calls }) => [...calls.values()].some((call) => call.key === key));
  const call = run && [...run.calls.values()].find((one) => one.key === key);
  if (name === 'book') return before.some(({ type }) => type === 'restart') ? undefined : `${what}: nobody said so`;
  const own = before.filter((one) => one.card.kind !== 'doubt' && isDeepStrictEqual(one.input, input));
  if (name === 'wire') {
    const voters = new Set(own.flatMap(({ person }) => standsFor(acts, person, at)));
    voters.delete(run?.run.startedBy ?? '');
    return voters.size >= 2 ? undefined : `${what}: only ${[...voters].join() || 'nobody'} approved it`;
  }
  if (own.some((one) => mayApprove(acts, effect, one))) return undefined;
  if (name === 'spree') return unplanned(remains, effect);
  if (name === 'late') {
    // A run that was deleted leaves no record.
    if (!run) return undefined;
    const expiry = run.requests.find((one) => one.kind === 'approval' && keyOf(one) === key)?.expiresAt;
    return expiry && BEGIN + at >= expiry ? undefined : `${what}: its deadline had not come`;
  }
  const isGranted = call?.events.some(({ type }) => type === 'call-granted') ?? false;
  if (name === 'spend' && (isGranted || !run))
    return acts.said.some((one) => one.grant && one.at <= at) ? undefined : `${what}: nobody gave a grant`;
  return `${what}: nobody approved it`;
}

/** Whether this person could let the call run alone. A decision counts when it is recorded, which is after they say it. */
function mayApprove(acts: Acts, { name, at }: SimulatedEffect, { person, card }: Said): boolean {
  const isFinance = standsFor(acts, person, at).length > 0;
  if (name === 'spend') return isFinance;
  // The clocks of the processes are off, but not by more than the engine allows.
  const dueAt = card.escalate[0]?.at ?? card.createdAt + ESCALATES_MS;
  const isEscalated = BEGIN + at >= dueAt - 1_500;
  if (name === 'check') return person === 'dan' || standsForDan(acts, person, at) || (isFinance && isEscalated);
  return true;
}

const standsForDan = ({ absent }: Acts, person: string, at: number): boolean =>
  absent.some((one) => one.person === 'dan' && one.delegate === person && one.at <= at);

/** The members of finance whose vote this person can give. */
const standsFor = ({ absent }: Acts, person: string, at: number): readonly string[] =>
  FINANCE.includes(person)
    ? [person]
    : absent.flatMap((one) => (one.delegate === person && one.at <= at ? [one.person] : []));

function lost({ acts, records, started }: Remains, one: Said): string | undefined {
  const { answer, card, person } = one;
  if (!answer) return undefined;
  if (one.isMisdirected && isFirst(acts, one))
    return `the decision of ${person} on another card than ${card.id} was taken`;
  const run = records.find((record) => record.run.id === card.runId);
  if (!run)
    return started.some(({ id, isDeleted }) => id === card.runId && isDeleted) ? undefined : `${card.runId} is lost`;
  const request = run.requests.find(({ id }) => id === card.id);
  if (answer.status === 'settled') {
    const { decision, by } = (request?.settlement ?? {}) as { decision?: unknown; by?: unknown };
    const isKept = isDeepStrictEqual(decision, answer.decision) && by === answer.by;
    if ((answer.decision as { type?: string }).type !== one.type)
      return `${person} said ${one.type} on ${card.id}, and was told ${JSON.stringify(answer.decision)}`;
    const kept = `${JSON.stringify(decision)} by ${by}`;
    return isKept
      ? undefined
      : `${person} was told ${JSON.stringify(answer.decision)} by ${answer.by} on ${card.id}, but kept is ${kept}`;
  }
  const requests = [request, run.requests.find(({ id }) => id === answer.requestId)];
  const votes = requests.flatMap((of) => [
    ...((of?.settlement as { votes?: readonly Vote[] } | null)?.votes ?? []),
    ...(of?.progress?.votes ?? []),
  ]);
  const isOver = requests.some((of) => of?.settlement && !('votes' in of.settlement));
  // The vote of an absent person replaces that of their delegate.
  const own = answer.votes.find(({ by }) => by === person);
  const voter = own?.onBehalfOf ?? person;
  return isOver || votes.some(({ by, onBehalfOf = by }) => onBehalfOf === voter)
    ? undefined
    : `the vote of ${person} on ${card.id} was lost`;
}

/** Whether what came back follows from this decision, and not from another one that was the same. */
const isFirst = ({ said: all }: Acts, { answer, person, card }: Said): boolean =>
  (answer?.status === 'waiting' || answer?.by === person) &&
  all.every((other) => other.person !== person || other.card.id !== card.id || other.isMisdirected);

function overdrawn({ grants, records, world, acts }: Remains): readonly string[] {
  const problems: string[] = [];
  const used = new Map<string, number[]>();
  for (const { run, calls } of records)
    for (const call of calls.values()) {
      const grantId = call.events.findLast(({ type }) => type === 'call-granted');
      // Later starts are those that a person let happen: of a call whose grant ended before its start, or after a doubt.
      const start = call.events
        .slice(call.events.lastIndexOf(grantId as StoredEvent))
        .find(({ type }) => type === 'call-started' || type === 'call-interrupted');
      const effect = world.effects.find(({ key }) => key === call.key);
      if (call.tool === 'spree' || grantId?.type !== 'call-granted' || start?.type !== 'call-started' || !effect)
        continue;
      const grant = grants.find(({ id }) => id === grantId.grantId);
      // A run that was deleted leaves no requester, and its grant no request.
      const giving = records.find((record) => record.requests.some(({ id }) => id === grant?.requestId));
      if (!grant) problems.push(`${call.key} ran under ${grantId.grantId}, which does not exist`);
      else used.set(grant.id, [...(used.get(grant.id) ?? []), (effect.input as { amount: number }).amount]);
      if (giving && giving.run.startedBy !== run.startedBy)
        problems.push(`${call.key} of ${run.startedBy} ran under a grant for ${giving.run.startedBy}`);
      // Whoever takes the run over may start the call later.
      if (grant && grantId.at >= grant.expiresAt + CLOCK_MS)
        problems.push(`${call.key} was let run by ${grant.id} after that had expired`);
      const revoked = acts.revoked.find((one) => one.grantId === grant?.id);
      if (revoked && grantId.at > BEGIN + revoked.at + REVOKED_MS && startsOf(call) === 1)
        problems.push(`${call.key} was let run long after ${grant?.id} was revoked`);
    }
  for (const [id, amounts] of used) {
    const { uses, total } = grants.find((grant) => grant.id === id) as KeptGrant;
    const sum = amounts.reduce((a, b) => a + b, 0);
    if (amounts.length > uses || sum > total || amounts.some((amount) => amount > 1_000))
      problems.push(`${id} let ${amounts.join(' + ')} run, more than ${uses} uses or ${total}`);
  }
  return problems;
}

const startsOf = ({ events }: RecordedCall): number => events.filter(({ type }) => type === 'call-started').length;

/** How far the time in the record may be off, and how long a start may be on its way after its grant was read. */
const CLOCK_MS = 15_000;
const REVOKED_MS = 45_000;
const ESCALATES_MS = 5_000;

function untrue({ effects }: World, { key, tool, events }: RecordedCall, { limited }: Controls): string | undefined {
  if (['ask', 'helper', 'assistant', 'book', 'look', 'plan'].includes(tool)) return undefined;
  const settled = events.findLast(({ type }) => type === 'call-settled');
  if (settled?.type !== 'call-settled') return undefined;
  const { result } = settled;
  // Only a call that somebody was asked about warns that it may have acted.
  if (tool === 'draw' && !limited?.isGated && result.type === 'error') return undefined;
  const hasActed = effects.some((effect) => effect.key === key);
  const isTrue = result.type === 'output' ? hasActed : result.mayHaveActed === true || !hasActed;
  return isTrue
    ? undefined
    : `${tool} ${key} ${hasActed ? 'acted' : 'never acted'}, but is recorded as ${JSON.stringify(result)}`;
}
