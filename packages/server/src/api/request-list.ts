// The requests that a person can see: pages of them, how many there are, and all of them in turn.
import type { RunRequest } from 'countersign';
import type { Page, RequestListOptions } from 'countersign/store';
import { assigneesOf } from '../assignees.ts';
import { defined } from '../defined.ts';
import type { Person } from '../identity/person.ts';
import type { ApiRequest } from '../schemas/request.ts';
import { keptPage } from './kept-page.ts';
import type { Services } from './services.ts';
import { waitsFor } from './waits-for.ts';

/** `for`: pending requests that wait for this person, or for others. */
export type RequestFilters = Omit<RequestListOptions, 'cursor' | 'limit' | 'deciders'> & {
  readonly for?: 'me' | 'others';
  readonly assignee?: 'me';
  /** The person who decided, or whose vote counted. */
  readonly decidedBy?: string;
};

type Asked = Pick<Services, 'ai' | 'access'>;
type PageOptions = { readonly cursor?: string | undefined; readonly limit: number };

/** A page of the requests that this person can see; the pending ones unless the filters say otherwise. */
export async function listRequests(
  services: Asked,
  { cursor, limit, ...filters }: PageOptions & RequestFilters,
  person: Person,
): Promise<Page<ApiRequest>> {
  const { load, keep } = await selection(services, filters, person);
  return keptPage(load, { cursor, limit }, keep);
}

/** How requests are read from the store, and which of them this person gets. */
async function selection(
  { ai: { runs }, access }: Asked,
  { for: turn, assignee, decidedBy, ...filters }: RequestFilters,
  person: Person,
) {
  const named = await access.named(person);
  const deciders = await decidersFor(access, person, turn, assignee);
  const selected = { settled: false, ...filters, ...defined({ deciders }) };
  const isWanted = (card: ApiRequest): boolean =>
    (turn === undefined || (card.status === 'pending' && waitsFor(card, named.people) === (turn === 'me'))) &&
    (assignee === undefined || card.assignee?.person === person.id);
  return {
    load: (page: { readonly cursor?: string; readonly limit: number }) => runs.requests({ ...selected, ...page }),
    keep: async (items: readonly RunRequest[]): Promise<readonly (ApiRequest | undefined)[]> => {
      const pending = items.filter(({ settledAt }) => settledAt === null);
      const assignees = await assigneesOf(runs.notes, pending);
      const seen = async (item: RunRequest) => {
        if (decidedBy !== undefined && !isDecidedBy(item, decidedBy)) return undefined;
        const card = await access.seen(item, person, assignees.get(item.id) ?? null);
        return card && isWanted(card) ? card : undefined;
      };
      return Promise.all(items.map(seen));
    },
  };
}

/**
 * Selects by an index. What waits for a person names them or their roles, or nobody; to a person who sees only their own runs,
 * what names nobody is only theirs.
 */
async function decidersFor(
  access: Services['access'],
  person: Person,
  turn: RequestFilters['for'],
  assignee: RequestFilters['assignee'],
): Promise<RequestListOptions['deciders']> {
  const own = person.reach === 'all' ? {} : { startedBy: person.id };
  if (turn === 'me') return { ...(await access.named(person)), ...own };
  if (assignee === 'me') return { people: [person.id], roles: [], ...own };
  return access.mine(person);
}

function isDecidedBy({ settlement }: RunRequest, person: string): boolean {
  if (settlement === null || settlement.decision === undefined) return false;
  const votes = (settlement as { readonly votes?: readonly { readonly by: string | null }[] }).votes ?? [];
  return settlement.by === person || votes.some(({ by }) => by === person);
}

const LARGEST_PAGE = 200;

/** All of them, page by page. */
export async function* everyRequest(
  services: Asked,
  filters: RequestFilters,
  person: Person,
): AsyncGenerator<readonly ApiRequest[]> {
  let cursor: string | undefined;
  do {
    const page = await listRequests(services, { ...filters, limit: LARGEST_PAGE, ...defined({ cursor }) }, person);
    yield page.items;
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
}

/** How many requests are looked at for one count. A person has no use for a larger number. */
const MOST_COUNTED = 5_000;

/** `isComplete` is false if there may be more: the count then says how many there are at least. */
export async function countRequests(
  services: Asked,
  filters: RequestFilters,
  person: Person,
): Promise<{ readonly count: number; readonly isComplete: boolean }> {
  const { load, keep } = await selection(services, filters, person);
  let count = 0;
  let cursor: string | null | undefined;
  for (let looked = 0; looked < MOST_COUNTED; ) {
    const page = await load({ limit: LARGEST_PAGE, ...(cursor && { cursor }) });
    count += (await keep(page.items)).filter((item) => item !== undefined).length;
    cursor = page.cursor;
    if (cursor === null) return { count, isComplete: true };
    looked += Math.max(1, page.items.length);
    // SQLite answers synchronously: this lets other requests run in between.
    await new Promise(setImmediate);
  }
  return { count, isComplete: false };
}
