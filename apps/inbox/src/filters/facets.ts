// The filters that a list has, and what can be chosen in each.
import type { AgentInfo, ApiRequest } from '../api/wire.ts';
import { type Choice, named } from '../primitives/choice-menu.tsx';
import { AGES, DATES, type Filters, type ListStatus } from './filters.ts';

/** A filter with its choices. */
export type Facet = {
  readonly name: 'mine' | 'tool' | 'agent' | 'risk' | 'kind' | 'age' | 'label' | 'outcome' | 'decidedBy';
  readonly label: string;
  readonly choices: readonly Choice[];
};

type Known = {
  readonly agents: readonly AgentInfo[];
  readonly items: readonly ApiRequest[];
  readonly me: string | undefined;
};

/** The filters that a list has, with what can be chosen. */
export function facetsOf(status: ListStatus, filters: Filters, { agents, items, me }: Known): readonly Facet[] {
  const labels = [...new Set(items.flatMap((item) => item.labels))].sort();
  const own: readonly Facet[] =
    status === 'pending'
      ? [{ name: 'mine', label: 'Mine', choices: MINE }]
      : [
          { name: 'outcome', label: 'Outcome', choices: OUTCOMES },
          { name: 'decidedBy', label: 'Decided by', choices: decidersIn(items, me) },
          { name: 'mine', label: 'Mine', choices: [ASKED_BY_ME] },
        ];
  const facets: readonly Facet[] = [
    ...own,
    { name: 'tool', label: 'Tool', choices: toolsOf(agents, filters.agent) },
    // One agent needs no choice.
    { name: 'agent', label: 'Agent', choices: agents.length > 1 ? agents.map(({ name }) => named(name)) : [] },
    { name: 'risk', label: 'Risk', choices: RISKS },
    { name: 'kind', label: 'Kind', choices: KINDS },
    { name: 'age', label: status === 'pending' ? 'Age' : 'Decided', choices: AGE_CHOICES[status] },
    { name: 'label', label: 'Label', choices: labels.map(named) },
  ];
  return facets.filter(({ name, choices }) => choices.length > 0 || filters[name] !== '');
}

/** Not a filter, but the list of what waits for the user. */
export const NEEDS_ME = 'needs';

const ASKED_BY_ME: Choice = { value: 'asked', label: 'Asked by me' };
const MINE: readonly Choice[] = [
  { value: NEEDS_ME, label: 'Needs my decision' },
  { value: 'assigned', label: 'Assigned to me' },
  ASKED_BY_ME,
];

/** The chosen value. */
export function chosenOf(name: Facet['name'], filters: Filters): string {
  return name === 'mine' && filters.mine === '' && filters.view === '' ? NEEDS_ME : filters[name];
}

const AGE_CHOICES = { pending: AGES.pending, settled: [...AGES.settled, { value: DATES, label: 'Between two dates' }] };

/** The user, and everybody who decided one of these. */
function decidersIn(items: readonly ApiRequest[], me: string | undefined): readonly Choice[] {
  const voters = items.flatMap(({ decision, progress }) => [
    decision?.channel === null ? null : decision?.by,
    ...(progress?.votes ?? []).map(({ by }) => by),
  ]);
  const others = [...new Set(voters)].filter((by) => typeof by === 'string' && by !== me) as readonly string[];
  return [...(me === undefined ? [] : [{ value: me, label: 'Me' }]), ...others.toSorted().map(named)];
}

const OUTCOMES: readonly Choice[] = [
  { value: 'approved', label: 'Approved' },
  { value: 'edited', label: 'Approved with changes' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'changes-asked', label: 'Changes asked for' },
  { value: 'answered', label: 'Answered' },
  { value: 'cancelled', label: 'Cancelled or withdrawn' },
  { value: 'expired', label: 'Expired' },
  // What came of the call afterwards.
  { value: 'done', label: 'Done' },
  { value: 'failed', label: 'Failed' },
  { value: 'unknown', label: 'Outcome unknown' },
  { value: 'not-run', label: 'Not run' },
  { value: 'granted', label: 'Allowed by a grant or a rule' },
  { value: 'observed', label: 'Ran unasked (observed)' },
];
const RISKS: readonly Choice[] = [
  { value: 'high', label: 'High' },
  { value: 'medium', label: 'Medium' },
  { value: 'low', label: 'Low' },
];
const KINDS: readonly Choice[] = [
  { value: 'approval', label: 'Approval' },
  { value: 'question', label: 'Question' },
  { value: 'interrupt', label: 'Asked by the tool' },
  { value: 'doubt', label: 'Unknown outcome' },
  { value: 'unavailable', label: 'Cannot run' },
  { value: 'recall', label: 'Waits to start' },
];
const OLDEST: Choice = { value: 'oldest', label: 'Oldest first' };
const NEWEST: Choice = { value: 'newest', label: 'Newest first' };
export const ORDERS = { pending: [OLDEST, NEWEST], settled: [NEWEST, OLDEST] } as const;

function toolsOf(agents: readonly AgentInfo[], agent: string): readonly Choice[] {
  const chosen = agents.filter(({ name }) => agent === '' || name === agent);
  const names = chosen.flatMap(({ tools }) => tools.filter(({ asks }) => asks !== 'never').map(({ name }) => name));
  return [...new Set(names)].sort().map(named);
}
