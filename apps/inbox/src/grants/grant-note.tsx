// The grant of a decided request: the one that let its call run, or the one that was given with the decision. Also the rule that let it run.

import { FastForward } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ApiRequest } from '../api/wire.ts';
import { ruleText } from './wire.ts';

type WithGrant = { readonly request: Pick<ApiRequest, 'grant' | 'rule'> };

/** In a row of the list: “gave a grant: 4 of 5 left”. */
export function GrantMark({ request: { grant } }: WithGrant) {
  if (!grant || (grant.is === 'used' && grant.left === undefined)) return null;
  return (
    <GrantLine>
      {grant.is === 'given' && 'gave a grant: '}
      {leftOf(grant)}
    </GrantLine>
  );
}

/** On the card, with a link to the grant. */
export function GrantNote({ request: { grant, rule } }: WithGrant) {
  if (rule) return <GrantLine>Nobody was asked: the rule for {ruleText(rule)} let this call run</GrantLine>;
  if (!grant) return null;
  return (
    <GrantLine>
      {grant.is === 'given' ? 'Gave ' : 'Nobody was asked: '}
      <Link href={`/grants/${encodeURIComponent(grant.id)}`} className="underline underline-offset-2">
        a grant
      </Link>
      {grant.is === 'used' && ' let this call run'}
      {grant.left !== undefined && (grant.is === 'given' ? `: ${leftOf(grant)}` : ` (${leftOf(grant)})`)}
    </GrantLine>
  );
}

const leftOf = ({ left, uses }: NonNullable<ApiRequest['grant']>): string => `${left} of ${uses} left`;

function GrantLine({ children }: { readonly children: ReactNode }) {
  return (
    <span className="flex items-start gap-1.5 text-muted">
      <FastForward aria-hidden="true" className="mt-0.5 size-3.5 shrink-0" />
      <span className="min-w-0 wrap-anywhere tabular-nums">{children}</span>
    </span>
  );
}
