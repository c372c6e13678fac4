// Escalations: after a while without a decision, more people may decide. Who a manager is, is asked when it is due.
import type { RequestProgress } from '../../../core/authority/ballots.ts';
import { dueOn, type Waiting } from '../../../core/authority/due.ts';
import { circlesOf, namesDeciders, type Who } from '../../../core/authority/policy.ts';
import { defined } from '../../../core/json.ts';
import type { Escalation } from '../../../core/request/request.ts';
import { event, type RunEvent } from '../../../core/run/event.ts';
import type { State } from '../../../core/run/state.ts';
import type { NewRun } from '../../port/store.ts';
import { type PendingCard, pendingCards } from '../card.ts';
import { policiesOn } from '../progress.ts';

type MaybePromise<T> = T | Promise<T>;

/** What escalations ask a directory of people. */
export type Managers = {
  readonly managerOf?: (person: string) => MaybePromise<string | undefined>;
  readonly membersOf?: (role: string) => MaybePromise<readonly string[]>;
};

export function waitingOn({ request, progress }: PendingCard): Waiting {
  const { escalate } = progress ?? {};
  const wait = escalate ? { ...request.wait, escalate } : request.wait;
  return { wait, escalations: progress?.escalatedTo.length ?? 0 };
}

export function isEscalationDue(runId: string, state: State, now: number): boolean {
  return [...pendingCards(runId, state).values()].some((card) => dueOn(waitingOn(card), now)?.do === 'escalate');
}

/** The escalations that are due, to be recorded. Rejects if the directory of people fails; then they stay due. */
export async function dueEscalations(
  run: Pick<NewRun, 'id' | 'startedBy'>,
  state: State,
  now: number,
  people: Managers,
): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for (const card of pendingCards(run.id, state).values()) {
    let { progress } = card;
    for (let escalations = progress?.escalatedTo.length ?? 0; ; escalations++) {
      const due = dueOn({ ...waitingOn(card), escalations }, now);
      if (due?.do !== 'escalate') break;
      const to = await resolved(due, { ...card, ...(progress && { progress }) }, run.startedBy, people);
      const counts = defined({ policy: due.policy });
      progress = { ...(progress ?? NOTHING), escalatedTo: [...(progress?.escalatedTo ?? []), { ...to, ...counts }] };
      events.push(event({ type: 'request-escalated', requestId: card.id, to, ...counts }));
    }
  }
  return events;
}

const NOTHING: RequestProgress = { votes: [], round: 1, escalatedTo: [] };

/** `manager` becomes the current managers, if there are any. */
async function resolved(
  { to, policy }: Pick<Escalation, 'to' | 'policy'>,
  card: PendingCard,
  startedBy: string | null,
  { managerOf, membersOf }: Managers,
): Promise<Who> {
  if (to !== 'manager') return to;
  const { progress } = card;
  const policies = policiesOn(card).filter((_, index) => policy === undefined || policy === index);
  const circles: readonly Who[] = [
    ...policies.flatMap(circlesOf),
    ...(progress?.escalatedTo ?? []),
    {
      people: [progress?.assignedTo, policies.some(namesDeciders) ? undefined : startedBy].filter(
        (id) => typeof id === 'string',
      ),
    },
  ];
  const members = await Promise.all(circles.flatMap(({ roles = [] }) => roles).map((role) => membersOf?.(role) ?? []));
  const people = new Set([...circles.flatMap((who) => who.people ?? []), ...members.flat()]);
  const managers = await Promise.all([...people].map((person) => managerOf?.(person)));
  return { people: [...new Set(managers.filter((id) => typeof id === 'string'))] };
}
