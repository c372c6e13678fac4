// The recipients of a notice: the people whose vote is missing, those who take part in a discussion, the assignee, those whom a request
// was escalated to, and delegates of absent people. Of the end: those who asked for the call, and those who approved it.

import { admitsDelegates, type Who } from '../../core/authority/policy.ts';
import { isObject, type Json } from '../../core/json.ts';
import { mayHaveRun, type RequestNotice } from '../../core/request/notice.ts';
import { DEADLINE } from '../../core/run/event.ts';
import type { Directory } from '../people.ts';
import type { RunRequest } from '../requests/view.ts';
import type { Reason } from './channel.ts';
import type { NoticeHost } from './compose.ts';
import type { Told } from './entries.ts';
import { isEdited, isOutcome, isOver, isOwnDecision, stillConcerns } from './plan.ts';

/** Requests about people. */
export type Asked = {
  readonly people: Pick<Directory, 'membersOf' | 'delegateOf'>;
  /** The recipients for requests that name no people, or only those whom a server names by default. */
  readonly everyone: Who;
  readonly host?: Pick<NoticeHost, 'isForEveryone'>;
};

type Circle = { readonly who: Who; readonly why: Reason };

/** A notice has at most so many recipients. */
const MOST = 1_000;

/** The people whom a notice concerns, each once. Rejects if the directory of people fails. */
export async function recipientsOf(
  notice: RequestNotice,
  card: RunRequest,
  { people, everyone, host }: Asked,
): Promise<readonly Told[]> {
  if (notice.type === 'commented') return toldOfComment(notice, card);
  const ended = toldOfEnd(notice, card);
  if (isOutcome(notice)) return ended;
  const named = new Map<string, Reason>();
  const isOpen = namesSomeone(everyone) && host?.isForEveryone?.(card) === true;
  for (const { who, why } of circlesOf(notice, card, everyone, isOpen))
    for (const person of await peopleIn(who, people)) if (!named.has(person)) named.set(person, why);
  const isFourEyes = card.policies.some(({ notRequester }) => notRequester);
  const isAsked = ([person]: readonly [string, Reason]) => !isFourEyes || !card.requesters.includes(person);
  const present = await Promise.all(
    [...named]
      .filter(isAsked)
      .slice(0, MOST)
      .map(async ([person, why]): Promise<Told> => {
        const delegate = card.policies.every(admitsDelegates) ? await people.delegateOf(person) : undefined;
        if (delegate === undefined) return { person, key: notice.key, why };
        return { person: delegate, key: notice.key, why: 'delegate', onBehalfOf: person };
      }),
  );
  // A delegate who is asked directly gets the notice as an approver.
  const told = new Map<string, Told>();
  for (const one of present.toSorted((a, b) => Number(a.why === 'delegate') - Number(b.why === 'delegate')))
    if (!told.has(one.person) && stillConcerns(notice, card, one.person, one.onBehalfOf)) told.set(one.person, one);
  return [...told.values(), ...ended.filter(({ person }) => !told.has(person))];
}

/** The people whom a comment names, and those who asked, voted, commented or should decide; not its author. */
function toldOfComment({ key, number }: RequestNotice, { requesters, progress }: RunRequest): readonly Told[] {
  const { votes = [], comments = [], assignedTo = null } = progress ?? {};
  const comment = comments.find((one) => one.number === number);
  if (!comment) return [];
  const involved = [...requesters, assignedTo, ...votes.map(({ by }) => by), ...comments.map(({ by }) => by)];
  const all = new Map<string, Reason>();
  for (const person of involved) if (person !== null) all.set(person, 'involved');
  for (const person of comment.mentions) all.set(person, 'mentioned');
  all.delete(comment.by);
  return [...all].slice(0, MOST).map(([person, why]) => ({ person, key, why }));
}

/** Those who hear of the end without having been asked: who asked for the call, and, if something went wrong, who approved it. */
export function toldOfEnd({ type, key }: RequestNotice, card: RunRequest): readonly Told[] {
  // Of a call in doubt, the request that let it run tells the outcome.
  if (card.kind === 'doubt') return [];
  const told = (people: readonly string[], why: Reason) => people.map((person): Told => ({ person, key, why }));
  const askers = told(requestersOf(card), 'requester');
  const others = askers.filter(({ person }) => !isOwnDecision(card, person));
  const all = () => once([...askers, ...told(approversOf(card), 'approver')]);
  switch (type) {
    case 'decided':
    case 'expired':
    case 'withdrawn':
      // Of a call that may run, they hear what came of it.
      return mayHaveRun(card.outcome) || isEdited(card) ? [] : others;
    case 'done':
      return others;
    case 'failed':
    case 'unknown':
      return all();
    case 'not-run':
      // A changed call is asked again, and that request has its own end.
      return card.outcome?.state === 'not-run' && card.outcome.why === 'changed' ? [] : all();
    case 'opened':
    case 'doubt':
    case 'reminded':
    case 'escalated':
    case 'assigned':
    case 'commented':
      return [];
  }
}

const requestersOf = ({ startedBy, requesters }: RunRequest): readonly string[] => [
  ...new Set([...(startedBy === null ? [] : [startedBy]), ...requesters]),
];

function approversOf({ settlement }: RunRequest): readonly string[] {
  if (settlement?.decision === undefined) return [];
  const { decision, by, channel, votes = [] } = settlement;
  const isPerson = by !== DEADLINE || channel !== null;
  const given = [...votes, ...(isPerson ? [{ by, decision }] : [])];
  return [...new Set(given.flatMap((vote) => (lets(vote.decision) && vote.by !== null ? [vote.by] : [])))];
}

const lets = (decision: Json): boolean =>
  isObject(decision) && (decision.type === 'approve' || decision.type === 'restart');

/** A person has one reason, the first. */
const once = (all: readonly Told[]): readonly Told[] =>
  all.filter(({ person }, index) => all.findIndex((other) => other.person === person) === index);

function circlesOf(notice: RequestNotice, card: RunRequest, everyone: Who, isOpen: boolean): readonly Circle[] {
  const { escalatedTo = [], assignedTo = null } = card.progress ?? {};
  const assignee: readonly Circle[] = assignedTo === null ? [] : [{ who: { people: [assignedTo] }, why: 'assignee' }];
  if (notice.type === 'assigned') return assignee;
  if (notice.type === 'escalated') return [{ who: escalatedTo[notice.number - 1] ?? {}, why: 'escalated' }];
  if (assignee.length > 0 && !isOver(notice)) return assignee;
  const later = notice.type === 'opened' || notice.type === 'doubt' ? [] : escalatedTo;
  const escalated = later.map((who): Circle => ({ who, why: 'escalated' }));
  return [
    ...assignee,
    ...(isOpen ? [{ who: everyone, why: 'everyone' as const }] : decidersOf(card, everyone)),
    ...escalated,
  ];
}

/** The deciders of the policy, and the groups that still have to agree. */
function decidersOf({ policies, progress, settlement }: RunRequest, everyone: Who): readonly Circle[] {
  const groups = settlement === null ? (progress?.missing ?? []) : policies.flatMap(({ quorum = [] }) => quorum);
  const named = [...policies.map(({ deciders = {} }) => deciders), ...groups.map(({ of }) => of)].filter(namesSomeone);
  if (named.length > 0) return named.map((who) => ({ who, why: 'decider' }));
  return [{ who: everyone, why: 'everyone' }];
}

const namesSomeone = ({ people = [], roles = [] }: Who): boolean => people.length + roles.length > 0;

async function peopleIn({ people = [], roles = [] }: Who, { membersOf }: Asked['people']): Promise<readonly string[]> {
  const members = await Promise.all(roles.map(async (role) => (await membersOf?.(role)) ?? []));
  return [...new Set([...people, ...members.flat()])];
}

/** A recipient of an earlier notice learns that the request is over. */
export function reasonFor({ key }: RequestNotice, person: string, told: readonly Told[]): Told {
  return told.find((one) => one.key === key) ?? { person, key, why: 'told-before' };
}
