// Whether the calls that ran under a grant were covered by it: its record, the use of the call, and its limits then.

import { foldGrant, type GrantEvent, mayUse } from '../../core/authority/grants/grant.ts';
import { messageOf } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { fits } from '../grants/give.ts';
import { outcomeIn } from '../grants/outcomes.ts';
import { grantRecordOf } from '../grants/records.ts';
import type { LoadedRun } from '../port/store.ts';
import type { EvidenceProblem, GrantedUse } from './replay.ts';

/** The record of a grant: its events, and the end of their chain. */
export type EvidenceGrant = { readonly id: string; readonly events: readonly GrantEvent[]; readonly hash: string };

export async function grantProblems(
  loaded: LoadedRun,
  granted: readonly GrantedUse[],
  grants: readonly EvidenceGrant[],
): Promise<readonly EvidenceProblem[]> {
  const used = new Set(granted.map(({ grantId }) => grantId));
  const problems: EvidenceProblem[] = grants.flatMap((grant, index) => {
    const problem = used.has(grant.id) ? chainProblem(grant) : 'No call of the run names it.';
    return problem === undefined ? [] : [{ where: `grants[${index}]`, problem }];
  });
  for (const use of granted) {
    const grant = grants.find(({ id }) => id === use.grantId);
    const problem = grant ? await useProblem(loaded, use, grant) : `Grant ${use.grantId} is not in the document.`;
    if (problem !== undefined) problems.push({ where: `events[${use.event - 1}]`, problem });
  }
  return problems;
}

function chainProblem({ id, events, hash }: EvidenceGrant): string | undefined {
  try {
    grantRecordOf({ key: id, value: { events, hash } as unknown as Json, version: 1, expiresAt: null });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The use was reserved while the grant covered the call. One that the record of the run releases is not kept. */
async function useProblem(
  loaded: LoadedRun,
  { grantId, key, tool, input, origins, policies, requesters, by }: GrantedUse,
  { events }: EvidenceGrant,
): Promise<string | undefined> {
  try {
    const place = events.findLastIndex((event) => event.type === 'reserved' && event.key === key);
    const reserved = events[place];
    const isReleased = outcomeIn(loaded, grantId, key) === 'released';
    if (!reserved) return isReleased ? undefined : `Grant ${grantId} has no use of this call.`;
    const { agent, startedBy } = loaded.run;
    const before = foldGrant(events.slice(0, place));
    const fitsSchema = fits(before.grant, input);
    const asked = { tool, input, origins, policies, requesters, startedBy, agent };
    const verdict = mayUse(before, { ...asked, key, fitsSchema, now: reserved.at });
    if (!verdict.ok) return `Grant ${grantId} does not cover this call. ${verdict.why}`;
    const { givenBy } = before.grant;
    return by === undefined || by === givenBy ? undefined : `Grant ${grantId} was given by ${givenBy}, not by ${by}.`;
  } catch (error) {
    return `Grant ${grantId} cannot be read. ${messageOf(error)}`;
  }
}
