// Who works on the open card. A claim is a word among colleagues: it locks nothing.
import { VisibleText } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Hand } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { interruptQuery, meQuery } from '../api/queries.ts';
import { Refusal, request } from '../api/request.ts';
import type { Claim, Interrupt, InterruptWithMessages } from '../api/wire.ts';
import { showToast } from '../frame/toasts.tsx';
import { clockTime, Moment } from '../live/time.tsx';

const FOR_MS = 5 * 60_000;
const RENEWED_EVERY_MS = 2 * 60_000;

type Change = 'claim' | 'renew' | 'release';

export function useClaim(interrupt: Interrupt) {
  const client = useQueryClient();
  const { data: me } = useQuery(meQuery);
  const { queryKey } = interruptQuery(interrupt.id);
  const claim = useMutation({
    mutationFn: (change: Change) =>
      request<{ readonly claim: Claim | null }>(
        `interrupts/${encodeURIComponent(interrupt.id)}/claim`,
        change === 'release' ? { method: 'DELETE' } : { method: 'POST', body: { forMs: FOR_MS } },
      ),
    onSuccess: (answer) => {
      client.setQueryData<InterruptWithMessages>(queryKey, (card) => card && { ...card, claim: answer.claim });
      void client.invalidateQueries({ queryKey: ['interrupts'] });
    },
    onError: (error, change) => {
      void client.invalidateQueries({ queryKey });
      if (change !== 'renew')
        showToast('trouble', error instanceof Refusal ? error.message : 'The claim was not sent.');
    },
  });
  const holder = interrupt.claim;
  const isMine = holder !== null && holder.by === me?.id;
  useRenewal(isMine && interrupt.status === 'pending', () => claim.mutate('renew'));
  return { holder, isMine, toggle: () => claim.mutate(isMine ? 'release' : 'claim'), isSending: claim.isPending };
}

/** While the card is open the claim goes on; it ends by itself some minutes after. */
function useRenewal(wanted: boolean, renew: () => void): void {
  const latest = useRef(renew);
  useEffect(() => {
    latest.current = renew;
  });
  useEffect(() => {
    if (!wanted) return;
    const timer = setInterval(() => latest.current(), RENEWED_EVERY_MS);
    return () => clearInterval(timer);
  }, [wanted]);
}

export function ClaimButton({ interrupt }: { readonly interrupt: Interrupt }) {
  const { holder, isMine, toggle, isSending } = useClaim(interrupt);
  if (holder && !isMine) return null;
  return (
    <button
      type="button"
      data-claim
      className="button"
      aria-pressed={isMine}
      aria-disabled={isSending}
      title={isMine ? 'Let others work on it (c)' : 'Tell others that you work on it (c)'}
      onClick={() => !isSending && toggle()}
    >
      <Hand aria-hidden="true" className={`size-4 ${isMine ? 'text-info' : ''}`} />
      {isMine ? 'Claimed' : 'Claim'}
    </button>
  );
}

/** Says so when somebody else is on it. */
export function ClaimNotice({ interrupt }: { readonly interrupt: Interrupt }) {
  const { data: me } = useQuery(meQuery);
  const { claim, status } = interrupt;
  if (!claim || claim.by === me?.id || status !== 'pending') return null;
  return (
    <p role="status" className="flex items-center gap-2 rounded-md bg-info-soft px-3 py-2 text-info">
      <Hand aria-hidden="true" className="size-4 shrink-0" />
      <span className="min-w-0 wrap-anywhere">
        <VisibleText text={claim.by} /> works on this, until <Moment at={claim.until}>{clockTime(claim.until)}</Moment>{' '}
        at the latest. You can decide it all the same.
      </span>
    </p>
  );
}
