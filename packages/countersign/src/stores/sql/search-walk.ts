// A search along the list of interrupts, each of them looked at: where there is no index of the words.
import { mapValid } from '../../runs/port/skip-invalid.ts';
import type { InterruptQuery, InterruptRecord, Page } from '../../runs/port/store.ts';
import { cursorAfter, readPageRequest } from '../rules/page.ts';
import { hasAll, wordsOf } from '../rules/search-text.ts';
import { type InterruptRow, interruptOf, pageOfInterrupts, placeOf } from './rows.ts';

/** The index has the questions that wait. Those of one run are sooner looked at than found in it. */
export function mayBeIndexed({ settled, runId }: InterruptQuery): boolean {
  return settled !== true && runId === undefined;
}

/** How many are looked at together. */
const AT_ONCE = 500;

/** `list` finds what else is asked for, and one more than the page holds. */
export async function walkSearch(
  query: InterruptQuery,
  words: readonly string[],
  list: (query: InterruptQuery) => Promise<readonly InterruptRow[]>,
): Promise<Page<InterruptRecord>> {
  const { limit } = readPageRequest(query);
  const { search: _, ...others } = query;
  const found: InterruptRow[] = [];
  let after: string | null | undefined = query.after;
  for (;;) {
    const rows = await list({ ...others, limit: AT_ONCE, ...(after !== undefined && { after }) });
    const batch = rows.slice(0, AT_ONCE);
    found.push(...rowsWith(words, batch));
    const last = batch.at(-1);
    if (found.length > limit || last === undefined || rows.length <= AT_ONCE) break;
    after = cursorAfter(placeOf(last), query.order);
    if (after === null) break;
    // SQLite answers at once: without a turn in between, nothing else would happen until the end of a long list.
    await new Promise(setImmediate);
  }
  return pageOfInterrupts(found, query);
}

/** Those that have all the words, and can be read. */
export function rowsWith(words: readonly string[], rows: readonly InterruptRow[]): readonly InterruptRow[] {
  const readable = mapValid(rows, (row) => ({ row, words: wordsOf(interruptOf(row)) }));
  return readable.flatMap((one) => (hasAll(one.words, words) ? [one.row] : []));
}
