// News since the last look: requests that were opened, and known ones that are over.
import type { Backend, Card, CardQuery } from '../backend/backend.ts';

export type News = {
  /** Reads the pending requests, which are not new. Resolves with the number of requests, such as `3` or `200+`. */
  begin(): Promise<string>;
  /** New requests, oldest first, then those that are over. */
  next(): Promise<readonly Card[]>;
};

const PAGE = 200;

export function createNews(backend: Backend, query: CardQuery, isWanted: (card: Card) => boolean): News {
  /** Pending as far as known. */
  const open = new Map<string, Card>();
  /** Requests that are older than those of the first look are not new, even if they were not on its page. */
  let since = 0;
  let last: Promise<unknown> = Promise.resolve();

  const page = (cursor?: string) =>
    backend.cards({ ...query, settled: false, order: 'newest', limit: PAGE, ...(cursor !== undefined && { cursor }) });

  /** Newest first, as far back as all are unknown. */
  async function pending(): Promise<{ readonly cards: readonly Card[]; readonly isAll: boolean }> {
    const cards: Card[] = [];
    for (let cursor: string | undefined; ; ) {
      const { items, cursor: next } = await page(cursor);
      cards.push(...items);
      if (next === null) return { cards, isAll: true };
      if (items.some(({ id, createdAt }) => open.has(id) || (createdAt ?? 0) < since)) return { cards, isAll: false };
      cursor = next;
    }
  }

  async function look(): Promise<readonly Card[]> {
    const { cards, isAll } = await pending();
    const oldest = isAll ? 0 : (cards.at(-1)?.createdAt ?? 0);
    const still = new Set(cards.map(({ id }) => id));
    const gone = [...open.values()].filter(({ id, createdAt }) => !still.has(id) && (createdAt ?? 0) > oldest);
    // Reads all before anything is remembered: after an error, the next look finds the same news.
    const read = await Promise.all(gone.map(({ id }) => backend.card(id).catch(missing)));
    const over = read.filter((card): card is Card => card?.status === 'decided');
    const opened = cards.filter(({ id, createdAt }) => !open.has(id) && (createdAt ?? 0) >= since).toReversed();
    for (const card of cards) open.set(card.id, card);
    const wanted = over.filter(({ id }) => isWanted(open.get(id) as Card));
    gone.forEach(({ id }, index) => {
      if (read[index]?.status !== 'pending') open.delete(id);
    });
    return [...opened.filter(isWanted), ...wanted];
  }

  return {
    async begin() {
      const { items, cursor } = await page();
      for (const card of items) open.set(card.id, card);
      since = items[0]?.createdAt ?? 0;
      return `${items.filter(isWanted).length}${cursor === null ? '' : '+'}`;
    },
    next() {
      // One look at a time, so that nothing is printed twice.
      const found = last.then(look);
      last = found.catch(() => undefined);
      return found;
    },
  };
}

/** The run was deleted, or the person may no longer read it. */
function missing(error: unknown): undefined {
  const { code } = error as { readonly code?: unknown };
  if (code !== 'unknown-request' && code !== 'unknown-run') throw error;
}
