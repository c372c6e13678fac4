// Grants and rules that the past suggests, with their evidence: groups of calls that people always approved without a change.

import { type Condition, fieldText } from '../../core/authority/condition.ts';
import type { GrantRequest } from '../../core/authority/grants/grant.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { Store } from '../port/store.ts';
import type { RunRequest } from '../requests/view.ts';
import {
  commonGrant,
  type GrantSimulation,
  type History,
  type HistoryOptions,
  outcomeOf,
  replay,
  settledRequests,
} from './simulate.ts';

/** A grant for calls that people always approved. */
export type Suggestion = {
  readonly tool: string;
  readonly grant: GrantRequest;
  /** The newest approved request that it covers: whoever approved that can give the grant with it. */
  readonly requestId: string;
  readonly approvedBy: string | null;
  /** What such a grant without a limit of uses would have let run. */
  readonly evidence: GrantSimulation;
  /** As in `38 of 38 approved without change, to ACME, amount at most 450; …`. */
  readonly text: string;
};

/** Fewer approvals say little. */
const LEAST = 5;
const MOST_TOOLS = 20;
const MOST_OF_A_TOOL = 3;
const LONGEST_VALUE = 100;
const MOST_USES = 1_000;

/** Of requests that were asked since then. Those of a group that has a rejected or edited one suggest nothing. */
export async function suggestions(
  store: Store,
  since: number,
  now: number,
  options: HistoryOptions,
): Promise<readonly Suggestion[]> {
  const { tools } = await store.stats({ since, now });
  const asked = tools.filter(({ approved }) => approved >= LEAST).toSorted((a, b) => b.approved - a.approved);
  const among: HistoryOptions['among'] = async (request) =>
    request.createdAt >= since && ((await options.among?.(request)) ?? true);
  const found: Suggestion[] = [];
  for (const { tool } of asked.slice(0, MOST_TOOLS))
    found.push(...(await suggestionsFor(await settledRequests(store, tool, { ...options, among }), tool, now)));
  return found.toSorted((a, b) => b.evidence.matching - a.evidence.matching);
}

async function suggestionsFor(history: History, tool: string, now: number): Promise<readonly Suggestion[]> {
  const approved = history.requests.filter((request) => outcomeOf(request) === 'approved');
  const found: Suggestion[] = [];
  for (const group of groupsOf(approved)) {
    const newest = group.at(-1);
    const grant = commonGrant(group, now);
    if (!newest || found.length >= MOST_OF_A_TOOL) break;
    const evidence = await replay(history, tool, { where: grant.where ?? [], uses: MOST_USES });
    if (evidence.rejected > 0 || evidence.edited > 0 || evidence.approved < LEAST) continue;
    const { id: requestId, settlement } = newest;
    const text = textOf(grant.where ?? [], evidence);
    found.push({ tool, grant, requestId, approvedBy: settlement?.by ?? null, evidence, text });
    // The groups of one value are part of it.
    if (group === approved) break;
  }
  return found;
}

/** All of them, and then those that have the same text in one field, the largest group first. */
function groupsOf(approved: readonly RunRequest[]): readonly (readonly RunRequest[])[] {
  const groups = new Map<string, RunRequest[]>();
  for (const request of approved) {
    if (!isObject(request.input)) continue;
    for (const [field, value] of Object.entries(request.input as { readonly [field: string]: Json })) {
      if (typeof value !== 'string' || value.length > LONGEST_VALUE) continue;
      const key = JSON.stringify([field, value]);
      const group = groups.get(key) ?? [];
      groups.set(key, group);
      group.push(request);
    }
  }
  const large = [...groups.values()].filter(({ length }) => length >= LEAST);
  return [approved, ...large.toSorted((a, b) => b.length - a.length)];
}

function textOf(where: readonly Condition[], { matching, approved }: GrantSimulation): string {
  const limits = where.length === 0 ? '' : `, ${where.map(conditionText).join(', ')}`;
  return `${approved} of ${approved} approved without change${limits}; would have saved ${matching} questions, would have let no rejected one pass`;
}

function conditionText({ field, equals, atMost }: Condition): string {
  const value =
    equals === undefined ? `at most ${atMost}` : typeof equals === 'string' ? equals : JSON.stringify(equals);
  return `${fieldText(field)} ${value}`;
}
