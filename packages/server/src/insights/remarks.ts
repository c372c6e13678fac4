// What stands out in pending requests, beside the requests of the same tool that were approved lately.
import type { Countersign, RunRequest } from 'countersign';
import type { Remark } from 'countersign/request';
import { type ApprovedCall, remarksOn } from 'countersign/store';
import type { Access } from '../access.ts';
import type { Person } from '../identity/person.ts';
import { cachedRead } from '../live/cached-read.ts';
import type { Log } from '../log.ts';
import type { ApiRequest } from '../schemas/request.ts';

/** How many settled requests of all tools are read, the newest first. */
const MOST_READ = 600;
const PAGE_SIZE = 200;
/** How many approved requests of one tool a request is compared with. */
const MOST_COMPARED = 100;
const LONGEST_AGO_MS = 90 * 24 * 3_600_000;
/** All people share one read, which takes at most a twentieth of the time. */
const SHARED = { shortestMs: 1_000, share: 20, longestMs: 60_000 };

type Approved = ApprovedCall & { readonly request: RunRequest };
type ByTool = ReadonlyMap<string, readonly Approved[]>;

/** Adds remarks to requests. A person hears only of requests that they can see. */
export type Remarks = (cards: readonly ApiRequest[], person: Person) => Promise<readonly ApiRequest[]>;

export function createRemarks(ai: Countersign, access: Access, log: Log): Remarks {
  const approvedLately = cachedRead(() => readApproved(ai), SHARED);

  async function pastOf(tools: ReadonlySet<string>, person: Person): Promise<ByTool> {
    const approved = await approvedLately();
    const visible = async (tool: string) => {
      const calls = (approved.get(tool) ?? []).slice(0, MOST_COMPARED);
      const seen = await Promise.all(calls.map(({ request }) => access.seen(request, person, null)));
      return [tool, calls.filter((_, index) => seen[index] !== undefined)] as const;
    };
    return new Map(await Promise.all([...tools].map(visible)));
  }

  return async (cards, person) => {
    const asking = cards.filter(isAsking);
    if (asking.length === 0) return cards;
    try {
      const [past, now] = [await pastOf(new Set(asking.map(({ tool }) => tool)), person), await ai.runs.store.now()];
      return cards.map((card) => (isAsking(card) ? remarked(card, past.get(card.tool) ?? [], now) : card));
    } catch (error) {
      // The list is worth more than what stands out in it.
      log('error', 'remarks', { error });
      return cards;
    }
  };
}

const isAsking = ({ status, kind }: ApiRequest): boolean => status === 'pending' && kind === 'approval';

function remarked(card: ApiRequest, past: readonly Approved[], now: number): ApiRequest {
  const remarks: readonly Remark[] = remarksOn(card.input, past, now);
  return remarks.length === 0 ? card : { ...card, remarks };
}

/** The newest by the time when they were asked: a bounded read along the list of settled requests. */
async function readApproved({ runs }: Countersign): Promise<ByTool> {
  const createdAfter = (await runs.store.now()) - LONGEST_AGO_MS;
  const query = { settled: true, order: 'newest', createdAfter, limit: PAGE_SIZE } as const;
  const found: Approved[] = [];
  let cursor: string | undefined;
  for (let read = 0; read < MOST_READ; read += PAGE_SIZE) {
    const page = await runs.requests({ ...query, ...(cursor !== undefined && { cursor }) });
    found.push(...page.items.flatMap(approvedIn));
    if (page.cursor === null) break;
    cursor = page.cursor;
    // SQLite answers synchronously: this lets other requests run in between.
    await new Promise(setImmediate);
  }
  return Map.groupBy(found, ({ request }) => request.tool);
}

function approvedIn(request: RunRequest): readonly Approved[] {
  const { id, kind, settlement, settledAt, drill, outcome } = request;
  const { decision } = settlement ?? {};
  if (kind !== 'approval' || drill || settledAt === null || settlement === null || decision === undefined) return [];
  const { type, edit } = decision as { readonly type?: unknown; readonly edit?: unknown };
  if (type !== 'approve' || outcome?.state === 'not-run') return [];
  const input = (edit === undefined ? request.input : edit) as ApprovedCall['input'];
  return [{ requestId: id, input, by: settlement.by ?? null, at: settledAt, request }];
}
