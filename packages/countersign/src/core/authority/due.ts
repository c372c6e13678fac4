// What time does to a pending request: its deadline decides it, or more people are asked.
import { defined } from '../json.ts';
import type { Escalation, Wait } from '../request/request.ts';

/** A request, and how many of its escalations are recorded. */
export type Waiting = {
  readonly wait: Pick<Wait, 'expiresAt' | 'escalate'> | undefined;
  readonly escalations: number;
};

export type Due = { readonly do: 'expire' } | ({ readonly do: 'escalate' } & Pick<Escalation, 'to' | 'policy'>);

/** Returns the step that is due at this time; undefined if the request just waits. An expired request is not escalated. */
export function dueOn({ wait, escalations }: Waiting, now: number): Due | undefined {
  const { expiresAt, escalate } = wait ?? {};
  if (expiresAt !== undefined && expiresAt <= now) return { do: 'expire' };
  const next = escalate?.[escalations];
  return next && next.at <= now ? { do: 'escalate', to: next.to, ...defined({ policy: next.policy }) } : undefined;
}

/** When something is due next; undefined if never. */
export function nextDueAt({ wait: { expiresAt, escalate } = {}, escalations }: Waiting): number | undefined {
  const escalatesAt = escalate?.[escalations]?.at;
  if (expiresAt === undefined || escalatesAt === undefined) return expiresAt ?? escalatesAt;
  return escalatesAt < expiresAt ? escalatesAt : expiresAt;
}
