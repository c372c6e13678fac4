// A run as the API tells it, with its questions.
import { type Countersign, type RunRecord, UsageError } from 'countersign';
import type { Access } from '../access.ts';
import type { Person } from '../identity/person.ts';
import type { Run, RunSummary } from '../shapes/run.ts';
import { claimsOf } from './claims.ts';
import { titleOf } from './run-titles.ts';

export function summaryOf(run: RunRecord, title: string | null): RunSummary {
  const { id, agent, status, startedBy, createdAt, updatedAt, version } = run;
  return { id, agent, title, status, startedBy, createdAt, updatedAt, version };
}

/** The whole run, as this person sees it: what is in it only for those who may read. */
export async function runAnswer(ai: Countersign, access: Access, runId: string, person: Person): Promise<Run> {
  const view = await ai.runs.get(runId);
  if (!person.scopes.includes('read')) return { ...summaryOf(view, null), ...UNREAD, finishReason: view.finishReason };
  const [waiting, settled] = await Promise.all([
    ai.runs.interrupts({ runId, limit: 200 }),
    ai.runs.interrupts({ runId, limit: 200, settled: true }),
  ]);
  const claims = await claimsOf(
    ai.runs.notes,
    waiting.items.map(({ id }) => id),
  );
  const cards = [...settled.items, ...waiting.items]
    .map((item) => access.card(item, person, claims.get(item.id) ?? null))
    .toSorted((left, right) => (left.createdAt ?? 0) - (right.createdAt ?? 0))
    .slice(0, 200);
  const { messages, text, error, finishReason, pending } = view;
  return { ...summaryOf(view, titleOf(messages)), messages, text, error, finishReason, pending, interrupts: cards };
}

const UNREAD = { messages: [], text: '', error: null, pending: [], interrupts: [] };

export const unknownAgent = (agent: string): UsageError =>
  new UsageError('unknown-agent', { agent }, `There is no agent ${agent}.`);
