// Notices about the request of a real run, as the outbox makes them.
import { type Countersign, countersign, memoryStore, type Notice, type RunRequest } from 'countersign';
import type { NoticeType } from 'countersign/request';
import { defineTeller, obedientModel } from '../server.ts';

export type NoticedRequest = {
  readonly ai: Countersign;
  /** The request as it is now. */
  card(): Promise<RunRequest>;
  /** A notice about the request as it is now. */
  notice(type?: NoticeType, changes?: Partial<Notice>): Promise<Notice>;
};

/** Starts a run of the agent `teller` that pauses with one request: `pay bob 950` asks for an approval, `ask which?` for an answer. */
export async function noticedRequest(
  prompt = 'pay bob 950',
  define = defineTeller,
  model = obedientModel(),
): Promise<NoticedRequest> {
  const ai = countersign({ model, retry: false, store: memoryStore() });
  define(ai);
  await ai.agents.get('teller')?.start(prompt, { runId: 'run', by: 'carl' });
  const [id = ''] = (await ai.runs.wait('run')).pending;
  const card = (): Promise<RunRequest> => ai.runs.request(id);
  return {
    ai,
    card,
    notice: async (type = 'opened', changes = {}) => ({ ...noticeOn(await card(), type), ...changes }),
  };
}

/** A notice about the request. */
export function noticeOn(card: RunRequest, type: NoticeType): Notice {
  return {
    key: `${card.id}|${type}`,
    type,
    at: card.settledAt ?? card.createdAt,
    number: type === 'reminded' || type === 'escalated' ? 1 : 0,
    requestId: card.id,
    runId: card.runId,
    agent: card.agent,
    tool: card.tool,
    title: card.title ?? card.tool,
    kind: card.kind,
    risk: card.risk,
    expiresAt: card.expiresAt,
    card,
    settlement: card.settlement,
    outcome: card.outcome ?? null,
    to: [{ person: 'ann', why: 'decider', contact: { name: 'Ann', mail: 'ann@example.com', slack: 'U1' } }],
    links: { request: `https://approvals.example.com/requests/${encodeURIComponent(card.id)}` },
    attempt: 1,
  };
}
