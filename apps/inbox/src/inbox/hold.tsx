// Shows the reviewer of the open request, to whom it is assigned for a while. That is a signal to colleagues; it locks nothing.
import { People, PersonName } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Hand } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { meQuery, requestQuery } from '../api/queries.ts';
import { Refusal, request } from '../api/request.ts';
import type { ApiRequest, RequestWithMessages } from '../api/wire.ts';
import { Hint } from '../primitives/hint.tsx';
import { showToast } from '../primitives/toasts.tsx';

const FOR_MS = 5 * 60_000;
const RENEWED_EVERY_MS = 2 * 60_000;

type Change = 'hold' | 'renew' | 'release';

export function useHold(held: ApiRequest) {
  const client = useQueryClient();
  const { data: me } = useQuery(meQuery);
  const { queryKey } = requestQuery(held.id);
  const hold = useMutation({
    mutationFn: (change: Change) =>
      request<ApiRequest>(
        `requests/${encodeURIComponent(held.id)}/assignee`,
        change === 'release' ? { method: 'DELETE' } : { method: 'POST', body: { forMs: FOR_MS } },
      ),
    onSuccess: ({ assignee }) => {
      client.setQueryData<RequestWithMessages>(queryKey, (card) => card && { ...card, assignee });
      void client.invalidateQueries({ queryKey: ['requests'] });
    },
    onError: (error, change) => {
      void client.invalidateQueries({ queryKey });
      if (change !== 'renew')
        showToast('trouble', error instanceof Refusal ? error.message : 'Could not update the hold.');
    },
  });
  const { assignee } = held;
  const isMine = assignee !== null && assignee.until !== null && assignee.person === me?.id;
  useRenewal(isMine && held.status === 'pending', () => hold.mutate('renew'));
  return { assignee, isMine, toggle: () => hold.mutate(isMine ? 'release' : 'hold'), isSending: hold.isPending };
}

/** Renews the hold while the request is open. It lapses a few minutes later. */
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

export function HoldButton({ request }: { readonly request: ApiRequest }) {
  const { assignee, isMine, toggle, isSending } = useHold(request);
  if (assignee && !isMine) return null;
  return (
    <Hint text={isMine ? 'Release it for others' : 'Tell others that you are reviewing this'} keys="c">
      <button
        type="button"
        data-hold
        className="button"
        aria-pressed={isMine}
        aria-disabled={isSending}
        onClick={() => !isSending && toggle()}
      >
        <Hand aria-hidden="true" className={`size-4 ${isMine ? 'text-info' : ''}`} />
        {isMine ? 'Holding' : 'Hold'}
      </button>
    </Hint>
  );
}

/** Says that another person is reviewing the request. */
export function HoldNotice({ request }: { readonly request: ApiRequest }) {
  const { data: me } = useQuery(meQuery);
  const { assignee, status } = request;
  if (!assignee || assignee.until === null || assignee.person === me?.id || status !== 'pending') return null;
  return (
    <p role="status" className="flex items-center gap-2 rounded-md bg-info-soft px-3 py-2 text-info">
      <Hand aria-hidden="true" className="size-4 shrink-0" />
      <span className="min-w-0 wrap-anywhere">
        <People names={request.names}>
          <PersonName id={assignee.person} />
        </People>{' '}
        is reviewing this. You can still decide.
      </span>
    </p>
  );
}
