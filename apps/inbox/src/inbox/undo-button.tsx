// Asks for the undo of a call that ran, and leads to its request.
import { VisibleText } from '@countersign/react';
import { useMutation } from '@tanstack/react-query';
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { request as send } from '../api/request.ts';
import type { ApiRequest } from '../api/wire.ts';

type Undoing = {
  readonly steps: readonly { readonly status: string; readonly message: string; readonly requestId?: string }[];
};

/** Asking again is safe: there is one undo per call. */
export function UndoButton({ request: { id, hasUndo, outcome } }: { readonly request: ApiRequest }) {
  const [isSure, setSure] = useState(false);
  const undo = useMutation({
    mutationFn: () => send<Undoing>(`requests/${encodeURIComponent(id)}/undo`, { method: 'POST', body: {} }),
    onSuccess: () => setSure(false),
  });
  if (!hasUndo || outcome?.state !== 'done') return null;
  const { status, message, requestId } = undo.data?.steps.at(-1) ?? {};
  const said = undo.error?.message ?? (status === 'waits' ? 'The undo waits for an approval.' : message);
  return (
    <div className="flex flex-wrap items-center gap-2">
      {isSure ? (
        <>
          <p>The undo needs an approval, as the call did.</p>
          <button type="button" className="button" disabled={undo.isPending} onClick={() => undo.mutate()}>
            Ask for the undo
          </button>
          <button type="button" className="button-quiet w-auto px-2" onClick={() => setSure(false)}>
            Back
          </button>
        </>
      ) : (
        status === undefined && (
          <button type="button" className="button" onClick={() => setSure(true)}>
            <Undo2 aria-hidden="true" className="size-4" />
            Undo
          </button>
        )
      )}
      {said !== undefined && (
        <p role="status" className="basis-full text-muted">
          <VisibleText text={said} />{' '}
          {requestId !== undefined && (
            <Link href={`/requests/${encodeURIComponent(requestId)}`} className="underline underline-offset-2">
              View request
            </Link>
          )}
        </p>
      )}
    </div>
  );
}
