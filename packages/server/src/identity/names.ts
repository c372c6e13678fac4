// The names of the people on a request, kept for a minute: lists of requests ask for the same few people again and again.
import type { Countersign } from 'countersign';
import type { Names } from 'countersign/request';
import type { StoredCard } from 'countersign/ui';
import type { Log } from '../log.ts';

const KEPT_MS = 60_000;
const MOST = 10_000;
/** A policy may name many people. */
const MOST_ON_CARD = 50;

type Known = { readonly until: number; readonly name: Promise<string | undefined> };

/** Without a name, screens show the id: a directory that fails stops nothing. */
export class PeopleNames {
  readonly #ai: Pick<Countersign, 'people'>;
  readonly #log: Log;
  readonly #known = new Map<string, Known>();

  constructor(ai: Pick<Countersign, 'people'>, log: Log) {
    this.#ai = ai;
    this.#log = log;
  }

  /** Of those whose name is known. */
  async of(people: readonly string[]): Promise<Names> {
    const found = await Promise.all(people.map(async (id) => [id, await this.#nameOf(id)] as const));
    return Object.fromEntries(found.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
  }

  #nameOf(id: string): Promise<string | undefined> {
    const now = performance.now();
    const known = this.#known.get(id);
    if (known && known.until > now) return known.name;
    if (this.#known.size >= MOST) this.#known.clear();
    const name = this.#ai.people.nameOf(id).catch((error: unknown) => {
      this.#log('error', 'people', { error });
      return undefined;
    });
    this.#known.set(id, { until: now + KEPT_MS, name });
    return name;
  }
}

type WithPeople = Pick<
  StoredCard,
  'startedBy' | 'requesters' | 'policies' | 'progress' | 'previous' | 'decision' | 'doubt' | 'grant'
> & {
  readonly assignee?: { readonly person: string } | null;
};

/** Everyone whom a card names. */
export function peopleOn({
  startedBy,
  requesters,
  policies,
  progress,
  previous,
  decision,
  doubt,
  grant,
  assignee,
}: WithPeople): readonly string[] {
  const named = policies.flatMap(({ deciders, quorum = [] }) => [deciders, ...quorum.map(({ of }) => of)]);
  const all = [
    startedBy,
    ...requesters,
    previous?.by,
    decision?.by,
    grant?.by,
    ...(doubt?.approvedBy ?? []),
    assignee?.person,
    progress?.assignedTo,
    ...(progress?.comments ?? []).map(({ by }) => by),
    ...(progress?.votes ?? []).flatMap(({ by, onBehalfOf }) => [by, onBehalfOf]),
    ...[...named, ...(progress?.escalatedTo ?? [])].flatMap((who) => who?.people ?? []),
  ];
  const ids = all.filter((id): id is string => typeof id === 'string' && id !== '' && id.length <= 200);
  return [...new Set(ids)].slice(0, MOST_ON_CARD);
}
