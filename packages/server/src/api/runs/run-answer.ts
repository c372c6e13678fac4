// Runs as the API returns them, with their requests.
import { type Countersign, UsageError } from 'countersign';
import type { Names } from 'countersign/request';
import type { Access, RunReference } from '../../access.ts';
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
  const { waiting, asked } = await requestsIn(ai, runId);
  const assignees = await assigneesOf(ai.runs.notes, waiting);
  const requests = await Promise.all(asked.map((item) => access.card(item, person, assignees.get(item.id) ?? null)));
  const { messages, text, error, finishReason, pending } = view;
  const waitsFor = view.status === 'waiting' ? oldestOf(waiting) : null;
  return { ...summaryOf(view, titleOf(messages), waitsFor), messages, text, error, finishReason, pending, requests };
}

/** The requests of the run: the pending ones, and as many settled ones as have a place beside them, in the order of their making. */
async function requestsIn(ai: Countersign, runId: string) {
  const [{ items: waiting }, settled] = await Promise.all([
    ai.runs.requests({ runId, limit: MAX_REQUESTS }),
    ai.runs.requests({ runId, limit: MAX_REQUESTS, settled: true, order: 'newest' }),
  ]);
  const last = settled.items.slice(0, MAX_REQUESTS - waiting.length).toReversed();
  return { waiting, asked: [...last, ...waiting].toSorted((left, right) => left.createdAt - right.createdAt) };
}

/** The names of the people in a run: who started it, and everyone on its requests. */
export async function namesIn(ai: Countersign, access: Access, run: RunReference, person: Person): Promise<Names> {
  const { asked } = await requestsIn(ai, run.id);
  const cards = await Promise.all(asked.map((item) => access.card(item, person, null)));
  const starter = await access.names.of(run.startedBy === null ? [] : [run.startedBy]);
  return Object.assign({}, starter, ...cards.map(({ names }) => names));
}

const UNREAD = { usage: null, failures: 0, messages: [], text: '', error: null, pending: [], requests: [] };

export const unknownAgent = (agent: string): UsageError =>
  new UsageError('unknown-agent', { agent }, `Agent ${agent} not found.`);
