// The list in groups of similar requests, and the whole of a group that is only partly loaded.
import { groupSimilar } from 'countersign/request';
import { queryOf, request } from '../api/request.ts';
import type { ApiRequest, Page } from '../api/wire.ts';
import { canSelect, MOST_SELECTED } from './use-selection.ts';

export type ListGroup = {
  readonly key: string;
  readonly items: readonly ApiRequest[];
  /** Only its headline is shown. */
  readonly isClosed: boolean;
};

const NONE: ReadonlySet<string> = new Set();

/** Groups keep the order of the list, and so do the requests in them. `closed`: the keys of closed ones. */
export function listGroups(listed: readonly ApiRequest[], closed = NONE): readonly ListGroup[] {
  const place = new Map(listed.map(({ id }, index) => [id, index]));
  const placeOf = ({ id }: ApiRequest) => place.get(id) ?? 0;
  return groupSimilar(listed).map(({ key, items }) => ({
    key,
    items: items.toSorted((a, b) => placeOf(a) - placeOf(b)),
    isClosed: items.length > 1 && closed.has(key),
  }));
}

/** Each request for itself. */
export const ungrouped = (listed: readonly ApiRequest[]): readonly ListGroup[] =>
  listed.map((request) => ({ key: request.id, items: [request], isClosed: false }));

const AT_ONCE = 200;

/** Loads the whole group of this request, even requests that the list has not loaded yet. */
export async function wholeGroup(
  { id, agent, tool }: ApiRequest,
  query: { readonly [name: string]: string | undefined },
): Promise<readonly ApiRequest[]> {
  const found: ApiRequest[] = [];
  let cursor: string | undefined;
  do {
    const asked = queryOf({ ...query, agent, tool, cursor, limit: AT_ONCE });
    const page = await request<Page<ApiRequest>>(`requests${asked}`);
    found.push(...page.items);
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined && found.length < MOST_SELECTED);
  const group = listGroups(found).find(({ items }) => items.some((item) => item.id === id));
  return (group?.items ?? []).filter(canSelect).slice(0, MOST_SELECTED);
}
