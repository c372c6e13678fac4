// Runs as the API returns them, with their requests.
import { type Countersign, UsageError } from 'countersign';
import type { Access } from '../../access.ts';
import { assigneesOf } from '../../assignees.ts';
import type { Person } from '../../identity/person.ts';
import type { Run } from '../../schemas/run.ts';
import { oldestOf, summaryOf, titleOf } from './run-summaries.ts';

/** How many requests are returned with a run. */
const MAX_REQUESTS = 200;

/** The whole run as this person sees it; without the scope `read`, only its status. */
export async function runAnswer(ai: Countersign, access: Access, runId: string, person: Person): Promise<Run> {
  const view = await ai.runs.get(runId);
  if (!person.scopes.includes('read'))
    return { ...summaryOf(view, null, null), ...UNREAD, finishReason: view.finishReason };
  const [waiting, settled] = await Promise.all([
    ai.runs.requests({ runId, limit: MAX_REQUESTS }),
    ai.runs.requests({ runId, limit: MAX_REQUESTS, settled: true, order: 'newest' }),
  ]);
  const assignees = await assigneesOf(ai.runs.notes, waiting.items);
  // Pending requests come first; settled ones fill the remaining places.
  const last = settled.items.slice(0, MAX_REQUESTS - waiting.items.length).toReversed();
  const asked = [...last, ...waiting.items].toSorted((left, right) => left.createdAt - right.createdAt);
  const requests = await Promise.all(asked.map((item) => access.card(item, person, assignees.get(item.id) ?? null)));
  const { messages, text, error, finishReason, pending } = view;
  const waitsFor = view.status === 'waiting' ? oldestOf(waiting.items) : null;
  return { ...summaryOf(view, titleOf(messages), waitsFor), messages, text, error, finishReason, pending, requests };
}

const UNREAD = { usage: null, failures: 0, messages: [], text: '', error: null, pending: [], requests: [] };

export const unknownAgent = (agent: string): UsageError =>
  new UsageError('unknown-agent', { agent }, `Agent ${agent} not found.`);
